import { eventually } from '@anneal/runtime/testing.ts';

/** The result of work, during which the quick clock of the test moves. */
export async function whenSettled<T>(work: Promise<T>): Promise<T> {
  const outcome = work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  let found: Awaited<typeof outcome> | undefined;
  void outcome.then((each) => (found = each));
  const result = await eventually(async () => found, { what: 'the end of the request' });
  if ('error' in result) throw result.error;
  return result.value;
}
