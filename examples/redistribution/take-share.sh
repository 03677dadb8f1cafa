#!/bin/sh
# Runs on every worker for each version of the context. Writes the partitions that this worker has now: every worker computes
# the same division. A silent worker keeps its share, because its machine may still run.
set -eu
directory="$HOME/share"
mkdir -p "$directory"

workers=$(printf '%s\n' "$context_members" | cut -d' ' -f1 | grep . | sort)
count=$(printf '%s\n' "$workers" | wc -l)
own=$(printf '%s\n' "$workers" | grep -nxF "$(hostname)" | cut -d: -f1)

partition=0
while [ "$partition" -lt "$partitions" ]; do
  [ "$((partition % count + 1))" -ne "$own" ] || echo "$partition"
  partition=$((partition + 1))
done >"$directory/partitions.new"

# A program that reads the file sees the old or the new one, never a half.
mv "$directory/partitions.new" "$directory/partitions"
logger -t share "context $context_version: $(tr '\n' ' ' <"$directory/partitions")"
