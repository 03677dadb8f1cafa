/** Uses a server that a command can do without. */
import { hasCode } from '@anneal/contracts/errors.ts';
import type { CliContext } from '../context.ts';

/** Undefined, with a note, when no server is configured or none answers. */
export async function ifReachable<T>({ output }: CliContext, connect: () => Promise<T>): Promise<T | undefined> {
  try {
    return await connect();
  } catch (error) {
    if (!hasCode(error, 'InvalidRequest', 'Unavailable')) throw error;
    output.note(
      'No server is available, so resource types of other providers are not known (--offline hides this warning).',
    );
    return undefined;
  }
}
