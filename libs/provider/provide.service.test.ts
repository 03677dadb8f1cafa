import { AnnealError } from '@anneal/contracts/errors.ts';
import { resourceCreate, resourceDelete, type ResourceResponse } from '@anneal/contracts/resource.ts';
import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import type { Collection } from '@anneal/store/port.ts';
import { createTimers, type Timers } from '@anneal/store/timers.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { draftOf, type Request } from './document.ts';
import {
  isWithdrawn,
  Provider,
  withdrawnResult,
  type Decision,
  type ProviderOptions,
  type WorkingDocument,
} from './provide.ts';

interface Thing extends WorkingDocument {
  readonly color?: string;
}
type Given = Partial<ProviderOptions<Thing>> & Pick<ProviderOptions<Thing>, 'work'>;

const replyto = 'anneal.scheduling.shard.0';
const later: Decision<Thing> = { kind: 'waiting', ms: 0 };
const done: Decision<Thing> = { kind: 'complete', physical_id: 'p' };

let context: TestContext;
let collection: Collection<Thing>;
let responses: { id: string; data: ResourceResponse }[];
const closers: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  context = await createTestContext({ name: 'scheduling' });
  collection = await context.store.collection<Thing>({ name: 'things', indexes: [] });
  responses = [];
  const heard = responses;
  const consumer = await context.bus.consume(replyto, async ({ message: { id, data } }) => {
    heard.push({ id, data: data as ResourceResponse });
  });
  closers.push(
    () => context.dispose(),
    () => consumer.stop(),
  );
});
afterEach(async () => {
  disarmFaults();
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(given: Given): Promise<Provider<Thing>> {
  let timers: Timers | undefined;
  const provider = new Provider<Thing>({
    context,
    collection,
    timers: () => timers as Timers,
    timerOf: ({ id }) => ({ id, data: id }),
    decide: () => Promise.resolve(later),
    ...given,
  });
  timers = await createTimers({
    store: context.store,
    collection: 'things_timers',
    permission: context.bus.permission,
    now: Date.now,
    onError: () => undefined,
    fire: ({ id }) => provider.wake(id),
  });
  const running = timers;
  closers.push(() => Promise.all([running.stop(), provider.stop()]));
  return provider;
}

const request = (fence: number, { seconds = 60, definition = resourceCreate } = {}): Request =>
  context.mint(definition, {
    id: `r:${fence}`,
    replyto,
    data: {
      resource: { id: 'r', name: 'r', type: 'X', physical_name: 'r' },
      stack: { id: 's', name: 's' },
      traversal: 't',
      fence,
      deadline: new Date(Date.now() + seconds * 1000).toISOString(),
      physical_id: null,
      properties: {},
      attributes: {},
    },
  });
const final = () =>
  eventually(() => responses.find(({ data }) => data.status !== 'in progress'), {
    what: 'a final response',
    last: () => responses,
  });

describe('a provider', () => {
  it('P3: repeats an attempt when another writer changed the document during it', async () => {
    const seen: (string | undefined)[] = [];
    const provider = await open({
      work: async (document) => {
        seen.push(document.color);
        if (seen.length === 1) await collection.replace({ ...draftOf(document), color: 'red' }, document.version);
        return done;
      },
    });
    await provider.take('create', request(1));
    expect((await final()).data.status).toBe('complete');
    expect(seen).toEqual([undefined, 'red']);
    expect(await collection.get('r')).toMatchObject({ phase: 'done', request: null, color: 'red' });
  });

  it('P3: drops the result of an attempt that a newer request overtook', async () => {
    const started = Promise.withResolvers<void>();
    const overtaken = Promise.withResolvers<void>();
    const provider = await open({
      guardMs: 60_000,
      work: async (document) => {
        if (document.fence === 2) return { kind: 'complete', physical_id: 'new' };
        started.resolve();
        await overtaken.promise;
        return { kind: 'complete', physical_id: 'old' };
      },
    });
    await provider.take('create', request(1));
    await started.promise;
    await provider.take('create', request(2));
    overtaken.resolve();
    await final();
    expect(responses.map(({ data }) => [data.fence, data.physical_id])).toEqual([[2, 'new']]);
  });

  it('P4: sends a recorded response when its timer fires, after a crash before it was sent', async () => {
    let attempts = 0;
    const provider = await open({
      work: () => {
        attempts += 1;
        return Promise.resolve(attempts === 1 ? { kind: 'waiting', ms: 1 } : done);
      },
    });
    let crashes = 0;
    armFault('provider.answered', () => {
      crashes += 1;
      if (crashes === 1) throw new Error('a crash');
    });
    await provider.take('create', request(1));
    expect(await final()).toMatchObject({ id: 'r:1:complete', data: { physical_id: 'p' } });
    expect({ attempts, crashes }).toEqual({ attempts: 2, crashes: 2 });
  });

  it('P5: reports progress only when it changed, with an id for each report', async () => {
    const steps = ['a', 'a', 'b'];
    const provider = await open({
      work: () => {
        const message = steps.shift();
        return Promise.resolve(message === undefined ? done : { kind: 'waiting', ms: 1, message });
      },
    });
    await provider.take('create', request(1));
    await final();
    expect(responses.map(({ id, data }) => [id, data.message])).toEqual([
      ['r:1:in progress:1', 'a'],
      ['r:1:in progress:2', 'b'],
      ['r:1:complete', undefined],
    ]);
  });

  it('P5: counts on from the reports that an earlier version stored', async () => {
    const steps = ['a', 'b'];
    const provider = await open({
      work: () => {
        const message = steps.shift();
        return Promise.resolve(message === undefined ? done : { kind: 'waiting', ms: 1, message });
      },
    });
    const earlier = { phase: 'working', request: request(1), response: null, attempts: 2, action: 'create', fence: 1 };
    const said = { said: 'a', said_id: null, said_count: 2 };
    await collection.insert({ id: 'r', ...earlier, ...said } as unknown as Thing);
    await provider.wake('r');
    await final();
    expect(responses.map(({ id, data }) => [id, data.message])).toEqual([
      ['r:1:in progress:3', 'b'],
      ['r:1:complete', undefined],
    ]);
  });

  it('P6: attempts again after an error that may pass, and fails at the deadline with that error', async () => {
    let attempts = 0;
    const provider = await open({
      work: () => {
        attempts += 1;
        throw new AnnealError('Unavailable', 'The controller does not answer.');
      },
    });
    await provider.take('create', request(1, { seconds: 1 }));
    const { data } = await final();
    expect(data).toMatchObject({ status: 'failed', error: { code: 'Unavailable' } });
    expect(data.error?.message).toMatch(/deadline.*The controller does not answer/);
    expect(attempts).toBeGreaterThan(1);
  });

  it('P7: fails a withdrawn request whose work has not begun, and completes the others', async () => {
    const begun = new Set(['a']);
    const provider = await open({
      work: (document, { data: { resource } }) => {
        if (isWithdrawn(document) && !begun.has(resource.id)) {
          return Promise.resolve(withdrawnResult(`${resource.name} was not begun`));
        }
        return Promise.resolve(isWithdrawn(document) ? done : { kind: 'waiting', ms: null });
      },
    });
    for (const id of ['a', 'b']) {
      const asked = request(1);
      const of = { ...asked, data: { ...asked.data, resource: { ...asked.data.resource, id } } };
      const early = provider.withdraw(of, { last: false });
      await expect(early).rejects.toMatchObject({ code: 'Unavailable' });
      await provider.withdraw(of, { last: true });
      await provider.take('create', of);
      for (let repeat = 0; repeat < 2; repeat += 1) await provider.withdraw(of, { last: false });
    }
    const ended = await eventually(() => (responses.length >= 2 ? responses : undefined), { what: 'both answers' });
    expect(new Map(ended.map(({ data }) => [data.resource_id, data.error?.code]))).toEqual(
      new Map([
        ['a', undefined],
        ['b', 'Cancelled'],
      ]),
    );
  });

  it('fails at once after an error that stays', async () => {
    const provider = await open({
      work: () => {
        throw new AnnealError('NotSupported', 'There is no such color.');
      },
    });
    await provider.take('create', request(1));
    expect((await final()).data).toMatchObject({ status: 'failed', error: { code: 'NotSupported' } });
    expect(responses).toHaveLength(1);
  });

  it('removes a document that it forgets, after the response', async () => {
    const provider = await open({ work: () => Promise.resolve(done), forgets: ({ action }) => action === 'delete' });
    await provider.take('create', request(1));
    expect(await collection.get('r')).toMatchObject({ phase: 'done' });
    await provider.take('delete', request(2, { definition: resourceDelete }));
    expect(await collection.get('r')).toBeUndefined();
    await eventually(() => responses.find(({ data }) => data.fence === 2));
  });

  it('P8: quotes no hidden property in a report, an error or the document', async () => {
    const asked = request(1);
    const zone = context.secrets.seal('zone-of-mine');
    const provider = await open({
      work: async ({ attempts }) => {
        if (attempts === 0) return { kind: 'waiting', ms: 0, message: 'no node in zone-of-mine' };
        const { reported } = (await collection.get('r')) ?? {};
        expect(reported?.message).toBe('no node in ******');
        throw new AnnealError('InvalidRequest', 'there is no zone-of-mine');
      },
    });
    await provider.take('create', { ...asked, data: { ...asked.data, properties: { zone } } });
    expect((await final()).data.error).toMatchObject({ code: 'InvalidRequest', message: 'there is no ******' });
    expect(JSON.stringify([responses, await collection.get('r')])).not.toContain('zone-of-mine');
  });

  it('rejects a request that names no queue for the response', async () => {
    const provider = await open({ work: () => Promise.resolve(done) });
    const { replyto: _, ...rest } = request(1);
    await expect(provider.take('create', rest)).rejects.toMatchObject({ code: 'InvalidMessage' });
    expect(await collection.get('r')).toBeUndefined();
  });
});
