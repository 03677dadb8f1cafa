# Joins this machine as a host. The last line of the script calls this function, so that a script that arrives
# incomplete does nothing.
anneal_join() {
set -u
umask 077
cacert= undo= kind= body= token=
while [ "$#" -gt 0 ]; do
  case $1 in
    --undo) undo=yes ;;
    --cacert) cacert=${2:-}; [ "$#" -lt 2 ] || shift ;;
    --agent) kind=${2:-}; [ "$#" -lt 2 ] || shift ;;
    *) echo "unknown option $1; known: --agent sh|full, --cacert FILE, --undo" >&2; return 2 ;;
  esac
  shift
done
case $kind in '' | sh | full) ;; *) echo "there is no agent '$kind'; --agent takes sh or full" >&2; return 2 ;; esac
prefix=${ANNEAL_PREFIX:-}
case $prefix in
  '') agent=/usr/local/bin/anneal-agent state=/var/lib/anneal-agent ;;
  /*) agent=$prefix/bin/anneal-agent state=$prefix/lib/anneal-agent ;;
  *) echo "ANNEAL_PREFIX must be an absolute path, not $prefix" >&2; return 2 ;;
esac
# The path is a word in a crontab and in messages.
case $prefix in *[!A-Za-z0-9/._@+-]*) echo 'ANNEAL_PREFIX may have letters, digits and /._@+- only' >&2; return 2 ;; esac
# A machine that cannot join keeps nothing of this attempt. An agent that was here before stays.
made=
fail() {
  echo "cannot join: $*" >&2
  [ -z "$made" ] || rm -rf "$state" "$agent-full"
  return 1
}
if [ -n "$undo" ]; then
  [ -e "$agent" ] || { echo "no agent in $agent"; return 0; }
  sh "$agent" uninstall && echo "removed $agent and $state"
  return
fi
if [ -z "$prefix" ] && [ "$(id -u)" != 0 ]; then
  fail 'this needs root; or set ANNEAL_PREFIX to a directory of yours'
  return 1
fi
if ! command -v curl >/dev/null 2>&1 && ! command -v wget >/dev/null 2>&1; then
  fail 'this machine has neither curl nor wget'
  return 1
fi
[ -e "$state" ] || [ -e "$agent" ] || [ -e "$agent-full" ] || made=yes
mkdir -p "$state/requests" "${agent%/*}" && chmod 700 "$state" && chmod 755 "${agent%/*}" || { fail "cannot write to $state"; return 1; }
body=$state/join.body
# A certificate that the machine trusts for this server only.
if [ -n "$cacert" ]; then
  [ "$cacert" = "$state/ca.pem" ] || cat "$cacert" >"$state/ca.pem" || { fail "cannot read $cacert"; return 1; }
  cacert=$state/ca.pem
fi
# The agent comes first, because an exchange without it would use up the line.
fetch_agent sh "$state/agent.new" && sh -n "$state/agent.new" || { fail "no agent at $url/agent/sh"; return 1; }
was=sh
[ ! -x "$agent-full" ] || was=full
[ "${kind:=$was}" = sh ] || fetch_full "$agent-full" || { fail 'try --agent sh'; return 1; }
# The key is on disk before it is sent: a repeat after a lost answer gets the same token.
key=
[ ! -s "$state/join-key" ] || { read -r known key <"$state/join-key" && [ "$known" = "$join" ] || key=; }
if [ -z "$key" ]; then
  key=$(head -c 512 /dev/urandom | tr -dc 'A-Za-z0-9' | head -c 40)
  printf '%s %s\n' "$join" "$key" >"$state/join-key"
fi
code=$(printf %s "$key" | field key | send "$url/join/$join/exchange" "$state/answer" 60)
if [ "$code" != 200 ]; then
  [ ! -s "$state/answer" ] || { cat "$state/answer" >&2; echo >&2; }
  rm -f "$state/answer"
  case $code in
    4??)
      rm -f "$state/join-key"
      fail "the server answered $code to the exchange; get a new line: anneal host join NAME" ;;
    *)
      # The server may have accepted the key, so the key stays for the repeat.
      made=
      fail "no answer from $url to the exchange ($code); run this line again" ;;
  esac
  return 1
fi
made=
client=
[ ! -f "$state/conf" ] || while IFS= read -r line; do case $line in client=*) client=${line#*=} ;; esac; done <"$state/conf"
[ -n "$client" ] || client=$(cat /proc/sys/kernel/random/uuid 2>/dev/null)
# The answer has the lines url=, token=, host= and name=.
{ cat "$state/answer" && printf 'client=%s\ncacert=%s\n' "$client" "$cacert"; } >"$state/conf.new" &&
  mv -f "$state/conf.new" "$state/conf" || { fail "cannot write $state/conf"; return 1; }
rm -f "$state/answer"
chmod 755 "$state/agent.new" && mv -f "$state/agent.new" "$agent" || { fail "cannot write $agent"; return 1; }
# The full agent finishes what it has begun before the sh agent removes it, unless it is an older one.
if [ "$kind" = full ]; then rm -f "$state/finish"
elif [ -x "$agent-full" ]; then
  case $("$agent-full" --help 2>&1) in *--finish*) : >"$state/finish" ;; *) rm -f "$agent-full" ;; esac
fi
[ "$kind" = "$was" ] || sh "$agent" stop
install_service
while IFS= read -r line; do case $line in name=*) echo "joined as host ${line#*=}: $started" ;; esac; done <"$state/conf"
}
install_service() {
  if [ -z "$prefix" ] && [ -d /run/systemd/system ]; then
    systemd_unit >/etc/systemd/system/anneal-agent.service && chmod 644 /etc/systemd/system/anneal-agent.service
    systemctl daemon-reload && systemctl enable --now anneal-agent && started='systemd runs its agent' && return
  elif [ -z "$prefix" ] && command -v rc-service >/dev/null 2>&1; then
    openrc_service >/etc/init.d/anneal-agent && chmod 755 /etc/init.d/anneal-agent
    rc-update add anneal-agent default && { rc-service anneal-agent status >/dev/null 2>&1 || rc-service anneal-agent start; } &&
      started='OpenRC runs its agent' && return
  fi
  sh "$agent" start
  started="its agent runs in the background. Start it again after a reboot with: $agent start"
  command -v crontab >/dev/null 2>&1 || return 0
  case $(crontab -l 2>/dev/null) in
    *"$agent start"*) ;;
    *) { crontab -l 2>/dev/null; echo "@reboot $agent start"; } | crontab - 2>/dev/null || return 0 ;;
  esac
  started='its agent runs in the background, and crontab starts it after a reboot'
}
