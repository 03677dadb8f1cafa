#!/bin/sh
# Starts one version of the back end on a free port of this host, beside other versions; ends it when it is deleted.
set -eu
folder="$HOME/backend-$VERSION"
if [ "$deploy_action" = DELETE ]; then
  [ -f "$folder/pid" ] && kill "$(cat "$folder/pid")" 2> /dev/null || true
  rm -rf "$folder"
  exit 0
fi
mkdir -p "$folder"
cd "$folder"
if [ ! -f pid ]; then
  cat > server.mjs <<'PROGRAM'
import { createServer } from 'node:http';
import { renameSync, writeFileSync } from 'node:fs';
const { VERSION: version, STOCK: stock, HOST_ADDRESS: host = '127.0.0.1' } = process.env;
const server = createServer((_request, response) => response.end(`version ${version}, stock ${stock}`));
server.listen(0, host, () => {
  writeFileSync('address.new', `${host}:${server.address().port}`);
  renameSync('address.new', 'address');
});
PROGRAM
  nohup setsid node server.mjs > log 2>&1 < /dev/null &
  echo $! > pid
  until [ -s address ]; do sleep 0.05; done
fi
cat address > "$heat_outputs_path.address"
