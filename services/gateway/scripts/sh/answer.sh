# The answer carries streams that are short, unless a part of them was sent already.
if [ -e "$dir/sent.stdout" ] || [ -e "$dir/sent.stderr" ] || longer "$dir/stdout" 65536 || longer "$dir/stderr" 65536; then
  begin_streams
  send_streams 8
fi
