#!/bin/sh
# Stops the server that backend.sh or frontend.sh started, and logs it on the host.
set -eu
folder="$HOME/$deploy_resource_name"

# True while the process runs. A process that has ended keeps its number until its parent collects it.
runs() {
  kill -0 "$1" 2> /dev/null || return 1
  case $(cat "/proc/$1/stat" 2> /dev/null || true) in
    *") Z "*) return 1 ;;
  esac
}

if [ -f "$folder/pid" ]; then
  pid=$(cat "$folder/pid")
  kill "$pid" 2> /dev/null || true
  waited=0
  while runs "$pid"; do
    waited=$((waited + 1))
    [ "$waited" -lt 100 ] || kill -9 "$pid" 2> /dev/null || true
    sleep 0.05
  done
  rm -rf "$folder"
fi
logger "$deploy_resource_name stopped"
