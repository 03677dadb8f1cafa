#!/bin/sh
# Starts the instances of another host here.
set -eu
mkdir -p "$HOME/instances"
for instance in $instances; do touch "$HOME/instances/$instance"; done
