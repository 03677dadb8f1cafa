#!/bin/sh
# Runs on the head only, after slurm-conf.sh. A real cluster runs `scontrol reconfigure` here.
set -eu
nodes=$(printf '%s' "$context_members" | while read -r name _ roles _; do
  case ",$roles," in *,compute,*) printf '%s,' "$name" ;; esac
done)
printf 'PartitionName=%s Nodes=%s Default=YES\n' "$partition" "${nodes%,}" >"$HOME/slurm/partitions.conf"
logger -t slurmctld "context $context_version: partition $partition has ${nodes%,}"
