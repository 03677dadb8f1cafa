# The runner of one config: a process of its own, which survives the agent. It keeps the streams within bounds, ends the
# config at its limit, and records the exit status. The status is in the name of an empty file, which needs no space on a
# full disk.
umask 077
set -u
dir=$1 config=$1/config.$2 turn=${3:-}
unset ANNEAL_HOST_DIR ANNEAL_CACERT ANNEAL_MACHINE_ROOT ANNEAL_REBOOT_PROGRAM
read_start "/proc/$$" && since=$began
mkdir "$dir/started$turn" 2>/dev/null || exit 0 # Of several runners only one begins, and only it changes the folder.
: >"$dir/pid$turn.$$"
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
# Ends the config with all that it started: by its process group, and by its environment.
end_config() {
  kill -s "$1" -- "-$pid" 2>/dev/null || kill -s "$1" "$pid" 2>/dev/null
  signal_all "$1"
}
watch_config() {
  ran=0 trimmed=
  while sleep 1 && kill -0 "$pid" 2>/dev/null; do
    ran=$((ran + 1))
    [ -z "$trimmed" ] && [ "$ran" -gt 10 ] && [ "$((ran % 5))" -ne 0 ] || trim
    if [ "$ran" -ge "$limit" ]; then why=late
    elif [ -e "$dir/stop" ]; then why=stopped
    else continue
    fi
    trap '' TERM
    : >"$dir/$why"
    end_config TERM
    waited=0
    while kill -0 "$pid" 2>/dev/null || [ -n "$(marked)" ]; do
      # A process may start another one between the look and the signal, so the signal is repeated.
      if [ "$waited" -ge "$grace" ]; then end_config KILL; else sleep 1; fi
      [ "$((waited += 1))" -lt "$((grace + 5))" ] || break
    done
    return 0
  done
}
apply_config() {
  session=
  command -v setsid >/dev/null 2>&1 && session=setsid
  # Where no session can be made, job control gives the config a process group, if the shell has it here.
  [ -z "$session" ] && set -m 2>/dev/null
  [ -n "$turn" ] || : >"$dir/began.$(date +%s 2>/dev/null)"
  (start_config) </dev/null >>"$dir/stdout" 2>>"$dir/stderr" &
  pid=$!
  [ -z "$session" ] && set +m 2>/dev/null
  watch_config >/dev/null 2>&1 &
  watcher=$!
  # A signal to this runner interrupts its wait and must not end it. The trap is reset in the config.
  trap : HUP INT TERM
  while :; do
    wait "$pid"
    status=$?
    [ "$status" -gt 128 ] && kill -0 "$pid" 2>/dev/null || break
  done
  # A watcher that ends the config cannot be ended itself: it finishes.
  kill "$watcher" 2>/dev/null
  wait "$watcher"
  [ -e "$dir/late" ] && status=124
  [ -e "$dir/stopped" ] && status=143
  :
}
[ -n "$turn" ] || clear "$dir/work"
clear "$dir/stdout"
if { mkdir -p "$dir/work" && chmod 700 "$config"; } 2>"$dir/stderr"; then
  # A shell writes a line about every process that a signal ended.
  apply_config 2>/dev/null
else
  : >"$dir/unstarted"
  status=126
fi
mkdir -p "$dir"
: >"$dir/status$turn.$status"
