/** `anneal node console` */
import { spawn } from 'node:child_process';
import type { NodeConsole, NodeRepresentation } from '@anneal/client/representation.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { InvalidArgumentError, Option, type Command } from '@commander-js/extra-typings';
import type { CliContext } from '../context.ts';
import { Reported } from '../exit.ts';
import type { Format } from '../output.ts';
import { withoutControls } from '../terminal/program-output.ts';
import { exampleText, formatOption, positiveInteger } from '../options/options.ts';

const protocols = ['ssh', 'ipmi', 'telnet'] as const;

export function addNodeConsole(node: Command, context: CliContext): void {
  const { output } = context;
  node
    .command('console <node>')
    .description(
      'show how to reach the consoles that the BMC of a node offers, connect to one, or print what the serial console showed',
    )
    .option('--run', 'connect, in this terminal; the program asks for the password of the BMC')
    .addOption(new Option('--protocol <protocol>', 'with --run: the protocol (default: the first)').choices(protocols))
    .option('--log', 'print the last lines of the serial console, which the BMC keeps')
    .option('-f, --follow', 'print the last lines, and more as it arrives, until Ctrl-C')
    .addOption(new Option('-n, --lines <number>', 'with --log: how many lines').argParser(countOf).default(200))
    .addOption(formatOption())
    .addHelpText(
      'after',
      exampleText(
        'node console machine-1',
        'node console machine-1 --run --protocol ipmi',
        'node console machine-1 --log -f',
      ),
    )
    .action(async (name, { run, protocol, log, follow, lines, output: format }) => {
      if (log || follow) return printLog(context, { node: name, limit: lines, follow: follow === true, format });
      const consoles = consolesOf(await (await context.part('nodes')).show({ node: name }), name);
      if (run) await connect(chosen(consoles, protocol, name), context);
      else if (format !== 'table') output.value(format, consoles);
      else for (const line of consoles.flatMap(linesOf)) output.line(line);
    });
}

const mostLines = 1000;

function countOf(text: string): number {
  const count = positiveInteger(text);
  if (count <= mostLines) return count;
  throw new InvalidArgumentError(`must be 1 to ${mostLines}`);
}

/** The server answers at once when the machine prints, and else after these seconds. */
const waitSeconds = 20;

/** Prints the lines, and with `follow` those that arrive, until the command is interrupted. */
async function printLog(
  context: CliContext,
  { node, limit, follow, format }: { node: string; limit: number; follow: boolean; format: Format },
): Promise<void> {
  const { output, interrupt: signal } = context;
  const nodes = await context.part('nodes');
  let shown = await nodes.consoleLog({ node, limit, signal });
  if (format !== 'table') return output.value(format, shown);
  if (shown.lines.length === 0) output.note('The console has shown nothing yet.');
  for (const { text } of shown.lines) output.line(withoutControls(text));
  if (!follow) return;
  while (!signal.aborted) {
    const known = shown.lines.at(-1)?.id;
    const next = await nodes
      .consoleLog({ node, limit: mostLines, known, wait: waitSeconds, signal })
      .catch((error: unknown) => {
        if (signal.aborted) return shown;
        throw error;
      });
    for (const { text } of linesAfter(next.lines, shown.lines.at(-1)?.id)) output.line(withoutControls(text));
    if (next.lines.length > 0) shown = next;
  }
}

/** The lines behind the last known one; all of them when the BMC began a new log. */
export function linesAfter<L extends { readonly id: string }>(
  lines: readonly L[],
  known: string | undefined,
): readonly L[] {
  const at = lines.findLastIndex(({ id }) => id === known);
  return lines.slice(at + 1);
}

/** @throws AnnealError for a node without a console, which says why it has none */
function consolesOf({ consoles }: NodeRepresentation, name: string): readonly NodeConsole[] {
  if (consoles === null)
    throw new AnnealError('Conflict', `Node ${name} has no console yet: no inspection has looked for one.`, {
      details: { remedy: `anneal node provide ${name} --verb inspect` },
    });
  if (consoles.length > 0) return consoles;
  throw new AnnealError('NotFound', `Node ${name} has no console: its BMC offers none.`, {
    details: { remedy: `Turn a console on at the BMC, then: anneal node provide ${name} --verb inspect` },
  });
}

function chosen(consoles: readonly NodeConsole[], protocol: string | undefined, name: string): NodeConsole {
  const offered = consoles.filter(({ command }) => command !== null);
  const found = offered.find((each) => protocol === undefined || each.protocol === protocol);
  if (found) return found;
  const others = [...new Set(offered.map((each) => each.protocol))].join(', ');
  throw new AnnealError(
    'NotFound',
    `Node ${name} has no console ${protocol === undefined ? 'for a terminal' : `over ${protocol}`}.`,
    { details: { remedy: others === '' ? `Open it in a browser: ${consoles[0]?.url ?? ''}` : `It has: ${others}` } },
  );
}

const titles = { serial: 'serial console', graphical: 'screen', shell: 'command line of the BMC' } as const;

function linesOf({ kind, protocol, url, command, enter, leave }: NodeConsole): string[] {
  return [
    `${titles[kind]}, ${command === null ? 'in a browser' : `over ${protocol}`}:`,
    `  ${command === null ? url : command.map(shellWord).join(' ')}`,
    ...(enter === null ? [] : [`  enter at its prompt: ${enter}`]),
    ...(leave === null ? [] : [`  leave with the keys: ${leave}`]),
  ];
}

/** A word as a shell reads it back. */
const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** Runs the program without a shell, and ends with its exit status. */
async function connect({ command, enter, leave }: NodeConsole, { output, environment }: CliContext): Promise<void> {
  const [program = '', ...words] = command ?? [];
  output.note([program, ...words].map(shellWord).join(' '));
  if (enter !== null) output.note(`Enter at its prompt: ${enter}`);
  if (leave !== null) output.note(`Leave with the keys: ${leave}`);
  const status = await new Promise<number>((resolve, reject) => {
    const child = spawn(program, words, { stdio: 'inherit', env: environment });
    child.once('error', reject);
    // A program that a signal ended has no status.
    child.once('exit', (code) => resolve(code ?? 1));
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new AnnealError('NotFound', `Not connected: the program ${program} is not on the PATH.`, {
      details: { remedy: `Install it, or enter the line above on a machine that has it.` },
    });
  });
  if (status !== 0) throw new Reported(status);
}
