status_known() {
  for mark in "$dir"/status.*; do [ -f "$mark" ] && status=${mark##*.} && return 0; done
  return 1
}
runner_lives() {
  for mark in "$dir"/pid.*; do
    [ -f "$mark" ] && kill -0 "${mark##*.}" 2>/dev/null || continue
    [ -r /proc/self/cmdline ] || return 0
    # Process ids are reused, so the command line must name this run.
    case "$({ tr '\000' ' ' <"/proc/${mark##*.}/cmdline"; } 2>/dev/null)" in *"$dir/run."*) return 0 ;; esac
  done
  return 1
}
# A claim that runs out is offered again; this keeps it while the config runs and this process lives.
keep_claim() {
  body=$dir/body.claim held=0
  while sleep "$step" && kill -0 "$$" 2>/dev/null; do
    held=$((held + step))
    [ "$((held * 3))" -ge "$ttl" ] || continue
    held=0
    { printf %s "$claim" | field claim; printf %s "$ttl" | field ttl; } | send "$door/renew" /dev/null 60
  done
}
start_runner() {
  session=
  command -v setsid >/dev/null 2>&1 && session=setsid
  $session sh "$dir/run.$$" "$dir" "$$" </dev/null >/dev/null 2>&1 &
  runner=$!
  (body=$dir/body.started && printf %s "$id" | field id | send "$door/started" /dev/null 60) >/dev/null 2>&1 &
  wait "$runner"
}
# Waits for a runner that an earlier process of this host began. A config that began is never started again.
await_runner() {
  missed=0
  until status_known; do
    if runner_lives; then missed=0; else missed=$((missed + 1)); fi
    if [ "$missed" -gt 3 ]; then
      signal_all KILL
      : >"$dir/interrupted"
      : >"$dir/status.125"
    else
      sleep 1
    fi
  done
}
apply() {
  step=1
  [ "$ttl" -lt 30 ] || step=5
  keep_claim >/dev/null 2>&1 &
  keeper=$!
  if [ ! -d "$dir/started" ]; then
    # Files of its own, because an earlier process of this host may be about to start the config too.
    if write_run 2>"$dir/unwritten"; then
      start_runner
    elif mkdir "$dir/started" 2>/dev/null; then
      head -c 1000 "$dir/unwritten" >"$dir/stderr" 2>/dev/null
      : >"$dir/unstarted"
      : >"$dir/status.126"
    fi
  fi
  await_runner
  kill "$keeper" 2>/dev/null
  for file in "$dir"/run.*; do : >"$file"; done # They hold the inputs.
}
explain() {
  error=
  [ -e "$dir/late" ] && error="deadline: it ran longer than $limit s and was stopped"
  [ -e "$dir/unstarted" ] && error="cannot start it: $(head -c 1000 "$dir/stderr" 2>/dev/null)"
  [ -e "$dir/interrupted" ] && error='interrupted: it began and ended without an exit status (power failure or kill); this agent starts no config twice'
  :
}
mistake() { [ "${#error}" -gt 2000 ] || error="$error${error:+; }$1"; }
# Sets `names` to the outputs that can be sent. Includes every output file, because configs need not declare outputs.
check_outputs() {
  names=
  if [ ! -d "$dir/work" ] || [ -L "$dir/work" ]; then
    [ "$status" -eq 126 ] || [ -e "$dir/interrupted" ] || mistake 'its folder for outputs is gone'
    return
  fi
  count=0
  for file in "$dir"/work/output.*; do
    [ -e "$file" ] || [ -L "$file" ] || continue
    name=${file#"$dir/work/output."}
    # A name with other characters could be misread as a part of the form.
    case "$name" in '' | *[!A-Za-z0-9_.-]*) continue ;; esac
    if [ -L "$file" ] || [ ! -f "$file" ]; then mistake "cannot read output $name: it is not a regular file"
    elif [ ! -r "$file" ]; then mistake "cannot read output $name: permission denied"
    elif longer "$file" 65536; then
      mistake "output $name has more than 65536 bytes; the full output is in $file on the host. Let the script store large results elsewhere and output their location"
    elif [ "$count" -ge 100 ]; then mistake 'it has more than 100 outputs'; break
    else count=$((count + 1)) names="$names $name"
    fi
  done
}
answer_form() {
  for pair in "id=$id" "status_code=$status" "error=$error" "claim=$claim" "message=$message"; do
    printf %s "${pair#*=}" | field "${pair%%=*}"
  done
  [ -n "$whole" ] || return 0
  for stream in stdout stderr; do
    [ -f "$dir/$stream" ] && [ ! -L "$dir/$stream" ] || continue
    tail -c 65536 "$dir/$stream" 2>/dev/null | field "$stream"
    longer "$dir/$stream" 65536 && printf true | field truncated
  done
  for name in $names; do head -c 65536 "$dir/work/output.$name" 2>/dev/null | field "outputs.$name"; done
}
# Posts the answer until the server accepts it. The server then deletes the request.
answer() {
  whole=yes attempt=1
  check_outputs
  while :; do
    code=$(answer_form | send "$door/answer" /dev/null 60)
    case $code in
      2??) break ;;
      # A refusal as too large would repeat: then only the status arrives, and the reason.
      400 | 413 | full)
        mistake "the server or the disk refused the whole answer ($code); it is kept in $dir on the host"
        whole= ;;
    esac
    # With another token the host claims the request again, and answers it again.
    [ "$code" = 401 ] || [ "$attempt" -ge 8 ] && { echo "cannot post the answer to $id ($code); it is kept in $dir" >&2; return 1; }
    sleep "$attempt"
    attempt=$((attempt + 1))
  done
  : >"$dir/answered"
  # A disk that this config filled must have room for the next one.
  head -c 1048576 /dev/zero >"$dir/probe" 2>/dev/null || clear "$dir/work"
  : >"$dir/probe"
  clear "$dir/probe"
  # Keep the records of the last 200 requests.
  kept=0
  for old in $(ls -t "$root" 2>/dev/null); do
    kept=$((kept + 1))
    [ "$kept" -gt 200 ] && [ -e "$root/$old/answered" ] && clear "${root:?}/$old"
  done
  :
}
status_known || apply 2>/dev/null
explain
answer
