/** Prints an error of a command, and decides the exit status. Loaded only for an error. */
import { basename } from 'node:path';
import { AnnealError, errorTable, type ErrorCode } from '@anneal/contracts/errors.ts';
import { fileFailure } from './options/files.ts';
import type { Noun } from './completion/complete.ts';
import type { CliContext } from './context.ts';
import { exitCodes, StackFailed } from './exit.ts';
import { describeFailedStack } from './print/failed-stack.ts';
import { describeError } from './print/failure.ts';

const refusals: ReadonlySet<ErrorCode> = new Set([
  'InvalidTemplate',
  'InvalidRequest',
  'NotSupported',
  'TooLarge',
  'QuotaExceeded',
]);

function exitCodeOf(error: unknown): number {
  if (error instanceof AnnealError) {
    return refusals.has(error.code) && errorTable[error.code].status < 500 ? exitCodes.refused : exitCodes.failed;
  }
  return exitCodes.failed;
}

/** Prints the error as text and returns the exit status. */
export async function reportError(error: unknown, context: CliContext): Promise<number> {
  const { output, words } = context;
  if (error instanceof StackFailed) {
    for (const line of describeFailedStack(error.failed, output.colors, error.wanted)) output.note(line);
    return exitCodes.failed;
  }
  // An error without an Anneal code is a defect of this program, so show its stack trace.
  const known = error instanceof AnnealError ? error : fileFailure(error);
  const shown =
    known ?? new AnnealError('Defect', error instanceof Error ? (error.stack ?? error.message) : String(error));
  const remedy = known?.code === 'NotFound' ? await listOf(known.message, words) : undefined;
  for (const line of describeError(shown, { colors: output.colors, remedy, ...filesOf(words) })) output.note(line);
  if (known?.code === 'NotFound') await suggest(known.message, context);
  return exitCodeOf(known);
}

/** Lists of objects that have no noun of their own, by the start of the error. */
const lists = [
  ['The execution ', 'workflow executions'],
  ['The cron trigger ', 'workflow schedules'],
] as const;

/** Names the command that lists what exists of the noun of a command line. It may be the stack that does not exist. */
async function listOf(message: string, given: readonly string[]): Promise<string | undefined> {
  const { describedCommands } = await import('./completion/described.ts');
  const words = given.filter((word) => !word.startsWith('-'));
  const nouns = new Map(describedCommands().map((one) => [one.name, one]));
  const [, missing = ''] = /^There is no (\S+) /.exec(message) ?? [];
  const noun = message.startsWith('The Stack (') ? 'stack' : nouns.has(missing) ? missing : (words[0] ?? '');
  const list = nouns.get(noun)?.commands.find(({ name }) => name === 'list');
  // A list of parts of a stack needs the stack, which is the first argument of each command of the noun.
  const needed = list?.arguments.some(({ usage }) => usage.startsWith('<')) ? ` ${words[2] ?? '<stack>'}` : '';
  const command = lists.find(([start]) => message.startsWith(start))?.[1] ?? (list && `${noun} list${needed}`);
  return command && `Check the name and the project. \`anneal ${command}\` shows what exists.`;
}

/** Loaded only for a name that does not exist, because it asks the server for those that do. */
async function suggest(message: string, context: CliContext): Promise<void> {
  const [{ suggestName }, { namesFor }] = await Promise.all([
    import('./completion/suggest.ts'),
    import('./completion/names.ts'),
  ]);
  const names = (noun: Noun, before: readonly string[]) => namesFor(noun, context, before);
  const name = await suggestName({ words: context.words, message, names });
  if (name !== undefined) context.output.note(`Did you mean ${name}?`);
}

/** The values of an option in a command line. */
const valuesOf = (words: readonly string[], short: string, long: string): string[] =>
  words.flatMap((word, at) => {
    const value = word === short || word === long ? words[at + 1] : word.split(`${long}=`, 2)[1];
    return value === undefined ? [] : [shorten(value)];
  });

/** The files that the command line names, because mistakes of what was sent do not contain their names. */
function filesOf(words: readonly string[]): { file?: string | undefined; environments: string[] } {
  const [template = words[0] === 'template' ? words[2] : undefined] = valuesOf(words, '-t', '--template');
  return { file: template && shorten(template), environments: valuesOf(words, '-e', '--environment') };
}

const shorten = (file: string): string => (file.includes('://') || file.length > 60 ? basename(file) : file);
