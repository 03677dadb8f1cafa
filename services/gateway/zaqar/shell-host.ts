/**
 * A request for a host, as one POSIX shell script that does all of it with `sh` and `curl`: run the config with its inputs as
 * environment, keep the claim alive meanwhile, collect the outputs, post the answer, delete the request. Pure.
 *
 * H1 Nothing of the request is ever read as shell code, save the config itself: all of it is quoted.
 * H2 A config that was run to its end is answered again, not run again: the result is kept by the id of the request.
 * H3 The token is in no argument and no environment, where other programs of the machine, or the config, could read it.
 */
import type { HostRequest } from '@anneal/contracts/configuration.ts';
import type { Json } from '@anneal/contracts/json.ts';

export interface ShellHostParameters {
  request: HostRequest;
  token: string;
  clientId: string;
  claimUrl: string;
  messageUrl: string;
  responsesUrl: string;
  /** Seconds of the claim. */
  ttl: number;
}

/** `it's` becomes `'it'\''s'`: within single quotes a shell reads nothing but the closing one. */
export const quote = (text: string): string => `'${text.replaceAll('\0', '').replaceAll("'", String.raw`'\''`)}'`;

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;
const runnable = new Set(['script', 'Heat::Ungrouped']);

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

export function renderShellHost(parameters: ShellHostParameters): string {
  const { request, token, clientId, claimUrl, messageUrl, responsesUrl, ttl } = parameters;
  // Names that a shell cannot hold go through env(1), which takes any.
  const exported = request.inputs.filter(({ name }) => identifier.test(name));
  const others = request.inputs.filter(({ name }) => !identifier.test(name) && /^[^=\0]+$/.test(name));
  const through = others.map(({ name, value }) => quote(`${name}=${asText(value)}`)).join(' ');

  return `#!/bin/sh
# ${request.group} config ${request.deployment_id.replaceAll(/[^\w.-]/g, '_')}, request ${request.id.replaceAll(/[^\w.-]/g, '_')}
umask 077
set -u
id=${quote(request.id)}
token=${quote(token)}
claim=${quote(claimUrl)}
root="\${ANNEAL_HOST_DIR:-\${HOME:-/var/lib}/.anneal-host}"
dir="$root/$(printf %s "$id" | tr -c 'A-Za-z0-9_.-' '_')"
mkdir -p "$dir" && [ -O "$dir" ] || { echo "cannot use $dir: it must be a directory of this user" >&2; exit 1; }

# The token goes to curl through its standard input: arguments can be read by every program of the machine.
call() {
  printf 'header = "X-Auth-Token: %s"\\nheader = "Client-ID: %s"\\n' "$token" ${quote(clientId)} |
    curl --config - --silent --show-error --fail --max-time 60 --output /dev/null "$@"
}

if [ ! -f "$dir/status" ]; then
  cat >"$dir/config" <<'${delimiterFor(request)}'
${configText(request)}
${delimiterFor(request)}
  chmod 700 "$dir/config"
  # A claim that runs out is offered again; this keeps it while the config runs.
  ( while sleep ${Math.max(1, Math.floor(ttl / 3))}; do
      call --request PATCH --header 'Content-Type: application/json' --data '{"ttl":${ttl},"grace":60}' "$claim" || :
    done ) >/dev/null 2>&1 &
  heartbeat=$!
  trap 'kill "$heartbeat" 2>/dev/null' EXIT
  (
    cd "$dir" || exit 1
    unset token claim
    heat_outputs_path="$dir/output"
    export heat_outputs_path
${exported.map(({ name, value }) => `    ${name}=${quote(asText(value))}\n    export ${name}\n`).join('')}${
    runnable.has(request.group)
      ? `    if [ "$(head -c 2 config)" = '#!' ]; then exec env ${through} ./config; else exec env ${through} sh ./config; fi`
      : `    echo ${quote(`This host has only a shell; it cannot apply configs of the group ${request.group}.`)} >&2\n    exit 127`
  }
  ) </dev/null >"$dir/stdout" 2>"$dir/stderr"
  echo "$?" >"$dir/status.new"
  mv "$dir/status.new" "$dir/status"
  kill "$heartbeat" 2>/dev/null
  trap - EXIT
fi

for stream in stdout stderr; do tail -c 65536 "$dir/$stream" >"$dir/$stream.tail"; done
set -- --form-string "id=$id" --form "status_code=<$dir/status" \\
  --form "stdout=<$dir/stdout.tail" --form "stderr=<$dir/stderr.tail"
# Every output there is: configs need not declare what they report. What curl could misread as a form is left out.
for file in "$dir"/output.*; do
  [ -f "$file" ] || continue
  name=\${file#"$dir/output."}
  case "$name" in '' | *[!A-Za-z0-9_.-]*) continue ;; esac
  set -- "$@" --form "outputs.$name=<$dir/output.$name"
done
attempt=1
until call "$@" ${quote(responsesUrl)}; do
  [ "$attempt" -ge 8 ] && { echo "the answer to $id could not be posted; it is kept in $dir" >&2; exit 1; }
  sleep "$attempt"
  attempt=$((attempt + 1))
done
call --request DELETE ${quote(messageUrl)} || :
`;
}

const configText = ({ config }: HostRequest): string => asText(config).replaceAll('\0', '');

/** A line that the config does not have. Derived from its text, so that the same request gives the same script. */
function delimiterFor(request: HostRequest): string {
  const lines = new Set(configText(request).split('\n'));
  let delimiter = 'ANNEAL_END_OF_CONFIG';
  while (lines.has(delimiter)) delimiter += '_';
  return delimiter;
}
