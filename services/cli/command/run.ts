/** `anneal run`: a command on many hosts, with answers grouped by their content. */
import { randomUUID } from 'node:crypto';
import type { Client } from '@anneal/client/connect.ts';
import type { HostView } from '@anneal/contracts/calls/hosts.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { hostNameKey, spellingOf } from '@anneal/contracts/host-name.ts';
import { nearestOf } from '@anneal/runtime/nearest.ts';
import type { Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { runOnHosts } from '../hosts-run/follow.ts';
import { outcomeOfCommand, type CommandOutcome } from '@anneal/client/run-outcome.ts';
import { printWarnings } from '../print/warning.ts';
import { readText } from '../options/files.ts';
import { exampleText, formatOption, positiveInteger } from '../options/options.ts';

export function addRunCommand(program: Command, context: CliContext): void {
  const { output } = context;
  program
    .command('run [command]')
    .description('run a shell command or a script on many hosts and group their answers')
    .option('--hosts <hosts>', 'names of hosts separated by commas, or an expression over their facts')
    .option('--all', 'every host of the project')
    .option('--script <file>', 'run this file instead of a command')
    .option('--timeout <seconds>', 'time for each host to take and finish the command', positiveInteger, 60)
    .option('--batch <n>', 'maximum number of hosts at the same time (default: all)', positiveInteger)
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        `run 'uptime' --hosts 'facts.rack == "a"'`,
        `run 'systemctl restart nginx' --hosts web1,web2 --batch 1`,
        'run --script collect.sh --all --timeout 300 -o json',
      ),
    )
    .addHelpText('after', '\nExit status: 0 every host answered with exit status 0, 1 otherwise.\n')
    .action(async (command, { hosts: which, all, script, timeout, batch, output: format }) => {
      const config = await scriptOf({ command, script, cwd: context.cwd });
      const client = await context.client();
      const hosts = await hostsFor(client, { which, all });
      const id = randomUUID();
      const isQuiet = format !== 'table';
      // The answer of a machine that lost power is a failure, because a second run could do harm.
      const options = { timeout, queue_timeout: timeout, on_interrupt: 'fail' };
      const stored = await client.deployments.storeConfig({ id, name: nameOf(command, script), config, options });
      printWarnings(context.output, stored.warnings);
      if (!isQuiet) output.note(`${hosts.length} host${hosts.length === 1 ? '' : 's'}, config ${id}`);
      const since = new Date(context.now()).toISOString();
      let count = 0;
      const ended = await runOnHosts({
        client,
        config: id,
        hosts: hosts.map((host) => host.id),
        seconds: timeout,
        batch: batch ?? Number.MAX_SAFE_INTEGER,
        signal: context.interrupt,
        onEnd: ({ host_name, status_code, answer_state }) => {
          count += 1;
          const said = status_code === null ? `no answer (${answer_state ?? 'none'})` : `exit ${status_code}`;
          if (!isQuiet) output.note(`${host_name}: ${said} (${count} of ${hosts.length})`);
        },
        onOutage: (error) => output.note(`${error.message} Retrying; the hosts are not affected.`),
      });
      const outcome = outcomeOfCommand(ended, { hosts: await client.hosts.list(), since });
      if (format === 'table') for (const line of linesOf(outcome)) output.line(line);
      else output.value(format, { config: id, hosts: hosts.map(({ name }) => name), ...outcome });
      if (!outcome.ok) throw failed(outcome, hosts.length);
    });
}

const nameOf = (command: string | undefined, script: string | undefined): string =>
  (command ?? script ?? '').slice(0, 255);

/** @throws AnnealError InvalidRequest */
async function scriptOf(given: {
  command?: string | undefined;
  script?: string | undefined;
  cwd: string;
}): Promise<string> {
  const { command, script, cwd } = given;
  if ((command === undefined) === (script === undefined)) {
    throw new AnnealError('InvalidRequest', 'Give either a command or --script <file>.');
  }
  if (script === undefined) return `#!/bin/sh\n${notEmpty(command, 'the command is empty. Give a command')}\n`;
  const text = await readText(script, cwd);
  return notEmpty(text, `the script ${script} is empty. Write the script first`);
}

