/** Runs one command line and returns its exit status. Prints every error as text. */
import { setTimeout as delay } from 'node:timers/promises';
import { CommanderError, InvalidArgumentError } from '@commander-js/extra-typings';
import type { CliContext } from './context.ts';
import { Declined, exitCodes, Reported } from './exit.ts';
import { buildProgram } from './program.ts';

/** The time between two views of `--watch`. */
const watchMs = 2000;

/** Whether the server may answer again, as after a restart. Without the class of the error, which `--help` does not load. */
const isPassing = (error: unknown): error is Error =>
  error instanceof Error && 'kind' in error && error.kind === 'retry';

export async function runCommand(parameters: {
  context: CliContext;
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
}): Promise<number> {
  const { context, stdout, stderr } = parameters;
  const { words } = context;
  try {
    const program = await buildProgram(context, { stdout, stderr }, words);
    const watch = { isOn: false };
    program.hook('postAction', (_, command) => {
      watch.isOn = command.getOptionValue('watch') === true;
    });
    await program.parseAsync([...words], { from: 'user' });
    while (watch.isOn) {
      await delay(watchMs, undefined, { signal: context.interrupt });
      await program.parseAsync([...words], { from: 'user' }).catch((error: unknown) => {
        if (!isPassing(error)) throw error;
        context.output.note(`${error.message} Retrying.`);
      });
    }
    return exitCodes.done;
  } catch (error) {
    // An action has refused a value. Commander prints only what its own parsers refuse.
    if (error instanceof InvalidArgumentError) context.output.note(`Error: ${error.message}`);
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.refused;
    if (context.interrupt.aborted) return exitCodes.interrupted;
    if (error instanceof Reported) return error.status;
    if (error instanceof Declined) {
      context.output.note('Nothing was changed.');
      return exitCodes.failed;
    }
    const { reportError } = await import('./report-error.ts');
    return reportError(error, context);
  }
}
