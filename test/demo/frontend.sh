#!/bin/sh
# Starts the front end on a free port of this host; a running server uses the new values without a restart.
set -eu
folder="$HOME/$deploy_resource_name"
mkdir -p "$folder"
cd "$folder"

cat > server.mjs <<'PROGRAM'
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

// Read at each request. An update replaces the whole file, so no answer mixes two versions.
const values = () => JSON.parse(readFileSync('values.json', 'utf8'));
const server = createServer(async (request, response) => {
  const { version, backend, config } = values();
  response.setHeader('content-type', 'application/json');
  try {
    const answer = await (await fetch(`http://${backend}/`, { signal: AbortSignal.timeout(5000) })).json();
    response.end(JSON.stringify({ service: 'front end', version, config, backend: answer }));
  } catch (error) {
    response.statusCode = 502;
    response.end(JSON.stringify({ error: `the back end at ${backend} does not answer: ${error.message}` }));
  }
});
server.listen(0, process.env.HOST_ADDRESS || '127.0.0.1', () => {
  const { address, port } = server.address();
  writeFileSync('address.new', `${address}:${port}`);
  renameSync('address.new', 'address');
});
PROGRAM

node -e 'const { DEPLOY_VERSION: version, BACKEND_ADDR: backend, CONFIG: config } = process.env;
require("fs").writeFileSync("values.json.new", JSON.stringify({ version, backend, config }))'
mv values.json.new values.json

if [ -f pid ] && kill -0 "$(cat pid)" 2>/dev/null; then
  echo "the running front end uses the new values"
else
  rm -f address
  detach=$(command -v setsid || true)
  nohup $detach node server.mjs > server.log 2>&1 < /dev/null &
  echo $! > pid
  waited=0
  until [ -s address ]; do
    waited=$((waited + 1))
    if [ "$waited" -gt 150 ]; then
      echo "the front end did not start:" >&2
      cat server.log >&2
      exit 1
    fi
    sleep 0.1
  done
  echo "the front end has started"
fi
logger "front end $DEPLOY_VERSION at $(cat address), CONFIG $CONFIG"
printf 'http://%s/' "$(cat address)" > "${heat_outputs_path}.url"
