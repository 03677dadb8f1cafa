/** The same command for several objects: each gets its own result. */
import type { CliContext } from '../context.ts';
import { Reported } from '../exit.ts';

/**
 * Does it for each object in turn, and reports the error of one without leaving out the others. Returns the exit status
 * of the first error; undefined without one.
 */
export async function failureOfEach<T>(
  objects: readonly T[],
  context: CliContext,
  act: (object: T) => Promise<void>,
): Promise<number | undefined> {
  let status: number | undefined;
  for (const object of objects) {
    try {
      await act(object);
    } catch (error) {
      if (context.interrupt.aborted) throw error;
      const { reportError } = await import('../report-error.ts');
      const own = await reportError(error, context);
      status ??= own;
    }
  }
  return status;
}

/** @throws Reported with the exit status of the first error, after the last object */
export async function forEachOf<T>(
  objects: readonly T[],
  context: CliContext,
  act: (object: T) => Promise<void>,
): Promise<void> {
  const status = await failureOfEach(objects, context, act);
  if (status !== undefined) throw new Reported(status);
}
