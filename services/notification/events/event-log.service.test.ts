import { hostEvent } from '@anneal/contracts/events.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import type { BulkOperation, Collection, CollectionDefinition, Document, Query, Store } from '@anneal/store/port.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EventLog, type EventDocument } from './event-log.ts';

let context: TestContext;
/** The error of each next write, by the ids that it has. */
let failure: (ids: readonly string[]) => Error | undefined;
let writes: string[][];
let failures: unknown[];
/** How many documents were read. */
let read: number;
let log: EventLog;

const withFailures = (store: Store): Store => ({
  ...store,
  collection: async <T extends Document>(definition: CollectionDefinition): Promise<Collection<T>> => {
    const collection = await store.collection<T>(definition);
    return Object.assign(collection, {
      find: ((find) => async (query: Query) => {
        const found = await find(query);
        read += found.length;
        return found;
      })(collection.find.bind(collection)),
      bulk: ((bulk) => (operations: readonly BulkOperation<T>[]) => {
        const ids = operations.flatMap((each) => (each.kind === 'insert' ? [each.document.id] : []));
        const error = failure(ids);
        writes.push(ids);
        return error ? Promise.reject(error) : bulk(operations);
      })(collection.bulk.bind(collection)),
    });
  },
});

beforeEach(async () => {
  context = await createTestContext({ name: 'notification' });
  failure = () => undefined;
  writes = [];
  failures = [];
  read = 0;
  log = await EventLog.open({
    store: withFailures(context.store),
    keep: 1000,
    keepMs: 1e12,
    now: () => context.now().getTime(),
    onKept: () => Promise.resolve(),
    onTrim: () => Promise.resolve(),
    onTrimFailed: (error) => failures.push(error),
    onAppendFailed: (error) => failures.push(error),
  });
});
afterEach(async () => {
  await log.stop();
  await context.dispose();
});

const append = (id: string): Promise<void> => {
  const data = { origin: unknownOrigin(), host_id: 'h', name: 'h', status: 'up' as const, facts: {}, version: 1 };
  return log.append(context.mint(hostEvent.up, { id, subject: 'h', project: 'p', data }));
};
/** At most 2,000. */
const stored = async (): Promise<string[]> => {
  const { events } = await log.read({
    project: 'p',
    after: 0,
    filter: { types: ['#'], subject_prefix: '' },
    limit: 2000,
  });
  return events.map(({ id }: EventDocument) => id);
};

it('L5: stores events of one subject that arrive together in one write, in their order', async () => {
  const ids = Array.from({ length: 50 }, (_, index) => `e${index}`);
  await Promise.all(ids.map(append));
  expect(writes).toEqual([ids]);
  expect(await stored()).toEqual(ids);
});

it('L5: keeps the order when the store is away for a while', async () => {
  let isAway = true;
  failure = () => (isAway ? new AnnealError('Unavailable', 'no store') : undefined);
  const first = [append('a'), append('b')];
  await eventually(() => (failures.length > 0 ? true : undefined), { what: 'a failed write' });
  const later = append('c');
  await eventually(() => (failures.length > 1 ? true : undefined), { what: 'a second attempt' });
  isAway = false;
  await Promise.all([...first, later]);
  expect(await stored()).toEqual(['a', 'b', 'c']);
});

it('L5: refuses alone an event that can never be stored', async () => {
  failure = (ids) => (ids.includes('b') ? new TypeError('b is broken') : undefined);
  const outcomes = await Promise.allSettled(['a', 'b', 'c', 'd'].map(append));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(await stored()).toEqual(['a', 'c', 'd']);
});

it('L5: refuses what it cannot store when it stops', async () => {
  failure = () => new AnnealError('Unavailable', 'no store');
  const outcome = append('a').catch((error: unknown) => error);
  await eventually(() => (failures.length > 0 ? true : undefined), { what: 'a failed write' });
  await log.stop();
  expect(await outcome).toMatchObject({ code: 'Unavailable' });
});

it('reads one event, and no page, to find that none is too old', async () => {
  await Promise.all(Array.from({ length: 900 }, (_, index) => append(`e${index}`)));
  expect(read).toBeLessThan(5);
});

it('L4: removes the oldest events beyond the limit', async () => {
  for (let page = 0; page < 3; page += 1) {
    await Promise.all(Array.from({ length: 600 }, (_, index) => append(`e${page * 600 + index}`)));
  }
  const left = await eventually(
    async () => {
      const ids = await stored();
      return ids[0] === 'e0' ? undefined : ids;
    },
    { what: 'removed events' },
  );
  expect(left.at(-1)).toBe('e1799');
});

it('reads backwards from an event, and nothing before one that the log has removed', async () => {
  const ids = Array.from({ length: 9 }, (_, index) => `e${index}`);
  await Promise.all(ids.map(append));
  const before = async (id: string, limit: number): Promise<string[]> => {
    const filter = { types: ['#'], subject_prefix: '' };
    return (await log.newest({ project: 'p', filter, limit, before: id })).map(({ event }) => event.id);
  };
  expect(await before('e7', 3)).toEqual(['e4', 'e5', 'e6']);
  expect(await before('e2', 3)).toEqual(['e0', 'e1']);
  expect(await before('e0', 3)).toEqual([]);
  expect(await before('019b0000-0000-7000-8000-000000000000', 3)).toEqual([]);
  await expect(before('no event', 3)).rejects.toThrow('this is no id of an event');
});
