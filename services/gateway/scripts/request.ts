/**
 * Converts a request for a host to one POSIX shell script that needs only `sh` and `curl` or `wget`. The script starts
 * the config with its inputs as environment in a process of its own, keeps the claim while the config runs, collects the
 * outputs and posts the answer. Pure.
 *
 * H1 No part of the request is read as shell code, except the config itself, because all values are quoted.
 * H2 A config starts at most once: the folder of the request records the start and the end. A request whose config runs
 *    is waited for, one that has ended is answered again, and one that vanished is reported as interrupted.
 *    With `options.reboot` it starts once in each turn, and the host reboots between two of them: `sh/reboot.sh`.
 * H3 The token is in no argument and no environment variable, where other programs or the config could read it.
 * H4 The answer is posted whatever the config leaves behind: outputs are regular files of a bounded size, streams are
 *    bounded, and a missing folder or a full disk becomes the result of this request.
 * H5 A script that arrives incomplete does nothing, because it is one function that its last line calls.
 * H6 A script that only refers to its config fetches it before it starts, and never runs one with another checksum.
 *
 * Besides the shell it needs cat, chmod, env, head, mkdir, sleep, tail and tr. It uses ls, rm and setsid where available.
 */
import { graceMs, type HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { mostReboots, rebootLimitMs, rebootOf, rebootPage } from '@anneal/contracts/reboot-option.ts';
import { toolOf } from '@anneal/tools/find.ts';
import { placedInputs, type TextInput } from '@anneal/tools/inputs.ts';
import { delimiterFor, quoteForShell } from '@anneal/tools/shell.ts';
import { asText, ConfigError } from '@anneal/tools/tool.ts';
import { shellText } from './text.ts';

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
/** The limit of a request without a timeout, in whole seconds, because a shell has no fractions. */
const longestSeconds = 30 * 86_400;

const comment = (text: string): string => text.replaceAll(/[^\w.-]/g, '_');

export function renderShellRequest(parameters: ShellRequestParameters): string {
  const { request, token, doorUrl, claimId, messageId, ttl } = parameters;
  const { config, ...inputs } = programOf(request);
  const runner = runnerOf(request, inputs);
  const { config_ref: reference } = request;
  const configEnd = delimiterFor(config, 'ANNEAL_END_OF_CONFIG');
  const runnerEnd = delimiterFor(runner, 'ANNEAL_END_OF_RUNNER');
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
reboots=0 turn= sha256= reboot_page=${rebootPage}
${shellText.send}${shellText.tools}${rebootOf(request.options) === undefined ? '' : rebootTexts(request)}
write_run() {
  ${reference ? `mv "$dir/fetched.$$" "$dir/config.$$"` : `cat >"$dir/config.$$" <<'${configEnd}'`} && cat >"$dir/run.$$" <<'${runnerEnd}'
${reference ? '' : `${config}\n${configEnd}\n`}${runner}
${runnerEnd}
}
${reference ? `sha256=${quoteForShell(reference.sha256)} size=${reference.size}\n${shellText.config}` : ''}${shellText.apply}${rebootOf(request.options) === undefined ? plainEnd : rebootEnd}}
anneal_request
`;
}

/** The end of a script: it runs the config, and posts the answer. */
const plainEnd = `status_known || apply 2>/dev/null\n${shellText.answer}explain\nanswer\n`;
/** The same with reboots. The functions here replace those of the same name, so they come later. */
const rebootEnd = `${shellText.reboot}apply_turns || return\n${shellText.answer}explain\nexplain_reboot\nanswer\n`;

const rebootNames = { after: 'after', allowed: 'allowed', 'on status 194': 'status' } as const;

/** The variables of a config that may reboot its host, with the turn that it is in. */
function rebootTexts({ options, outputs }: HostRequest): string {
  const errors = outputs.flatMap(({ name, error_output }) =>
    error_output === true && outputName.test(name) ? [name] : [],
  );
  const choice = rebootNames[rebootOf(options) ?? 'after'];
  return `reboot=${choice} most_reboots=${mostReboots} boots_within=${Math.ceil(rebootLimitMs(options) / 1000)}
error_outputs='${errors.join(' ')}'
while [ -e "$dir/again.$((reboots + 1))" ]; do reboots=$((reboots + 1)) turn=r$reboots; done
`;
}

/** The names of outputs that a script of this host sends. */
const outputName = /^[A-Za-z0-9_.-]+$/;

const limitOf = ({ timeout }: HostRequest): number => Math.ceil(Math.min(timeout ?? longestSeconds, longestSeconds));

const runnerOf = (request: HostRequest, { variables, files }: Inputs): string => `limit=${limitOf(request)}
grace=${Math.ceil(graceMs(request.options) / 1000)}
start_config() {
  cd "$dir/work" || exit 126
  heat_outputs_path="$dir/work/output"
  export heat_outputs_path
${rebootOf(request.options) === undefined ? '' : `  ANNEAL_REBOOTS=\${turn#r}\n  ANNEAL_REBOOTS=\${ANNEAL_REBOOTS:-0}\n  export ANNEAL_REBOOTS\n`}${files.length > 0 ? filesOf(files) : ''}${environmentOf(variables)}
}
${shellText.tools}${shellText.run}`;

/** The inputs that a config reads from its environment and from files. */
type Inputs = ReturnType<typeof placedInputs>;
type Program = Inputs & { readonly config: string };

/** A script as it is, or the program that a tool makes from the config. A shell cannot hold NUL bytes. */
function programOf(request: HostRequest): Program {
  const { group } = request;
  const tool = toolOf(group);
  try {
    if (group === 'script') return { config: asText(request.config).replaceAll('\0', ''), ...placedInputs(request) };
    if (!tool) return failure(`This host has only a shell; it cannot apply configs of the group ${group}.`, 127);
    return { config: tool.program(request).replaceAll('\0', ''), variables: [], files: [] };
  } catch (error) {
    if (error instanceof ConfigError) return failure(error.message, 126);
    throw error;
  }
}

const failure = (message: string, status: number): Program => ({
  config: `echo ${quoteForShell(message)} >&2\nexit ${status}`,
  variables: [],
  files: [],
});

/** Writes inputs to files. `printf` is a part of the shell, so that no value is the argument of a program. */
const filesOf = (files: readonly TextInput[]): string => `  heat_inputs_path="$dir/work/input"
  export heat_inputs_path
${files.map(({ name, text }) => `  printf %s ${quoteForShell(text)} >"$heat_inputs_path.${name}" || exit 126\n`).join('')}`;

/** Exports the inputs and replaces the shell with the config, in a separate session where `setsid` is available. */
function environmentOf(inputs: readonly TextInput[]): string {
  // Pass names that are not valid in a shell through env(1), which accepts any name.
  const exported = inputs.filter(({ name }) => identifier.test(name));
  const others = inputs.filter(({ name }) => !identifier.test(name) && /^[^=\0]+$/.test(name));
  const through = others.map(({ name, text }) => quoteForShell(`${name}=${text}`)).join(' ');
  const lines = exported.map(({ name, text }) => `  ${name}=${quoteForShell(text)}\n  export ${name}\n`).join('');
  // The command is in "$@" before the inputs are set, because an input may have the name of a variable used here.
  return `  set -- env ${through}
  [ "$(head -c 2 "$config")" = '#!' ] || set -- "$@" sh
  set -- $session "$@" "$config"
${lines}  exec "$@"`;
}
