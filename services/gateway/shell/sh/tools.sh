clear() { rm -rf "$@" 2>/dev/null || :; }
# True when a file has more bytes than that.
longer() { [ -n "$(tail -c "+$(($2 + 1))" "$1" 2>/dev/null | head -c 1 | tr '\000-\377' 'x')" ]; }
# Signals every process of this config, found by its environment.
signal_all() {
  for process in /proc/[0-9]*; do
    case "$( { tr '\000' '\n' <"$process/environ"; } 2>/dev/null)" in
      *"heat_outputs_path=$dir/work/output"*) kill -s "$1" "${process#/proc/}" 2>/dev/null ;;
    esac
  done
}
