#!/bin/sh
# The front end keeps the address of its back end in a file, which it reads at each request.
set -eu
echo "$BACKEND" > "$HOME/backend.new"
mv "$HOME/backend.new" "$HOME/backend"
curl -fsS "http://$(cat "$HOME/backend")/" > "$heat_outputs_path.backend"
