#!/bin/sh
set -eu
if [ -n "$(ls "$HOME/instances" 2>/dev/null)" ]; then
  echo "This host still runs instances; move them away first." >&2
  exit 1
fi
printf %s "$version" >"$HOME/version"
printf %s "$version" >"$heat_outputs_path.version"
