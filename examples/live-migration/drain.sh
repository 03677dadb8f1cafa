#!/bin/sh
# Stops the instances of this host, and prints their names.
set -eu
mkdir -p "$HOME/instances"
cd "$HOME/instances"
for instance in *; do
  [ -e "$instance" ] || continue
  rm "$instance"
  echo "$instance"
done
