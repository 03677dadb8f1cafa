#!/bin/sh
# Starts the service of this host with the schema that the database has now.
set -eu
echo enabled > "$HOME/service"
printf 'enabled with schema %s' "$SCHEMA" > "$heat_outputs_path.state"
