/**
 * Formats an error for all commands: what failed, on what, why, each mistake with its place, and what to do.
 * For a failed script it adds host, config, exit status and standard error.
 */
import { errorTable, isErrorCode, type AnnealError, type Failure, type Mistake } from '@anneal/contracts/errors.ts';
import type { Colors } from '../output.ts';

interface Style {
  colors: Colors;
  /** The file for mistakes without one: the template that was sent. */
  file?: string | undefined;
  /** The environment files that were sent: the server knows their order, not their names. */
  environments?: readonly string[];
  /** Instead of the remedy of the error table, which knows no command. */
  remedy?: string | undefined;
}

export function describeError(error: AnnealError, style: Style): string[] {
  const failure: Failure = {
    code: error.code,
    message: error.message,
    ...(error.mistakes && { mistakes: [...error.mistakes] }),
    ...(error.details && { details: { ...error.details } }),
  };
  return describeFailure(failure, style);
}

export function describeFailure(failure: Failure, style: Style): string[] {
  const { colors } = style;
  const remedy = remedyOf(failure, style);
  const { headline, rest } = splitMessage(failure, style);
  return [
    `${colors.red(colors.bold('Error:'))} ${headline} ${colors.dim(`(${failure.code})`)}`,
    ...rest.map((line) => `  ${line}`),
    ...mistakesBesides(headline, failure)
      .toSorted(byPlace)
      .map((mistake) => `  ${describeMistake(mistake, style)}`),
    ...describeDetails(failure.details ?? {}, colors).map((line) => `  ${line}`),
    ...(remedy === undefined ? [] : [`${colors.cyan('Remedy:')} ${remedy}`]),
  ];
}

/** The remedy in the failure, else that of the error table, unless that refers to a missing list. */
function remedyOf({ remedy, details, code, mistakes }: Failure, style: Style): string | undefined {
  if (typeof details?.['remedy'] === 'string') return details['remedy'];
  if (remedy !== undefined) return remedy;
  if (!isErrorCode(code) || (code === 'InvalidRequest' && !mistakes?.length)) return undefined;
  return style.remedy ?? errorTable[code].remedy;
}

/** Splits off the further lines of a message. Drops them when the failure lists its mistakes, to avoid repetition. */
function splitMessage({ message, mistakes = [] }: Failure, { file }: Style): { headline: string; rest: string[] } {
  const [first = '', ...lines] = message.split('\n');
  if (mistakes.length === 0) return { headline: first, rest: lines.filter((line) => line.trim() !== '') };
  // The server's message has Heat's form: one of the mistakes, which is not the first of the list.
  const isOneOfMany = / \(and \d+ more\)$/.test(first);
  const count = `${mistakes.length} mistakes${file === undefined ? '' : ` in ${file}`}`;
  return { headline: isOneOfMany ? count : first, rest: [] };
}

/** A single mistake without a place is often the headline itself. */
const mistakesBesides = (headline: string, { mistakes = [] }: Failure): readonly Mistake[] =>
  mistakes.filter(({ message, line, nearest }) => {
    const isSaid = mistakes.length === 1 && line === undefined && nearest === undefined && headline.includes(message);
    return !isSaid;
  });

/** Orders mistakes by file and position. Those without a place come first. */
const byPlace = (a: Mistake, b: Mistake): number =>
  (a.file ?? '').localeCompare(b.file ?? '') || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);

export function describeMistake(mistake: Mistake, { colors, file, environments = [] }: Style): string {
  const [isEnvironment, number = 1] = /^environment(?: (\d+))?$/.exec(mistake.file ?? '') ?? [];
  const sent = isEnvironment === undefined ? undefined : environments[Number(number) - 1];
  // The value of a parameter is on the command line or in an environment, not in the template.
  const isGiven = mistake.line === undefined && mistake.path.startsWith('parameters.');
  const place = [sent ?? mistake.file ?? (isGiven ? undefined : file), mistake.line, mistake.column]
    .filter((part) => part !== undefined)
    .join(':');
  const where = place === '' ? '' : `${colors.bold(place)} `;
  // Do not repeat a path that the message contains. Omit a long list of valid values when the nearest one is known.
  const words = new Set(mistake.message.split(/[^\w:.-]+/).map((word) => word.replace(/[:.]+$/, '')));
  const isInMessage = mistake.path === mistake.file || (mistake.path.includes('.') && words.has(mistake.path));
  const path = isInMessage || mistake.path === '' ? '' : `${mistake.path}: `;
  const { expected, found, nearest } = mistake;
  const facts = [
    ...(expected === undefined || mistake.message.includes(expected) || (nearest !== undefined && expected.length > 60)
      ? []
      : [`expected ${expected}`]),
    ...(found === undefined || mistake.message.includes(found) ? [] : [`found ${found}`]),
    ...(nearest === undefined || words.has(nearest) ? [] : [`did you mean ${nearest}?`]),
  ];
  const tail = facts.length === 0 ? '' : ` (${facts.join('; ')})`;
  return `${where}${path}${mistake.message}${tail}`;
}

const streams: readonly (readonly [string, string])[] = [
  ['stderr', 'standard error'],
  ['stdout', 'standard output'],
];
const labels: Readonly<Record<string, string>> = {
  host: 'host',
  host_name: 'host',
  config: 'config',
  deployment: 'config',
  name: 'config',
  status_code: 'exit status',
  exit_status: 'exit status',
  node: 'node',
  deadline: 'deadline',
};

export function describeDetails(details: Readonly<Record<string, unknown>>, colors: Colors): string[] {
  const lines: string[] = [];
  for (const [key, label] of Object.entries(labels)) {
    const value = details[key];
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    lines.push(`${colors.dim(label.padEnd(12))}${value}`);
  }
  for (const [key, label] of streams) {
    const value = details[key];
    if (typeof value !== 'string' || value.trim() === '') continue;
    // Standard error explains the failure of a script. Show standard output only when standard error is empty.
    if (key === 'stdout' && typeof details['stderr'] === 'string' && details['stderr'].trim() !== '') continue;
    lines.push(
      colors.dim(`${label}:`),
      ...value
        .trimEnd()
        .split('\n')
        .map((line) => `${colors.dim('|')} ${line}`),
    );
  }
  return lines;
}
