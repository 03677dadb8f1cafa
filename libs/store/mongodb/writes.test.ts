import { describe, expect, it } from 'vitest';
import type { Operation } from './operation.ts';
import { type RunStep, WriteQueue } from './writes.ts';

const put = (id: string): Operation => ({ kind: 'put', id, version: undefined, text: '{}', keys: {}, write: id });

const queueOf = (runStep: RunStep): WriteQueue => new WriteQueue({ runStep, tied: () => false, deadlineMs: () => 500 });

describe('the queue of writes', () => {
  it('Q5: sends the writes behind a command that the driver never ends', async () => {
    const queue = queueOf(async (operations, report) => {
      if (operations.some(({ id }) => id === 'lost')) return new Promise(() => undefined);
      for (const operation of operations) report(operation, { outcome: 'done' });
    });
    const lost = queue.write([put('lost')]);
    await expect.poll(() => queue.pending()).toMatch(/^update of a document, pending for \d s$/);
    const behind = lost.then(() => queue.write([put('next')]));
    await expect(lost).resolves.toMatchObject([
      { error: { code: 'Unavailable', message: expect.stringContaining('did not end update of a document') } },
    ]);
    await expect(behind).resolves.toEqual([{ outcome: 'done' }]);
    await queue.settled();
    expect(queue.pending()).toBeUndefined();
  });
});
