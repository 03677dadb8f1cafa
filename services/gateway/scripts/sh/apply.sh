status_known() {
  for mark in "$dir/status$turn".*; do [ -f "$mark" ] && status=${mark##*.} && return 0; done
  return 1
}
runner_lives() {
  for mark in "$dir/pid$turn".*; do
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
encode=cat suffix=
command -v curl >/dev/null 2>&1 || case $(wget --help 2>&1) in
  # The wget of busybox ends what it sends at a NUL byte.
  *BusyBox*) if command -v base64 >/dev/null 2>&1; then encode=base64 suffix=.b64; else encode='tr \000 ?'; fi ;;
esac
# Writes standard input as a piece of the stream $1, which begins at the byte $2.
piece() {
  printf -- '--%s\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n' "$boundary" "$1" "$2$suffix"
  printf 'Content-Type: application/octet-stream\r\n\r\n'
  $encode
  printf '\r\n'
}
# Sends standard input as such a piece. Prints what the server stores then: a size, or `full` when it stores no more, also
# when it is an older one without this call.
send_piece() {
  code=$({ printf %s "$id" | field id; piece "$1" "$2"; } | send "$door/report?wait=0" "$dir/reported.$1.$$" 60)
  [ "$code" != 404 ] || { printf full; return 0; }
  [ "$code" = 200 ] || return 1
  size=
  while IFS='=' read -r key value; do
    case $key in
      stop) [ "$value" != yes ] || : >"$dir/stop" ;;
      "$1") size=$value ;;
    esac
  done <"$dir/reported.$1.$$"
  case $size in *full) size=full ;; esac
  printf %s "$size"
  [ -n "$size" ]
}
# Sends the next part of the stream $1: 1 when there is none, 2 when the server did not take it. The variables of a
# stream: `at` is the position in its file, `off` the one at the server.
send_new() {
  file=$dir/$1
  eval "at=\$at_$1 off=\$off_$1"
  [ "$off" != full ] && [ -f "$file" ] && [ ! -L "$file" ] || return 1
  # A shorter file was trimmed: what is in it now follows what was sent.
  longer "$file" "$((at - 1))" || at=0
  longer "$file" "$at" || return 1
  now=$(tail -c "+$((at + 1))" "$file" 2>/dev/null | head -c 65536 | send_piece "$1" "$off") || return 2
  [ "$now" = full ] || at=$((at + now - off))
  printf '%s %s\n' "$at" "$now" >"$dir/sent.$1"
  eval "at_$1=\$at off_$1=\$now"
}
# Sends all that is new of the streams. The server may be away: $1 attempts for each.
send_streams() {
  for stream in stdout stderr; do
    tries=0
    while [ "$tries" -lt "$1" ]; do
      send_new "$stream"
      case $? in
        0) ;;
        1) break ;;
        *) tries=$((tries + 1)) && [ "$tries" -lt "$1" ] && sleep 1 ;;
      esac
    done
  done
}
# Another process of this host may have sent a part. The server cuts a piece whose beginning it has.
begin_streams() {
  for stream in stdout stderr; do
    at=0 off=0
    [ -e "$dir/sent.$stream" ] && read -r at off <"$dir/sent.$stream"
    eval "at_$stream=\${at:-0} off_$stream=\${off:-0}"
  done
}
# Sends the streams while they grow.
follow() {
  body=$dir/body.follow
  begin_streams
  while sleep 1 && kill -0 "$$" 2>/dev/null; do send_streams 1; done
}
# Waits at the server until the config must stop. An older server does not know the call.
await_stop() {
  body=$dir/body.watch
  while sleep 1 && kill -0 "$$" 2>/dev/null && [ ! -e "$dir/stop" ]; do
    code=$(printf %s "$id" | field id | send "$door/report?wait=25" "$dir/watched.$$" 60)
    case $code in
      200) read -r line <"$dir/watched.$$" && [ "$line" = stop=yes ] && : >"$dir/stop" ;;
      404) return ;;
      # This host was deleted.
      410) : >"$dir/stop" ;;
      *) sleep 4 ;;
    esac
  done
}
start_runner() {
  session=
  command -v setsid >/dev/null 2>&1 && session=setsid
  $session sh "$dir/run.$$" "$dir" "$$" "$turn" </dev/null >/dev/null 2>&1 &
  runner=$!
  (body=$dir/body.started && printf %s "$id" | field id | send "$door/started" /dev/null 60) >/dev/null 2>&1 &
  wait "$runner"
}
# A config that began is never started again.
vanished() {
  signal_all KILL
  : >"$dir/interrupted"
  : >"$dir/status$turn.125"
}
# Waits for a runner that an earlier process of this host began.
await_runner() {
  missed=0
  until status_known; do
    if runner_lives; then missed=0; else missed=$((missed + 1)); fi
    if [ "$missed" -gt 3 ]; then vanished; else sleep 1; fi
  done
}
apply() {
  step=1
  [ "$ttl" -lt 30 ] || step=5
  keep_claim >/dev/null 2>&1 &
  keeper=$!
  follow >/dev/null 2>&1 &
  follower=$!
  await_stop >/dev/null 2>&1 &
  waiter=$!
  if [ ! -d "$dir/started$turn" ]; then
    # Files of its own, because an earlier process of this host may be about to start the config too.
    if write_run 2>"$dir/unwritten"; then
      start_runner
    elif mkdir "$dir/started$turn" 2>/dev/null; then
      head -c 1000 "$dir/unwritten" >"$dir/stderr" 2>/dev/null
      : >"$dir/unstarted"
      : >"$dir/status$turn.126"
    fi
  fi
  await_runner
  kill "$keeper" "$waiter" "$follower" 2>/dev/null
  for file in "$dir"/run.*; do : >"$file"; done # They hold the inputs.
}
explain() {
  error= why=$(head -c 1000 "$dir/stderr" 2>/dev/null)
  [ -e "$dir/late" ] && error="deadline: it ran longer than $limit s and was stopped"
  [ -e "$dir/stopped" ] && error='stopped: the server withdrew it, because a newer request replaced it or its deployment has ended'
  [ -e "$dir/unstarted" ] && error="cannot start it${why:+: $why}"
  [ -e "$dir/interrupted" ] && error="interrupted: it began and ended without an exit status (power failure, reboot or kill); this agent starts no config twice. A config may reboot its host with options.reboot: $reboot_page"
  [ "$status" -eq 0 ] || blame_disk
  :
}
# Names a reason that could not be written, or that no program of the config can know.
blame_disk() {
  if ! head -c 65536 /dev/zero >"$dir/probe"; then mistake "no space left in $dir"
  elif [ "$status" -eq 126 ] && printf '#!/bin/sh\n' >"$dir/probe" && chmod 700 "$dir/probe" && ! "$dir/probe"; then
    mistake "the file system of $dir runs no programs (noexec)"
  fi 2>/dev/null
  clear "$dir/probe"
}
mistake() { [ "${#error}" -gt 2000 ] || error="$error${error:+; }$1"; }
# Sends the file $1 as the output $2, piece by piece.
store_output() {
  off=0 tries=0
  while longer "$1" "$off"; do
    if now=$(tail -c "+$((off + 1))" "$1" 2>/dev/null | head -c 65536 | send_piece "outputs.$2" "$off"); then
      [ "$now" != full ] && [ "$now" -gt "$off" ] || return 1
      off=$now
    else
      [ "$tries" -lt 8 ] || return 1
      tries=$((tries + 1))
      sleep "$tries"
    fi
  done
}
# Sets `names` to the outputs that can be sent. Includes every output file, because configs need not declare outputs.
check_outputs() {
  names= stored=
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
    elif [ "$count" -ge 100 ]; then mistake 'it has more than 100 outputs'; break
    elif longer "$file" 65536; then
      count=$((count + 1))
      if store_output "$file" "$name"; then stored="$stored $name"
      else mistake "output $name is longer than the server stores (ANNEAL_CONFIGURATION_OUTPUT_BYTES); the full output is in $file on the host. Let the script store large results elsewhere and output their location"
      fi
    else count=$((count + 1)) names="$names $name"
    fi
  done
}
answer_form() {
  for pair in "id=$id" "status_code=$status" "error=$error" "claim=$claim" "message=$message"; do
    printf %s "${pair#*=}" | field "${pair%%=*}"
  done
  [ "$reboots" -eq 0 ] || printf %s "$reboots" | field reboots
  # The server counts from its own clock. A host without `date` does not know.
  for mark in "$dir"/began.*[0-9]; do [ -e "$mark" ] && printf %s "$(($(date +%s) - ${mark##*/began.}))" | field started_ago; done
  [ -n "$whole" ] || return 0
  for stream in stdout stderr; do
    [ -f "$dir/$stream" ] && [ ! -L "$dir/$stream" ] || continue
    tail -c 65536 "$dir/$stream" 2>/dev/null | piece "$stream" 0
    longer "$dir/$stream" 65536 && printf true | field truncated
  done
  for name in $names; do head -c 65536 "$dir/work/output.$name" 2>/dev/null | piece "outputs.$name" 0; done
  for name in $stored; do printf true | field "stored.$name"; done
}
# Posts the answer until the server accepts it. The server then deletes the request.
answer() {
  whole=yes attempt=1
  check_outputs
  while :; do
    code=$(answer_form | send "$door/answer" /dev/null 60)
    case $code in
      # Nothing waits for the answer of a deleted host (410).
      2?? | 410) break ;;
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
  clear "$dir"/fetched.* # A fetch whose process was killed.
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
