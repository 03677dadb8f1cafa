/** Groups values that arrive while their reader is busy. */

/** The most values that wait for a reader. The source is not read further until the reader takes them. */
const mostWaiting = 1_000;

/**
 * Yields groups of values in order, each with at least one: everything that arrived while the reader handled the group
 * before. Ends when the source ends; throws the error of the source after the values before it. `end` stops the source
 * when the reader leaves.
 */
export async function* inBatches<T>(
  source: AsyncIterable<T>,
  end: () => void,
): AsyncGenerator<readonly T[], void, undefined> {
  let waiting: T[] = [];
  let arrived = Promise.withResolvers<void>();
  let taken = Promise.withResolvers<void>();
  let isLeft = false;
  let isAtEnd = false;
  const reading = (async (): Promise<void> => {
    for await (const value of source) {
      waiting.push(value);
      arrived.resolve();
      if (waiting.length >= mostWaiting) await taken.promise;
      if (isLeft) return;
    }
  })();
  const wake = (): void => {
    isAtEnd = true;
    arrived.resolve();
  };
  // An error is reported below, after the values before it.
  reading.then(wake, wake);
  try {
    for (;;) {
      await arrived.promise;
      const batch = waiting;
      waiting = [];
      // At the end it stays resolved, because nothing else arrives.
      if (!isAtEnd) arrived = Promise.withResolvers();
      taken.resolve();
      taken = Promise.withResolvers();
      if (batch.length > 0) yield batch;
      else if (isAtEnd) break;
    }
    await reading;
  } finally {
    isLeft = true;
    taken.resolve();
    end();
  }
}
