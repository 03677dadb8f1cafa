/** Runs one command line and returns its exit status. Prints every error as text. */
import { basename } from 'node:path';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { CommanderError } from '@commander-js/extra-typings';
import type { CliContext } from './context.ts';
import { exitCodeOf, exitCodes, StackFailed } from './exit.ts';
import { describeFailedStack } from './print/failed-stack.ts';
import { describeError } from './print/failure.ts';
import { buildProgram } from './program.ts';

export async function runCommand(parameters: {
  context: CliContext;
  words: readonly string[];
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
}): Promise<number> {
  const { context, words, stdout, stderr } = parameters;
  const { output, interrupt } = context;
  try {
    await buildProgram(context, { stdout, stderr }).parseAsync([...words], { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.refused;
    if (interrupt.aborted) return exitCodes.interrupted;
    if (error instanceof StackFailed) {
      for (const line of describeFailedStack(error.failed, output.colors)) output.note(line);
      return exitCodes.failed;
    }
    // An error without an Anneal code is a defect of this program, so show its stack trace.
    const known = error instanceof AnnealError ? error : undefined;
    const shown =
      known ?? new AnnealError('Defect', error instanceof Error ? (error.stack ?? error.message) : String(error));
    for (const line of describeError(shown, { colors: output.colors, file: templateOf(words) })) output.note(line);
    return exitCodeOf(error);
  }
}

/** The template that the command line names, because mistakes of the template itself contain no file. */
function templateOf(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => word === '-t' || word === '--template');
  const file = at >= 0 ? words[at + 1] : words[0] === 'template' ? words[2] : undefined;
  return file === undefined
    ? words.find((word) => word.startsWith('--template='))?.slice('--template='.length)
    : shorten(file);
}

const shorten = (file: string): string => (file.includes('://') || file.length > 60 ? basename(file) : file);
