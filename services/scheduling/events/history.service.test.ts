import { afterEach, describe, expect, it } from 'vitest';
import type { EventRecord } from '@anneal/convergence/protocol.ts';
import { createTestContext } from '@anneal/runtime/testing.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import { openSchedulingCollections } from '../collections.ts';
import { eventsIn, runsOf, shelvesOf, type StoredEvent } from './event-runs.ts';
import { History } from './history.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const event = (name: string, reason = ''): EventRecord => ({
  resource_id: `id of ${name}`,
  resource_name: name,
  resource_type: 'OS::Heat::Value',
  physical_id: null,
  action: 'CREATE',
  status: 'COMPLETE',
  reason,
  object_version: 1,
});

/** Wraps a collection and counts the documents that are read. */
function watched<T extends Document>(collection: Collection<T>): { collection: Collection<T>; read: () => number } {
  let read = 0;
  const counted = async (found: Promise<T[]>): Promise<T[]> => {
    read += (await found).length;
    return found;
  };
  return {
    collection: {
      ...collection,
      find: (query) => counted(collection.find(query)),
      getMany: (ids) => counted(collection.getMany(ids)),
    },
    read: () => read,
  };
}

/** Stores the steps of one stack in the same way as `perform.ts`. */
async function kept(steps: readonly (readonly EventRecord[])[]) {
  const context = await createTestContext({ name: 'scheduling' });
  cleanups.push(() => context.dispose());
  const collections = await openSchedulingCollections(context.store);
  const all: StoredEvent[] = [];
  for (const [index, events] of steps.entries()) {
    const stack = { id: 's', name: 'stack', event_sequence: all.length + events.length };
    const runs = runsOf({ stack, time: new Date(index * 1000).toISOString(), events });
    for (let time = 0; time < 2; time += 1) {
      await collections.events.bulk(runs.map((document) => ({ kind: 'insert', document })));
      await collections.shelves.bulk(shelvesOf(runs).map((document) => ({ kind: 'insert', document })));
    }
    all.push(...runs.flatMap(eventsIn));
  }
  const runs = watched(collections.events);
  const shelves = watched(collections.shelves);
  const history = new History({ events: runs.collection, shelves: shelves.collection });
  return { all, history, documents: () => runs.read() + shelves.read() };
}

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `r${index}`);

/** Small steps, steps of one resource, and steps of many resources. */
const mixture = [
  [event('stack', 'began')],
  names(400).flatMap((name) => [event(name, 'a'), event(name, 'b')]),
  [event('r1'), event('r1'), event('r2')],
  names(5).map((name) => event(name)),
  Array.from({ length: 600 }, () => event('r3')),
  [event('__proto__')],
  ...names(40).map((name) => [event(name, 'later')]),
  names(300).map((name) => event(name)),
];

describe('the events of a stack', () => {
  it('E1, E2: have numbers without gaps and unique ids, and storing them again changes neither', async () => {
    const { all, history } = await kept(mixture);
    const read = await history.read({ stackId: 's', descending: false });
    expect(read.map(({ sequence }) => sequence)).toEqual(all.map((_, index) => index + 1));
    expect(new Set(read.map(({ id }) => id)).size).toBe(all.length);
    expect(read.map(({ resource_name: name, reason }) => `${name} ${reason}`)).toEqual(
      mixture.flat().map(({ resource_name: name, reason }) => `${name} ${reason}`),
    );
  });

  it('are read page by page, in both directions, for all resources or one, from any marker', async () => {
    const { all, history } = await kept(mixture);
    for (const resource of [undefined, 'stack', 'r1', 'r3', 'r399', '__proto__', 'absent']) {
      for (const descending of [false, true]) {
        const wanted = all.filter(({ resource_name: name }) => resource === undefined || name === resource);
        if (descending) wanted.reverse();
        for (const limit of [7, 250, 1000]) {
          const pages: StoredEvent[] = [];
          for (let more = true; more;) {
            const marker = pages.at(-1)?.id;
            const page = await history.read({ stackId: 's', resource, descending, limit, marker });
            pages.push(...page);
            more = page.length === limit;
          }
          expect(pages).toEqual(wanted);
        }
        const last = wanted.at(-1);
        if (!last) continue;
        expect(await history.read({ stackId: 's', resource, descending, marker: last.id })).toEqual([]);
      }
    }
  });

  it('E3: are read without the runs that cannot contain a match', async () => {
    const steps = Array.from({ length: 10 }, () => names(5000).flatMap((name) => [event(name), event(name)]));
    const { all, history, documents } = await kept(steps);
    const costs = async (question: Partial<Parameters<History['read']>[0]>): Promise<number> => {
      const before = documents();
      await history.read({ stackId: 's', descending: false, ...question });
      return documents() - before;
    };
    // Each step has forty runs and 32 shelves.
    expect(await costs({ limit: 100 })).toBe(1);
    expect(await costs({ limit: 100, descending: true })).toBe(1);
    expect(await costs({ limit: 100, marker: all[50_000]?.id })).toBeLessThanOrEqual(2);
    expect(await costs({ resource: 'r4711' })).toBe(20);
    expect(await costs({ resource: 'r4711', limit: 2, descending: true })).toBe(12);
    expect(await costs({ resource: 'absent' })).toBeLessThanOrEqual(10);
  });

  it('E3: of a resource with hundreds of events are read one page at a time', async () => {
    const { all, history, documents } = await kept(Array.from({ length: 400 }, () => [event('signalled')]));
    const page = { stackId: 's', resource: 'signalled', limit: 20 };
    expect(await history.read({ ...page, descending: false, marker: all[199]?.id })).toEqual(all.slice(200, 220));
    expect(await history.read({ ...page, descending: true })).toEqual(all.slice(-20).reverse());
    expect(documents()).toBeLessThanOrEqual(60);
  });

  it('E4: are read from the start when the marker is not an event of the stack', async () => {
    const { all, history } = await kept([[event('a'), event('b')]]);
    for (const marker of ['', 'nonsense', '01a1ffc4-c588-752d-97c4-7d624ebcb739']) {
      expect(await history.read({ stackId: 's', descending: false, marker })).toEqual(all);
    }
  });
});
