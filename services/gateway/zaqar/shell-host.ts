/**
 * Converts a request for a host to one POSIX shell script that needs only `sh` and `curl`. The script runs the config
 * with its inputs as environment, keeps the claim alive meanwhile, ends the config at its limit, collects the outputs,
 * posts the answer and deletes the request. Pure.
 *
 * H1 No part of the request is read as shell code, except the config itself, because all values are quoted.
 * H2 A config that has ended is answered again but not run again: the result is kept by the id of the request.
 * H3 The token is in no argument and no environment variable, where other programs or the config could read it.
 * H4 The answer is posted whatever the config leaves behind: outputs are regular files of a bounded size, streams are
 *    bounded, and a missing folder or a full disk becomes the result of this request.
 */
import type { HostRequest } from '@anneal/contracts/configuration.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { answering, collecting, running } from './shell-host-parts.ts';

export interface ShellHostParameters {
  request: HostRequest;
  token: string;
  clientId: string;
  claimUrl: string;
  messageUrl: string;
  responsesUrl: string;
  /** True when messages are posted as a bare list. */
  lists: boolean;
  /** Seconds of the claim. */
  ttl: number;
}

/** Quotes text: `it's` becomes `'it'\''s'`, because inside single quotes a shell interprets only the closing quote. */
export const quoteForShell = (text: string): string =>
  `'${text.replaceAll('\0', '').replaceAll("'", String.raw`'\''`)}'`;

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;
const runnable = new Set(['script', 'Heat::Ungrouped']);
/** The limit of a request without a timeout, in whole seconds, because a shell has no fractions. */
const longestSeconds = 30 * 86_400;

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

export function renderShellHost(parameters: ShellHostParameters): string {
  const { request, token, clientId, claimUrl, messageUrl, responsesUrl, ttl } = parameters;
  const limit = Math.ceil(Math.min(request.timeout ?? longestSeconds, longestSeconds));
  return `#!/bin/sh
# ${request.group} config ${request.deployment_id.replaceAll(/[^\w.-]/g, '_')}, request ${request.id.replaceAll(/[^\w.-]/g, '_')}
umask 077
set -u
id=${quoteForShell(request.id)}
token=${quoteForShell(token)}
claim=${quoteForShell(claimUrl)}
responses=${quoteForShell(responsesUrl)}
message=${quoteForShell(messageUrl)}
limit=${limit}
ttl=${ttl}
root="\${ANNEAL_HOST_DIR:-\${HOME:-/var/lib}/.anneal-host}"
dir="$root/$(printf %s "$id" | tr -c 'A-Za-z0-9_.-' '_')"
error=
mkdir -p "$dir" && [ -O "$dir" ] || { echo "cannot use $dir: it must be a directory of this user" >&2; exit 1; }

# The token goes to curl through its standard input: arguments can be read by every program of the machine.
call() {
  printf 'header = "X-Auth-Token: %s"\\nheader = "Client-ID: %s"\\n' "$token" ${quoteForShell(clientId)} |
    curl --config - --silent --show-error --max-time 60 --output /dev/null "$@"
}
post_json() { call --fail --header 'Content-Type: application/json' "$@"; }

write_config() {
  clear "$dir/work"
  mkdir -p "$dir/work" && cat >"$dir/config" <<'${delimiterFor(request)}'
${configText(request)}
${delimiterFor(request)}
}
run_config() {
  cd "$dir/work" || exit 126
  unset token claim
  heat_outputs_path="$dir/work/output"
  export heat_outputs_path
${environmentOf(request)}
}
report_start() {
  post_json --request POST --data ${quoteForShell(startedBody(parameters))} "$responses" || :
}
${running}${collecting}${answering}`;
}

function startedBody({ request, lists }: ShellHostParameters): string {
  const messages = [{ ttl: 600, body: { id: request.id, progress: 'started' } }];
  return JSON.stringify(lists ? messages : { messages });
}

/** Exports the inputs and replaces the shell with the config, in a separate session where `setsid` is available. */
function environmentOf(request: HostRequest): string {
  // Pass names that are not valid in a shell through env(1), which accepts any name.
  const exported = request.inputs.filter(({ name }) => identifier.test(name));
  const others = request.inputs.filter(({ name }) => !identifier.test(name) && /^[^=\0]+$/.test(name));
  const through = others.map(({ name, value }) => quoteForShell(`${name}=${asText(value)}`)).join(' ');
  if (!runnable.has(request.group)) {
    return `  echo ${quoteForShell(`This host has only a shell; it cannot apply configs of the group ${request.group}.`)} >&2\n  exit 127`;
  }
  const lines = exported
    .map(({ name, value }) => `  ${name}=${quoteForShell(asText(value))}\n  export ${name}\n`)
    .join('');
  return `${lines}  if [ "$(head -c 2 "$dir/config")" = '#!' ]; then exec $session env ${through} "$dir/config"; fi
  exec $session env ${through} sh "$dir/config"`;
}

const configText = ({ config }: HostRequest): string => asText(config).replaceAll('\0', '');

/** A line that does not occur in the config. Derived from its text, so that the same request gives the same script. */
function delimiterFor(request: HostRequest): string {
  const lines = new Set(configText(request).split('\n'));
  let delimiter = 'ANNEAL_END_OF_CONFIG';
  while (lines.has(delimiter)) delimiter += '_';
  return delimiter;
}
