#!/bin/sh
# Stops the service of this host.
set -eu
echo disabled > "$HOME/service"
printf 'disabled for schema %s' "$SCHEMA" > "$heat_outputs_path.state"
