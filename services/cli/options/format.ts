/** `-o` and `--jq`: the forms of output that every command with data has. */
import { spawnSync } from 'node:child_process';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { InvalidArgumentError, Option, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Format, TerminalOutput, PrintedView } from '../output.ts';

const plain = ['table', 'json', 'yaml'] as const;
const pathPrefix = 'jsonpath=';
const forms = [...plain, 'wide', 'name', pathPrefix] as const;

/**
 * The option; `applyView` replaces the other forms by the one of `Format` that they are based on, before the command
 * runs.
 */
export const formatOption = (): Option<'-o, --output <format>', undefined, 'table', Format> => {
  const option = new Option(
    '-o, --output <format>',
    'output format; wide has every column in full, and jsonpath=PATH the values at a path, e.g. jsonpath=[*].id',
  )
    .default('table' as const)
    .argParser((text: string): Format => {
      if (!forms.some((form) => (form === pathPrefix ? text.startsWith(form) : text === form))) {
        throw new InvalidArgumentError('Allowed formats are table, wide, name, json, yaml and jsonpath=PATH.');
      }
      return text as Format;
    });
  // For completion only; `choices` would replace the parser.
  option.argChoices = [...forms];
  return option;
};

/** Adds `--jq` to each command with `--output`, and `--watch` to each list. */
export function addViews(command: CommandUnknownOpts): void {
  for (const below of command.commands) addViews(below);
  // A watch prints values without end.
  if (command.name() === 'watch' || !command.options.some(({ long }) => long === '--output')) return;
  command.option('--jq <expression>', 'print the JSON output through jq, which must be installed');
  if (command.name() === 'list') command.option('-w, --watch', 'show the list again every two seconds, until Ctrl-C');
}

/** Before a command runs. @throws AnnealError InvalidRequest for a wrong path, or options that exclude each other */
export function applyView(command: CommandUnknownOpts, output: TerminalOutput): void {
  const given: unknown = command.getOptionValue('output');
  if (typeof given !== 'string') return;
  const jq: unknown = command.getOptionValue('jq');
  const watch = command.getOptionValue('watch') === true;
  if (watch && (!output.isTerminal || jq !== undefined || !['table', 'wide'].includes(given))) {
    throw new AnnealError(
      'InvalidRequest',
      '--watch shows a table on a terminal. Programs use: anneal event watch -o json',
    );
  }
  if (command.name() === 'watch' && !plain.some((form) => form === given)) {
    const message = `A watch prints values without end, so it has no -o ${given}: use table, json or yaml.`;
    throw new AnnealError('InvalidRequest', message);
  }
  if (typeof jq === 'string' && given !== 'json' && command.getOptionValueSource('output') !== 'default') {
    throw new AnnealError('InvalidRequest', `--jq reads JSON, so it cannot be used with -o ${given}.`);
  }
  const { format, view } = typeof jq === 'string' ? throughProgram(jq) : viewOf(given);
  command.setOptionValue('output', format);
  output.use({ ...view, redraw: watch });
}

const throughProgram = (jq: string): { format: Format; view: PrintedView } => ({
  format: 'json',
  view: { select: (value) => throughJq(jq, value) },
});

function viewOf(given: string): { format: Format; view: PrintedView } {
  if (given === 'json' || given === 'yaml') return { format: given, view: {} };
  if (!given.startsWith(pathPrefix))
    return { format: 'table', view: { wide: given === 'wide', names: given === 'name' } };
  const steps = readPath(given.slice(pathPrefix.length));
  return { format: 'json', view: { select: (value) => follow(steps, value).map(textOf).join('') } };
}

function throughJq(expression: string, value: unknown): string {
  // No shell reads the expression. The blank keeps jq from reading it as an option; older versions have no `--` for that.
  const { status, stdout, stderr, error } = spawnSync('jq', ['-r', ` ${expression}`], {
    input: JSON.stringify(value),
    encoding: 'utf8',
    maxBuffer: 1024 * 1024 * 1024,
  });
  // A jq that refuses its expression may end before it has read everything (EPIPE).
  if (error && status === null) {
    const missing = 'code' in error && error.code === 'ENOENT';
    const message = missing
      ? '--jq needs the program jq, which is not on the PATH.'
      : `Cannot run jq: ${error.message}.`;
    throw new AnnealError('InvalidRequest', message, {
      cause: error,
      details: { remedy: 'Install jq, or use -o jsonpath=PATH.' },
    });
  }
  if (status !== 0) throw new AnnealError('InvalidRequest', `--jq ${expression}: ${stderr.trim()}`);
  return stdout;
}

/** A name, an index, or `*` for every value. */
type Step = string | number;
const oneStep = /^(?:\.?\[(?:(\d+)|(\*)|'([^']*)'|"([^"]*)")\]|\.?([\p{L}_$][\p{L}\p{N}_$-]*)|\.(\*))/u;

/** Names, `[0]`, `[*]` and quoted names, as kubectl has them, with or without `{…}` and `$`. */
export function readPath(text: string): Step[] {
  const bare = text
    .replace(/^\{(.*)\}$/s, '$1')
    .replace(/^\$/, '')
    .replace(/^\.$/, '');
  const steps: Step[] = [];
  for (let rest = bare; rest !== '';) {
    const found = oneStep.exec(rest);
    if (!found) {
      throw new AnnealError(
        'InvalidRequest',
        `Cannot read the path ${text} at "${rest}": a path has names, [0], [*] and ['a name'], e.g. [*].id`,
        { details: { remedy: 'Use --jq for filters and functions.' } },
      );
    }
    const [whole, index, star, single, double, name, dotStar] = found;
    steps.push(index === undefined ? (star ?? dotStar ?? single ?? double ?? name ?? '*') : Number(index));
    rest = rest.slice(whole.length);
  }
  return steps;
}

/** The values at the path; a step that a value does not have finds nothing. */
export function follow(steps: readonly Step[], value: unknown): unknown[] {
  return steps.reduce<unknown[]>(
    (values, step) =>
      values.flatMap((one): unknown[] => {
        if (typeof one !== 'object' || one === null) return [];
        if (step === '*') return Object.values(one);
        return Object.hasOwn(one, step) ? [(one as Record<string | number, unknown>)[step]] : [];
      }),
    [value],
  );
}

const textOf = (value: unknown): string => `${typeof value === 'string' ? value : JSON.stringify(value)}\n`;
