/**
 * Converts a request for a host to one POSIX shell script that needs only `sh` and `curl` or `wget`. The script starts
 * the config with its inputs as environment in a process of its own, keeps the claim while the config runs, collects the
 * outputs and posts the answer. Pure.
 *
 * H1 No part of the request is read as shell code, except the config itself, because all values are quoted.
 * H2 A config starts at most once: the folder of the request records the start and the end. A request whose config runs
 *    is waited for, one that has ended is answered again, and one that vanished is reported as interrupted.
 * H3 The token is in no argument and no environment variable, where other programs or the config could read it.
 * H4 The answer is posted whatever the config leaves behind: outputs are regular files of a bounded size, streams are
 *    bounded, and a missing folder or a full disk becomes the result of this request.
 * H5 A script that arrives incomplete does nothing, because it is one function that its last line calls.
 *
 * Besides the shell it needs cat, chmod, env, head, mkdir, sleep, tail and tr. It uses ls, rm and setsid where available.
 */
import type { HostRequest } from '@anneal/contracts/configuration.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { quoteForShell, shellText } from './text.ts';

export interface ShellRequestParameters {
  request: HostRequest;
  token: string;
  /** The address of the routes in `door.ts`. */
  doorUrl: string;
  claimId: string;
  messageId: string;
  /** Seconds of the claim. */
  ttl: number;
}

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;
const runnable = new Set(['script', 'Heat::Ungrouped']);
/** The limit of a request without a timeout, in whole seconds, because a shell has no fractions. */
const longestSeconds = 30 * 86_400;

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));
const comment = (text: string): string => text.replaceAll(/[^\w.-]/g, '_');

export function renderShellRequest(parameters: ShellRequestParameters): string {
  const { request, token, doorUrl, claimId, messageId, ttl } = parameters;
  const config = asText(request.config).replaceAll('\0', '');
  const runner = runnerOf(request);
  const configEnd = delimiterFor('ANNEAL_END_OF_CONFIG', config);
  const runnerEnd = delimiterFor('ANNEAL_END_OF_RUNNER', runner);
  return `#!/bin/sh
# ${comment(request.group)} config ${comment(request.deployment_id)}, request ${comment(request.id)}
anneal_request() {
umask 077
set -u
id=${quoteForShell(request.id)}
token=${quoteForShell(token)}
claim=${quoteForShell(claimId)}
message=${quoteForShell(messageId)}
door=${quoteForShell(doorUrl)}
limit=${limitOf(request)}
ttl=${ttl}
cacert=\${ANNEAL_CACERT:-}
root="\${ANNEAL_HOST_DIR:-\${HOME:-/var/lib}/.anneal-host}"
dir="$root/$(printf %s "$id" | tr -c 'A-Za-z0-9_.-' '_')"
body="$dir/body"
mkdir -p "$dir" && [ -O "$dir" ] || { echo "cannot use $dir: it must be a directory of this user" >&2; return 1; }
${shellText.send}${shellText.tools}
write_run() {
  cat >"$dir/config.$$" <<'${configEnd}' && cat >"$dir/run.$$" <<'${runnerEnd}'
${config}
${configEnd}
${runner}
${runnerEnd}
}
${shellText.apply}}
anneal_request
`;
}

const limitOf = ({ timeout }: HostRequest): number => Math.ceil(Math.min(timeout ?? longestSeconds, longestSeconds));

const runnerOf = (request: HostRequest): string => `limit=${limitOf(request)}
start_config() {
  cd "$dir/work" || exit 126
  heat_outputs_path="$dir/work/output"
  export heat_outputs_path
${environmentOf(request)}
}
${shellText.tools}${shellText.run}`;

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
  // The command is in "$@" before the inputs are set, because an input may have the name of a variable used here.
  return `  set -- env ${through}
  [ "$(head -c 2 "$config")" = '#!' ] || set -- "$@" sh
  set -- $session "$@" "$config"
${lines}  exec "$@"`;
}

/** A line that does not occur in the text. Derived from it, so that the same request gives the same script. */
function delimiterFor(word: string, text: string): string {
  const lines = new Set(text.split('\n'));
  let delimiter = word;
  while (lines.has(delimiter)) delimiter += '_';
  return delimiter;
}
