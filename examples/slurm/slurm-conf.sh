#!/bin/sh
# Runs on every machine for each version of the context. Writes the names and addresses of all machines.
set -eu
directory="$HOME/slurm"
mkdir -p "$directory"

members() { printf '%s' "$context_members"; }

members | while read -r name address _; do
  printf '%s %s\n' "$address" "$name"
done >"$directory/hosts.new"

members | while read -r name address roles state; do
  case ",$roles," in
    *,head,*) printf 'SlurmctldHost=%s(%s)\n' "$name" "$address" ;;
    *) printf 'NodeName=%s NodeAddr=%s State=%s\n' "$name" "$address" "$([ "$state" = up ] && echo UNKNOWN || echo DOWN)" ;;
  esac
done >"$directory/slurm.conf.new"

# Programs that read the files see the old or the new ones, never a half.
mv "$directory/hosts.new" "$directory/hosts"
mv "$directory/slurm.conf.new" "$directory/slurm.conf"
logger -t slurm "context $context_version: $(members | wc -l | tr -d ' ') machines"
