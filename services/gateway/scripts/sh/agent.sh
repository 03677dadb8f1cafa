#!/bin/sh
# anneal-agent: runs the configs of this host's queue in order, each once. It needs a POSIX shell, curl or wget, and cat,
# chmod, date, env, head, mkdir, mv, rm, sleep, tail, tr and uname. The server sends every config as a complete script,
# which journals what it starts; this loop asks for it and survives whatever it does.
set -u
umask 077
self=$0
case $self in
  /usr/local/bin/*) state=/var/lib/anneal-agent ;;
  *) state=${self%/bin/*}/lib/anneal-agent ;;
esac
body=$state/body child= end=kill
# {send}
say() { printf '%s anneal-agent: %s\n' "$(date '+%Y-%m-%dT%H:%M:%S' 2>/dev/null)" "$*" >&2; }
# Reads the settings. A new token arrives here, so the loop reads them before every call.
read_conf() {
  url= token= client= cacert=
  while IFS= read -r line; do
    case $line in
      url=*) url=${line#*=} ;;
      token=*) token=${line#*=} ;;
      client=*) client=${line#*=} ;;
      cacert=*) cacert=${line#*=} ;;
    esac
  done 2>/dev/null <"$state/conf"
  [ -n "$url" ] && [ -n "$token" ]
}
# Prints what tells the process $1 from every other one that had its number: its start, and the boot of the kernel.
birth() {
  { read -r stat <"/proc/$1/stat" && read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null || return 1
  stat=${stat##*) }
  set -- $stat
  # A process that has ended may wait for its parent.
  case $1 in Z | X) return 1 ;; esac
  echo "${20} $boot"
}
# True while the process $1 is the agent that was born at $2. An agent of an older version, or one without /proc, left no birth: then
# its arguments must be those of an agent that runs, as numbers repeat in a new container.
lives() {
  [ "$1" != "$$" ] && kill -0 "$1" 2>/dev/null || return 1
  [ -r /proc/self/cmdline ] || { [ "$1" != "$PPID" ]; return; }
  [ -z "${2:-}" ] || { [ "$(birth "$1")" = "$2" ]; return; }
  case "$({ tr '\000' '\n' <"/proc/$1/cmdline" && echo; } 2>/dev/null)" in
    *"
$self
run
"* | "$self-full
"*) return 0 ;;
  esac
  return 1
}
# Ends a process with all that it started, where the agent leads no process group.
end_all() { for each in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do end_all "$each"; done; kill "$1"; }
running() { holder= born=; read -r holder born 2>/dev/null <"$state/pid"; [ -n "$holder" ] && lives "$holder" "$born"; }
hold() { # Makes this process the only agent of the folder.
  for try in 1 2 3 4 5 6 7 8 9; do
    (set -C && echo "$$ $(birth "$$")" >"$state/pid") 2>/dev/null && return
    if running; then say "an agent runs already, process $holder" && return 1; fi
    # Left by this process before its update, or by one of an earlier life.
    rm -f "$state/pid"
  done
  say "cannot write $state/pid; the disk may be full" && return 1
}
# Runs a command so that a signal to this agent takes effect at once.
patiently() {
  "$@" &
  child=$!
  wait "$child"
  result=$?
  child=
  return "$result"
}
# Waits $1 seconds and up to as many again, so that many hosts do not return at the same moment.
pause() {
  random=$(head -c 64 /dev/urandom 2>/dev/null | tr -dc 0-9 | head -c 5)
  patiently sleep "$(($1 + 1${random:-$$} % ($1 + 1)))"
}
# Asks for the next request, and waits $1 seconds for one. The HTTP status becomes the name of a file, which needs no space on a full disk.
ask_next() {
  : >"$next"
  rm -f "$state/code.$$".*
  code=$(printf %s "$client" | field client | send "$url/agent/v1/next?wait=$1" "$next" 90)
  : >"$state/code.$$.$code"
}
say_hello() {
  for fact in hostname=n os=s kernel=r arch=m; do uname "-${fact#*=}" | tr -d '\n' | field "facts.${fact%=*}"; done |
    send "$url/agent/v1/hello" /dev/null 60 >/dev/null 2>&1
}
# After a failure: the first ones of an outage are reported, then one in sixteen.
failed() {
  failures=$((failures + 1))
  [ "$failures" -gt 3 ] && [ "$((failures % 16))" -ne 0 ] || say "$1; trying again"
  pause "$((failures < 15 ? failures : 15))"
}
free_space() { for done in "$state"/requests/*/answered; do [ -f "$done" ] && rm -rf "${done%/answered}/work"; done; }
# Becomes the full agent. It reads and writes the journal of this one, so that a change of the agent repeats nothing.
full() {
  read_conf || say "no settings in $state/conf"
  exec env "ANNEAL_AGENT=$self" ${cacert:+"NODE_EXTRA_CA_CERTS=$cacert"} \
    "$self-full" --seed "$state/conf" --directory "$state/full" --shell-journal "$state/requests" "$@"
}
# True while a request that this agent began is unanswered: the full agent could not continue it.
begun() { for mark in "$state"/requests/*/started; do [ ! -d "$mark" ] || [ -e "${mark%/started}/answered" ] || return 0; done; return 1; }
run() {
  hold || exit 1
  # All its processes end with it, or a call that waits would take the next request. Each config has a session of its own.
  trap 'trap "" TERM; { command -v setsid >/dev/null && kill -- "-$$" || $end $child; } 2>/dev/null; rm -f "$state/pid"; exit 0' HUP INT TERM
  # A killed agent leaves files, and perhaps a request that still waits: files of its own keep them apart.
  rm -f "$state"/next.* "$state"/code.* "$state"/body.*
  while [ -e "$state/finish" ] && [ -x "$self-full" ]; do patiently full --finish && rm -f "$self-full" "$state/finish" || pause 5; done
  [ ! -x "$self-full" ] || begun || full
  next=$state/next.$$ loaded=$(cat "$self") failures=0 greeted=
  while :; do
    # A config may have replaced this file: then the new version continues, unless it is broken.
    [ "$(cat "$self" 2>/dev/null)" = "$loaded" ] || {
      loaded=$(cat "$self" 2>/dev/null)
      sh -n "$self" 2>/dev/null && [ -n "$loaded" ] && say 'continuing as the new version' && exec sh "$self" run
    }
    mkdir -p "$state/requests"
    read_conf || { failed "no settings in $state/conf"; continue; }
    [ -n "$greeted" ] || { patiently say_hello && greeted=yes; }
    asked=$(date +%s)
    end=end_all; if [ -x "$self-full" ]; then patiently ask_next 0; else patiently ask_next 45; fi; end=kill
    for mark in "$state/code.$$".*; do code=${mark##*.}; done
    case $code in
      200)
        failures=0
        if [ -s "$next" ]; then
          # The configs find the agent in ANNEAL_AGENT, to update it.
          patiently env "ANNEAL_AGENT=$self" "ANNEAL_HOST_DIR=$state/requests" "ANNEAL_CACERT=$cacert" \
            sh "$next" </dev/null || failed "a request was not answered (status $result)"
          [ ! -x "$self-full" ] || begun || full
        elif [ -x "$self-full" ]; then full
        else
          # A server that stops answers without waiting.
          [ "$(($(date +%s) - asked))" -gt 1 ] || pause 1
        fi ;;
      401 | 403 | 404) failed "the server refused this host ($code); renew its token with: anneal host join" ;;
      410) failed "this host was deleted; join again: anneal host join, or remove this agent: $self uninstall" ;;
      000) failed "no answer from $url" ;;
      *) free_space; failed "the server or the disk answered $code" ;;
    esac
  done
}
# Replaces this agent by the version of the server, with a script of the server. The loop continues as the new version.
update() {
  read_conf || { say "no settings in $state/conf"; return 1; }
  if command -v curl >/dev/null 2>&1; then
    curl -fsS --max-time 60 ${cacert:+--cacert "$cacert"} --output "$state/update" "$url/agent/update"
  else [ "$(with_wget "$state/update" 60 "$url/agent/update")" = 200 ]
  fi || { say "cannot fetch $url/agent/update"; return 1; }
  sh "$state/update" "$self" "$state" "$url" "$cacert"
}
# Ends when the agent holds its folder, so that a status after it sees the agent.
start() {
  running || (detached=$(command -v setsid) || trap '' HUP; exec $detached sh "$self" run) </dev/null >>"$state/log" 2>&1 &
  for try in 1 2 3 4 5 6 7 8 9; do running || sleep 0.1 2>/dev/null || sleep 1; done
}
stop() {
  running && kill "$holder" || return
  for try in 1 2 3 4 5 6; do
    for second in 1 2 3 4 5; do lives "$holder" "$born" || return 0; sleep 1; done
  done
  say "process $holder did not end within 30 s" && return 1
}
uninstall() {
  if [ "$state" = /var/lib/anneal-agent ]; then
    systemctl disable --now anneal-agent
    rc-service anneal-agent stop; rc-update del anneal-agent
    rm -f /etc/systemd/system/anneal-agent.service /etc/init.d/anneal-agent
    systemctl daemon-reload
  fi >/dev/null 2>&1
  stop
  case $(crontab -l 2>/dev/null) in *"$self start"*) crontab -l | grep -vF "$self start" | crontab - ;; esac
  # What it started may still end, and write, for a moment.
  for try in 1 2 3 4 5; do rm -rf "$state" "$self" "$self-full" 2>/dev/null && return; sleep 1; done; rm -rf "$state"
}
case ${1:-} in
  run) run ;;
  start | stop) "$1" ;;
  update) update ;;
  uninstall) uninstall ;;
  status) if running; then echo "runs, process $holder"; else echo 'does not run'; exit 3; fi ;;
  *) echo 'usage: anneal-agent run | start | stop | status | update | uninstall' >&2; exit 2 ;;
esac
