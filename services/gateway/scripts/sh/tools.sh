clear() { rm -rf "$@" 2>/dev/null || :; }
# True when a file has more bytes than that.
longer() { [ -n "$(tail -c "+$(($2 + 1))" "$1" 2>/dev/null | head -c 1 | tr '\000-\377' 'x')" ]; }
# Sets `began` to the start of the process in the folder $1, without another process.
read_start() {
  { read -r stat <"$1/stat"; } 2>/dev/null || return 1
  stat=${stat##*) }
  set -- $stat
  began=${20:-$since}
}
# The processes of this config, found by their environment: also those that left its session. Only processes that began
# after `since` are looked at, because each look takes another process.
since=0
marked() {
  for process in /proc/[0-9]*; do
    [ "$since" -eq 0 ] || { read_start "$process" && [ "$began" -ge "$since" ]; } || continue
    case "$( { tr '\000' '\n' <"$process/environ"; } 2>/dev/null)" in
      *"heat_outputs_path=$dir/work/output"*) printf '%s ' "${process#/proc/}" ;;
    esac
  done
}
signal_all() { for each in $(marked); do kill -s "$1" "$each" 2>/dev/null; done; }
