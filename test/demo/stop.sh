#!/bin/sh
# Stops what backend.sh or frontend.sh started, and says so in the log of the host.
set -eu
folder="$HOME/$deploy_resource_name"
if [ -f "$folder/pid" ]; then
  pid=$(cat "$folder/pid")
  kill "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
  rm -rf "$folder"
fi
logger "$deploy_resource_name stopped"
