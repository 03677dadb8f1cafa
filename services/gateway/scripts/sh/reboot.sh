# Reboots of the host for a config with options.reboot, which is in `reboot`: after, allowed or status. The marks of this
# have the number of the turn: the config runs once in each turn, and a reboot is between two of them. A boot is the id of
# the kernel and the start of process 1, because a container has the kernel of its host.
# The config has the number of reboots in ANNEAL_REBOOTS.
machine=${ANNEAL_MACHINE_ROOT:-}
boot_now() {
  { read -r boot <"$machine/proc/sys/kernel/random/boot_id"; } 2>/dev/null || return 1
  since=0 began=
  read_start "$machine/proc/1"
  printf %s "$boot.$began"
}
# Notes the boot in which a turn begins.
note_boot() {
  clear "$dir/boot$turn".*
  now=$(boot_now) && : >"$dir/boot$turn.$now"
}
# True when the boot in which the turn began is over. The start of process 1 counts when both are known.
has_rebooted() {
  now=$(boot_now) || return 1
  for mark in "$dir/boot$turn".*; do
    [ -e "$mark" ] || return 1
    before=${mark#"$dir/boot$turn."}
    [ "${before%.*}" = "${now%.*}" ] || return 0
    [ -n "${before##*.}" ] && [ -n "${now##*.}" ] && [ "$before" != "$now" ]
    return
  done
}
runs_systemd() { [ -d "$machine/run/systemd/system" ]; }
goes_down() {
  [ -e "$machine/run/systemd/shutdown/scheduled" ] || [ -e "$machine/run/nologin" ] ||
    { [ -z "$machine" ] && runs_systemd && [ "$(systemctl is-system-running 2>/dev/null)" = stopping ]; }
}
# True when the machine goes down. What the config left in the background has ten seconds to order that.
will_go_down() {
  for second in 1 2 3 4 5 6 7 8 9 10; do
    goes_down && return
    [ -n "$(marked)" ] || break
    sleep 1
  done
  goes_down
}
# The turn that the reboot of an allowing config has ended has no status of its own.
vanished() {
  signal_all KILL
  if [ "$reboot" = allowed ] && has_rebooted; then : >"$dir/status$turn.cut"
  else
    : >"$dir/interrupted"
    : >"$dir/status$turn.125"
  fi
}
succeeded() {
  [ "$status" -eq 0 ] || return 1
  for name in $error_outputs; do [ ! -s "$dir/work/output.$name" ] || return 1; done
}
# True when a reboot comes before the answer. Sets `rerun` when another turn follows, and `own` when the config orders it.
wants_reboot() {
  rerun= own=
  for mark in unrebooted late stopped unstarted interrupted; do [ ! -e "$dir/$mark" ] || return 1; done
  case $reboot in
    after) succeeded ;;
    status) rerun=yes && [ "$status" -eq 194 ] ;;
    *)
      own=yes
      if [ "$status" = cut ]; then rerun=yes
      elif [ "$status" -gt 128 ]; then rerun=yes && { [ -e "$dir/rebooting$turn" ] || has_rebooted || will_go_down; }
      else succeeded && { [ -e "$dir/rebooting$turn" ] || will_go_down; }
      fi ;;
  esac
}
# Reports a reboot to the server, which may be away: the host reboots anyway.
report_reboot() {
  for try in 1 2 3; do
    code=$({ printf %s "$id" | field id; printf %s "$number" | field reboot; printf %s "$1" | field over; } |
      send "$door/started" /dev/null 5)
    [ "$code" != 200 ] || return 0
    sleep 1
  done
} 2>/dev/null
refuse() { printf %s "$1" >"$dir/unrebooted" 2>/dev/null || : >"$dir/unrebooted"; return 1; }
is_there() { command -v "$1" >/dev/null 2>&1; }
order_reboot() {
  PATH=$PATH:/usr/sbin:/sbin
  if [ -n "${ANNEAL_REBOOT_PROGRAM:-}" ]; then set -- "$ANNEAL_REBOOT_PROGRAM"
  elif [ -n "$machine" ]; then refuse 'no program to reboot this machine was given'; return
  elif runs_systemd && is_there systemctl; then set -- systemctl reboot
  elif [ -e /.dockerenv ] || [ -e /run/.containerenv ]; then
    refuse 'it is a container, which only the program that runs it can start again'; return
  elif is_there reboot; then set -- reboot
  elif is_there shutdown; then set -- shutdown -r now
  else refuse 'it has none of systemctl, reboot and shutdown'; return
  fi
  said=$("$@" 2>&1) || { ended=$? && refuse "\"$*\" ended with $ended${said:+: $(printf %.500s "$said")}"; }
}
# Reboots the host, unless that is over. Nothing else runs meanwhile, because the agent waits for this process.
reboot_host() {
  number=$((reboots + 1))
  if [ "$number" -gt "$most_reboots" ]; then
    refuse "its host has rebooted $most_reboots times for it, which is the most: $reboot_page"; return
  fi
  now=$(boot_now) || { refuse 'nothing on this host tells one boot from another'; return; }
  : >"$dir/rebooting$turn"
  has_rebooted && return
  report_reboot ''
  [ -n "$own" ] || order_reboot || return
  waited=0
  until has_rebooted; do
    [ "$waited" -lt "$boots_within" ] ||
      { refuse "it has not gone down within $boots_within s (options.reboot_timeout)"; return; }
    sleep 1
    waited=$((waited + 1))
  done
}
# Begins the next turn: the streams begin again, and the working folder stays.
next_turn() {
  : >"$dir/again.$number"
  reboots=$number turn=r$number
  for stream in stdout stderr; do
    [ -e "$dir/sent.$stream" ] && read -r at off <"$dir/sent.$stream" && printf '0 %s\n' "$off" >"$dir/sent.$stream"
  done
  report_reboot yes
  [ -z "$sha256" ] || [ -d "$dir/started$turn" ] || fetch_config "$dir/fetched.$$"
}
# Reports once that the machine goes down while a config runs that may reboot it.
watch_shutdown() {
  body=$dir/body.shutdown number=$((reboots + 1))
  while sleep 1 && kill -0 "$$" 2>/dev/null; do
    goes_down || continue
    report_reboot ''
    return
  done
}
apply_turn() {
  [ -d "$dir/started$turn" ] || note_boot
  watcher=
  [ "$reboot" != allowed ] || { watch_shutdown >/dev/null 2>&1 & watcher=$!; }
  apply
  [ -z "$watcher" ] || kill "$watcher"
}
# Runs the config, and reboots the host when it asks for that, until there is a status to answer.
apply_turns() {
  while :; do
    status_known || apply_turn 2>/dev/null
    wants_reboot || break
    reboot_host || break
    if [ -z "$rerun" ]; then reboots=$number; break; fi
    next_turn || return
  done
  [ ! -e "$dir/unrebooted" ] || status=125
}
explain_reboot() {
  [ ! -e "$dir/unrebooted" ] || error="cannot reboot the host: $(head -c 1000 "$dir/unrebooted")"
}
