/**
 * The parts of a host's script that are the same for every request. Besides `sh` and `curl` they need cat, chmod, env,
 * head, mkdir, sleep, tail and tr. They use setsid and rm where available.
 */

/** Text of a shell script, in which `\${name}` is a shell variable. */
const shell = ({ raw }: TemplateStringsArray): string => raw.join('').replaceAll('\\${', '${');

/** Runs the config, keeps its claim and its streams within bounds, and ends it at its limit. */
export const running = shell`
clear() { rm -rf "$@" 2>/dev/null || :; }
# True when a file has more bytes than that.
longer() { [ -n "$(tail -c "+$(($2 + 1))" "$1" 2>/dev/null | head -c 1 | tr '\000-\377' 'x')" ]; }
# A stream that grows without end keeps its last part; the config goes on writing behind it.
trim() {
  trimmed=
  for stream in stdout stderr; do
    [ -f "$dir/$stream" ] && [ ! -L "$dir/$stream" ] || continue
    longer "$dir/$stream" 4194304 || continue
    trimmed=yes
    kept=$(tail -c 262144 "$dir/$stream" 2>/dev/null | tr '\000' '?')
    : >"$dir/$stream"
    printf '%s\n' '[what was here was dropped: the stream is longer than its host keeps]' "$kept" >>"$dir/$stream"
  done
} 2>/dev/null
# Ends the config with all that it started: by its process group; where the machine makes none, by its environment.
end_config() {
  kill -s "$1" -- "-$pid" 2>/dev/null || kill -s "$1" "$pid" 2>/dev/null
  [ -n "$session" ] && return
  for process in /proc/[0-9]*; do
    case "$( { tr '\000' '\n' <"$process/environ"; } 2>/dev/null)" in
      *"heat_outputs_path=$dir/work/output"*) kill -s "$1" "\${process#/proc/}" 2>/dev/null ;;
    esac
  done
}
# A claim that runs out is offered again; this keeps it while the config runs.
watch_config() {
  ran=0 beat=0 step=1
  while sleep "$step" && kill -0 "$pid" 2>/dev/null; do
    ran=$((ran + step)) beat=$((beat + step))
    trim
    if [ "$ran" -ge "$limit" ]; then
      trap '' TERM
      end_config TERM
      for second in 1 2 3 4 5; do kill -0 "$pid" 2>/dev/null && sleep 1; done
      end_config KILL
      return 124
    fi
    if [ "$((beat * 3))" -ge "$ttl" ]; then
      beat=0
      post_json --request PATCH --data "{\"ttl\":$ttl,\"grace\":60}" "$claim" &
    fi
    step=1
    [ -z "$trimmed" ] && [ "$ran" -ge 10 ] && [ "$((limit - ran))" -ge 5 ] && [ "$ttl" -ge 30 ] && step=5
  done
}
apply_config() {
  clear "$dir/stdout" "$dir/stderr"
  if ! { write_config && chmod 700 "$dir/config"; } 2>"$dir/stderr"; then
    status=126 error="cannot start it: $(head -c 1000 "$dir/stderr" 2>/dev/null)"
    return
  fi
  session=
  command -v setsid >/dev/null 2>&1 && session=setsid
  # Where no session can be made, job control gives the config a process group, if the shell has it here.
  [ -z "$session" ] && set -m 2>/dev/null
  (run_config) </dev/null >>"$dir/stdout" 2>>"$dir/stderr" &
  pid=$!
  [ -z "$session" ] && set +m 2>/dev/null
  trap 'end_config TERM; kill "$watcher" 2>/dev/null; exit 143' HUP INT TERM
  watch_config >/dev/null 2>&1 &
  watcher=$!
  report_start >/dev/null 2>&1 &
  wait "$pid"
  status=$?
  trap - HUP INT TERM
  # A watcher that ends the config cannot be ended itself: it finishes, and says so.
  kill "$watcher" 2>/dev/null
  wait "$watcher"
  [ "$?" -eq 124 ] && status=124 error="deadline: it ran longer than $limit s and was stopped"
  :
}

# The status is in the name of an empty file, which needs no space on a full disk.
status=
for mark in "$dir"/status.*; do [ -f "$mark" ] && status="\${mark##*.}"; done
if [ -z "$status" ]; then
  # A shell writes a line about every process that a signal ended.
  apply_config 2>/dev/null
  mkdir -p "$dir"
  : >"$dir/status.$status"
  printf %s "$error" >"$dir/error" 2>/dev/null
else
  error=$(cat "$dir/error" 2>/dev/null)
fi
`;

/** Collects the answer's form in "$@". Includes every output file, because configs need not declare outputs. */
export const collecting = shell`
set -- --form-string "id=$id"
for stream in stdout stderr; do
  : >"$dir/$stream.tail"
  [ -f "$dir/$stream" ] && [ ! -L "$dir/$stream" ] || continue
  tail -c 65536 "$dir/$stream" >"$dir/$stream.tail" 2>/dev/null
  set -- "$@" --form "$stream=<$dir/$stream.tail"
  longer "$dir/$stream" 65536 && set -- "$@" --form-string truncated=true
done
mistake() { [ "\${#error}" -gt 2000 ] || error="$error\${error:+; }$1"; }
outputs=0
if [ -d "$dir/work" ] && [ ! -L "$dir/work" ]; then
  for file in "$dir"/work/output.*; do
    [ -e "$file" ] || [ -L "$file" ] || continue
    name=\${file#"$dir/work/output."}
    # What curl could misread as a part of a form is left out.
    case "$name" in '' | *[!A-Za-z0-9_.-]*) continue ;; esac
    if [ -L "$file" ] || [ ! -f "$file" ]; then mistake "cannot read output $name: it is not a regular file"
    elif [ ! -r "$file" ]; then mistake "cannot read output $name: permission denied"
    elif longer "$file" 65536; then
      mistake "output $name has more than 65536 bytes; the full output is in $file on the host. Let the script store large results elsewhere and output their location"
    elif [ "$outputs" -ge 100 ]; then mistake "it has more than 100 outputs"; break
    else
      outputs=$((outputs + 1))
      set -- "$@" --form "outputs.$name=<$file"
    fi
  done
elif [ "$status" -ne 126 ]; then mistake "its folder for outputs is gone"
fi
`;

/** Posts the answer until the server accepts it, and deletes the request. */
export const answering = shell`
attempt=1
until
  code=$(call --write-out '%{http_code}' "$@" --form-string "status_code=$status" --form-string "error=$error" "$responses")
  case "$code" in 2??) true ;; *) false ;; esac
do
  [ "$attempt" -ge 8 ] && { echo "cannot post the answer to $id; it is kept in $dir" >&2; exit 1; }
  # What is refused as too large will be refused again: then only the status arrives, and why.
  case "$code" in
    400 | 413)
      mistake "the server refused the whole answer ($code); it is kept in $dir on the host"
      set -- --form-string "id=$id" ;;
  esac
  sleep "$attempt"
  attempt=$((attempt + 1))
done
# A disk that this config filled must have room for the next one.
head -c 1048576 /dev/zero >"$dir/probe" 2>/dev/null || clear "$dir/work"
: >"$dir/probe"
clear "$dir/probe"
post_json --request DELETE "$message" || :
`;
