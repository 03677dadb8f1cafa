import { describe, expect, it } from 'vitest';
import { createTestContext } from '@anneal/runtime/testing.ts';
import { openSchedulingCollections } from '../collections.ts';
import { appendRecord, closeRecord, type JournalRecord } from './journal.ts';
import { createInbox } from '../shards/inbox.ts';

const record = { inputs: [], resources: [], removed: [], events: [], effects: [] } as unknown as JournalRecord;

describe('the journal', () => {
  it('J1: accepts only one of two records from the same state, also after that record is closed', async () => {
    const context = await createTestContext({ name: 'scheduling' });
    const { journal } = await openSchedulingCollections(context.store);
    const entry = { stackId: 's', shard: 0, record };
    const first = await appendRecord(journal, undefined, entry);
    expect(await appendRecord(journal, undefined, entry)).toBeUndefined();
    if (!first) throw new Error('the first record was refused');
    const closed = await closeRecord(journal, first);
    expect(closed).toMatchObject({ open: false, record: null, sequence: 1 });
    expect(await appendRecord(journal, first, entry)).toBeUndefined();
    expect(await appendRecord(journal, closed, entry)).toMatchObject({ sequence: 2, open: true });
    await context.dispose();
  });
});

describe('the inbox', () => {
  it('H1: takes all messages of a stack together, one batch at a time', async () => {
    const taken: string[][] = [];
    const inbox = createInbox<string>(async (_key, items) => {
      taken.push([...items]);
      await Promise.resolve();
    });
    await Promise.all([inbox.put('a', '1'), inbox.put('a', '2'), inbox.put('a', '3')]);
    expect(taken).toEqual([['1', '2', '3']]);
  });

  it('handles the other items when one cannot be handled', async () => {
    const inbox = createInbox<string>((_key, items) =>
      items.includes('bad') ? Promise.reject(new Error('bad')) : Promise.resolve(),
    );
    const results = await Promise.allSettled([inbox.put('a', 'good'), inbox.put('a', 'bad'), inbox.put('a', 'fine')]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });
});
