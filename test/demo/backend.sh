#!/bin/sh
# Starts the back end on a free port of this host; a running server uses the new CONFIG without a restart.
set -eu
folder="$HOME/$deploy_resource_name"
mkdir -p "$folder"
cd "$folder"

cat > server.mjs <<'PROGRAM'
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

// Read at each request. An update replaces the whole file, so no answer mixes two versions.
const values = () => JSON.parse(readFileSync('values.json', 'utf8'));
const server = createServer((request, response) => {
  const { version, config } = values();
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ service: 'back end', version, config }));
});
server.listen(0, process.env.HOST_ADDRESS || '127.0.0.1', () => {
  const { address, port } = server.address();
  writeFileSync('address.new', `${address}:${port}`);
  renameSync('address.new', 'address');
});
PROGRAM

node -e 'const { DEPLOY_VERSION: version, CONFIG: config } = process.env;
require("fs").writeFileSync("values.json.new", JSON.stringify({ version, config }))'
mv values.json.new values.json

if [ -f pid ] && kill -0 "$(cat pid)" 2>/dev/null; then
  echo "the running back end uses the new values"
else
  rm -f address
  detach=$(command -v setsid || true)
  nohup $detach node server.mjs > server.log 2>&1 < /dev/null &
  echo $! > pid
  waited=0
  until [ -s address ]; do
    waited=$((waited + 1))
    if [ "$waited" -gt 150 ]; then
      echo "the back end did not start:" >&2
      cat server.log >&2
      exit 1
    fi
    sleep 0.1
  done
  echo "the back end has started"
fi
logger "back end $DEPLOY_VERSION at $(cat address)"
cat address > "${heat_outputs_path}.host_and_port"