/** An empty command would "succeed" on every host: a variable of the caller's shell is unset. */
function notEmpty(text: string | undefined, otherwise: string): string {
  if (text !== undefined && text.trim() !== '') return text;
  throw new AnnealError('InvalidRequest', `Nothing was run: ${otherwise}.`);
}

const isNames = (text: string): boolean => /^[\w.-]+(,[\w.-]+)*$/.test(text);

/** @throws AnnealError InvalidRequest when no host matches or a name is unknown; then nothing runs */
async function hostsFor(
  client: Client,
  { which, all }: { which?: string | undefined; all?: true | undefined },
): Promise<HostView[]> {
  if ((which === undefined) === (all === undefined)) {
    throw new AnnealError('InvalidRequest', 'Give either --hosts <hosts> or --all.');
  }
  const where = which !== undefined && !isNames(which) ? which : undefined;
  const found = (await client.hosts.list({ where })).filter(({ status }) => status !== 'deleting');
  const chosen = which === undefined || where !== undefined ? found : named(found, which.split(','));
  if (chosen.length > 0) return chosen;
  throw new AnnealError('InvalidRequest', `Nothing was run: no host matches${which === undefined ? '' : ` ${which}`}.`);
}

function named(hosts: readonly HostView[], names: readonly string[]): HostView[] {
  const byName = new Map(hosts.flatMap((host) => [[host.id, host] as const, [host.name, host] as const]));
  const chosen = new Map<string, HostView>();
  for (const name of names) {
    const key = hostNameKey(name);
    const alike = (): string[] => hosts.flatMap((each) => (hostNameKey(each.name) === key ? [each.name] : []));
    const host = byName.get(name) ?? byName.get(spellingOf(name, alike()) ?? '');
    if (!host) {
      const nearest = nearestOf(
        name,
        hosts.map((each) => each.name),
      );
      const hint = nearest === undefined ? '' : ` The nearest name is ${nearest}.`;
      throw new AnnealError('InvalidRequest', `Nothing was run: there is no host ${name.slice(0, 255)}.${hint}`);
    }
    chosen.set(host.id, host);
  }
  return [...chosen.values()];
}

const indent = (text: string): string[] =>
  text.trimEnd() === ''
    ? []
    : text
        .trimEnd()
        .split('\n')
        .map((line) => `    ${line}`);

function linesOf({ groups, late, silent, unexpected }: CommandOutcome): string[] {
  return [
    ...groups.flatMap(({ status_code, stdout, stderr, hosts }) => [
      `exit ${status_code}, ${hosts.length} ${hosts.length === 1 ? 'host' : 'hosts'}: ${hosts.join(', ')}`,
      ...indent(stdout),
      ...indent(stderr),
    ]),
    ...(late.length > 0 ? [`late: ${late.join(', ')}`] : []),
    ...(silent.length > 0 ? [`silent: ${silent.map(({ host, state }) => `${host} (${state})`).join(', ')}`] : []),
    ...unexpected.map(({ host, kind, reason }) => `unexpected: ${host} (${kind}): ${reason}`),
  ];
}

function failed({ groups, late, silent, unexpected }: CommandOutcome, total: number): AnnealError {
  const bad = groups.filter(({ status_code }) => status_code !== 0).flatMap(({ hosts }) => hosts);
  const refused = unexpected.filter(({ kind }) => kind === 'refused').map(({ host }) => host);
  const without = new Set([...bad, ...late, ...silent.map(({ host }) => host), ...refused]);
  return new AnnealError('DeploymentFailed', `The command did not succeed on ${without.size} of ${total} hosts.`);
}
