# Replaces the agent $1 with the settings folder $2 by the version of the server $3, which the certificate $4 proves.
anneal_update() {
set -u
umask 077
self=$1 state=$2 url=$3 cacert=$4 body=$2/update.body token=
fetch_agent sh "$self.new" && sh -n "$self.new" && chmod 755 "$self.new" && mv -f "$self.new" "$self" || return 1
[ -x "$self-full" ] || return 0
fetch_full "$self-full" && sh "$self" stop || return 1
# A service manager starts the new version. A config that runs goes on meanwhile.
[ "$state" = /var/lib/anneal-agent ] && { [ -d /run/systemd/system ] || command -v rc-service >/dev/null 2>&1; } ||
  sh "$self" start
}
