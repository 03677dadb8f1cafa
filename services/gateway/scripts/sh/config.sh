# Fetches the config of this request into the file $1: 1 when the server does not send it, 2 when it is another one.
fetch_config() {
  tries=0
  while :; do
    code=$(printf %s "$id" | field id | send "$door/config" "$1" 600)
    [ "$code" != 200 ] || is_wanted "$1" || code=another
    case $code in 200) return 0 ;; 401 | 404) return 1 ;; esac
    tries=$((tries + 1))
    [ "$tries" -lt 3 ] || break
    sleep "$tries"
  done
  [ "$code" != another ] || return 2
  return 1
}
# True for a file with the checksum of the config. A machine that can compute none compares the size.
is_wanted() {
  sum=$(sha256sum "$1" 2>/dev/null || openssl dgst -sha256 -r "$1" 2>/dev/null)
  sum=${sum%% *}
  if [ -n "$sum" ]; then [ "$sum" = "$sha256" ]; else [ "$(wc -c <"$1")" -eq "$size" ]; fi
}
# A config that has started needs no second fetch. Without an answer of the server the agent asks for the request again.
if [ ! -d "$dir/started$turn" ]; then
  fetch_config "$dir/fetched.$$"
  case $? in
    0) ;;
    2)
      if mkdir "$dir/started$turn" 2>/dev/null; then
        echo "the config from the server does not have the SHA-256 $sha256" >"$dir/stderr"
        : >"$dir/unstarted"
        : >"$dir/status$turn.126"
      fi ;;
    *) echo "cannot fetch the config of $id ($code)" >&2; return 1 ;;
  esac
fi
