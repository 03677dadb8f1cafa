import { expect, it } from 'vitest';
import { SharedReads } from './shared-reads.ts';

/** A reading that ends when the test says so. */
const controlled = () => {
  const ends: ((value: string) => void)[] = [];
  const fails: ((error: Error) => void)[] = [];
  return {
    ends,
    fails,
    work: () =>
      new Promise<string>((resolve, reject) => {
        ends.push(resolve);
        fails.push(reject);
      }),
  };
};

it('R1: requests that come during a reading share the next one, which begins after them', async () => {
  const { work, ends } = controlled();
  const reads = new SharedReads<string>();
  const first = reads.read('list', work);
  const later = [reads.read('list', work), reads.read('list', work)];
  expect(ends).toHaveLength(1);
  ends[0]?.('before the change');
  expect(await first).toBe('before the change');
  await Promise.resolve();
  expect(ends).toHaveLength(2);
  const last = reads.read('list', work);
  ends[1]?.('after the change');
  expect(await Promise.all(later)).toEqual(['after the change', 'after the change']);
  await Promise.resolve();
  expect(ends).toHaveLength(3);
  ends[2]?.('at the end');
  expect(await last).toBe('at the end');
});

it('reads again after a reading has ended, and apart for another key', async () => {
  const { work, ends } = controlled();
  const reads = new SharedReads<string>();
  const [a, b] = [reads.read('a', work), reads.read('b', work)];
  ends[0]?.('a');
  ends[1]?.('b');
  expect([await a, await b]).toEqual(['a', 'b']);
  const again = reads.read('a', work);
  ends[2]?.('a again');
  expect(await again).toBe('a again');
});

it('begins the next reading also after a failed one', async () => {
  const { work, ends, fails } = controlled();
  const reads = new SharedReads<string>();
  const first = reads.read('list', work);
  const next = reads.read('list', work);
  fails[0]?.(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  await Promise.resolve();
  ends[1]?.('there');
  expect(await next).toBe('there');
});
