import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { randomUUID } from 'node:crypto';
import * as hostCalls from '@anneal/contracts/calls/hosts.ts';
import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createRig, project, type Rig } from '../testing/running-service.ts';

useQuickClock({ stepMs: 20 });

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.dispose());

const queue = 'q1';
const post = (bodies: Json[], more: { queue?: string; client_id?: string; ttl?: number } = {}) =>
  rig.ask(queueCalls.queuePost, {
    project,
    queue: more.queue ?? queue,
    client_id: more.client_id ?? 'me',
    messages: bodies.map((body) => ({ body, ttl: more.ttl ?? 300 })),
  });
const list = (more: Record<string, unknown> = {}) =>
  rig.ask(queueCalls.queueMessages, {
    project,
    queue,
    include_claimed: false,
    echo: true,
    client_id: 'me',
    ...more,
  });
const claim = (more: Record<string, unknown> = {}) =>
  rig.ask(queueCalls.queueClaim, { project, queue, ttl: 60, grace: 60, ...more });
const bodies = (answer: { messages: { body: Json }[] }): Json[] => answer.messages.map((message) => message.body);

describe('a queue', () => {
  it('is created by the first post and returns messages in order', async () => {
    await expect(rig.ask(queueCalls.queueShow, { project, queue })).rejects.toMatchObject({ code: 'NotFound' });
    await post([1, 2]);
    await post([3]);
    expect(bodies(await list())).toEqual([1, 2, 3]);
    expect(await rig.ask(queueCalls.queueShow, { project, queue })).toMatchObject({ total: 3, claimed: 0, free: 3 });
  });

  it('shows the size limit of its posts, also before its first message when the client asks for it', async () => {
    const larger = await createRig({ environment: { ANNEAL_CONFIGURATION_POST_BYTES: '524288' } });
    onTestFinished(() => larger.dispose());
    const absent = await larger.ask(queueCalls.queueShow, { project, queue, or_empty: true });
    expect(absent).toMatchObject({ name: queue, total: 0, metadata: {}, post_bytes: 524_288 });
    await larger.ask(queueCalls.queueCreate, { project, queue });
    expect(await larger.ask(queueCalls.queueShow, { project, queue })).toMatchObject({ post_bytes: 524_288 });
  });

  it('Q1: keeps the order of many posts at the same time, and loses none', async () => {
    await Promise.all(Array.from({ length: 30 }, (_, index) => post([index])));
    const found = bodies(await list({ limit: 100 }));
    expect(found.toSorted((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  it('is read page by page, and an empty page keeps its marker', async () => {
    await post([1, 2, 3]);
    const first = await list({ limit: 2 });
    expect(bodies(first)).toEqual([1, 2]);
    const second = await list({ limit: 2, marker: first.marker });
    expect(bodies(second)).toEqual([3]);
    const third = await list({ marker: second.marker });
    expect(bodies(third)).toEqual([]);
    expect(third.marker).toBe(second.marker);
    await expect(list({ marker: 'nonsense' })).rejects.toMatchObject({ code: 'InvalidRequest' });
  });

  it('is read from the id of a message on; after a deleted one the page is empty', async () => {
    await post([1, 2, 3]);
    const { messages } = await list();
    expect(bodies(await list({ marker: messages[0]?.id }))).toEqual([2, 3]);
    await rig.ask(queueCalls.queueMessageDelete, { project, queue, ids: [messages[1]?.id ?? ''] });
    expect(await list({ marker: messages[1]?.id })).toMatchObject({ messages: [] });
  });

  it('moves a message that was claimed too often to its dead-letter queue', async () => {
    const metadata = { _max_claim_count: 2, _dead_letter_queue: 'DLQ', _dead_letter_queue_messages_ttl: 90 };
    await rig.ask(queueCalls.queueCreate, { project, queue, metadata });
    await post([{ n: 1 }]);
    for (let turn = 0; turn < 2; turn += 1) {
      const { claim_id } = await claim();
      await rig.ask(queueCalls.queueClaimRelease, { project, queue, claim_id: claim_id ?? '' });
    }
    expect((await claim()).messages).toEqual([]);
    expect((await list({ queue: 'DLQ' })).messages).toMatchObject([{ body: { n: 1 }, ttl: 90 }]);
    expect(bodies(await list({ include_claimed: true }))).toEqual([]);
  });

  it('takes no more bytes at once than its metadata allow', async () => {
    await rig.ask(queueCalls.queueCreate, { project, queue, metadata: { _max_messages_post_size: 100 } });
    await post([{ n: 1 }]);
    await expect(post([{ text: 'x'.repeat(100) }])).rejects.toMatchObject({ code: 'TooLarge' });
    expect((await list()).messages).toMatchObject([{ body: { n: 1 } }]);
  });

  it('refuses metadata with a wrong queue name or number, and any metadata for a host', async () => {
    const { id } = await rig.host('web');
    const create = (name: string, metadata: Record<string, Json>) =>
      rig.ask(queueCalls.queueCreate, { project, queue: name, metadata });
    await expect(
      create(queue, {
        _max_messages_post_size: 10 ** 9,
        _max_claim_count: 0,
        _dead_letter_queue: 'q1',
        _dead_letter_queue_messages_ttl: 'x',
      }),
    ).rejects.toMatchObject({ code: 'InvalidRequest', mistakes: [{}, {}, {}, {}] });
    await expect(create(queue, { _dead_letter_queue: `host.${id}.requests` })).rejects.toMatchObject({
      code: 'InvalidRequest',
    });
    await expect(create(`host.${id}.requests`, { _max_claim_count: 1 })).rejects.toMatchObject({
      mistakes: [{ path: '_max_claim_count' }],
    });
  });

  it('shows a client its own messages only on request', async () => {
    await post([1], { client_id: 'me' });
    await post([2], { client_id: 'you' });
    expect(bodies(await list({ echo: false }))).toEqual([2]);
    expect(bodies(await list({ echo: true }))).toEqual([1, 2]);
  });

  it('refuses a post over 256 KiB', async () => {
    await expect(post(['x'.repeat(257 * 1024)])).rejects.toMatchObject({
      code: 'TooLarge',
      message: expect.stringContaining('Max size 262144 (ANNEAL_CONFIGURATION_POST_BYTES)') as string,
    });
  });

  it('pops the first unclaimed messages, each once', async () => {
    await post([1, 2, 3]);
    await claim({ limit: 1 });
    const popped = await rig.ask(queueCalls.queueMessageDelete, { project, queue, pop: 5 });
    expect(bodies(popped)).toEqual([2, 3]);
    expect(bodies(await list({ include_claimed: true }))).toEqual([1]);
  });

  it('is listed by name, and deleted with its messages', async () => {
    await post([1], { queue: 'b' });
    await post([1], { queue: 'a' });
    const names = async () => (await rig.ask(queueCalls.queueList, { project })).queues.map((each) => each.name);
    expect(await names()).toEqual(['a', 'b']);
    await rig.ask(queueCalls.queueDelete, { project, queue: 'a' });
    expect(await names()).toEqual(['b']);
    const page = await rig.ask(queueCalls.queueList, { project, marker: 'b' });
    expect(page.queues).toEqual([]);
  });
});

describe('a claim', () => {
  it('C1: gives each message to one of many simultaneous claims', async () => {
    await post(Array.from({ length: 20 }, (_, index) => index));
    const claims = await Promise.all(Array.from({ length: 10 }, () => claim({ limit: 3 })));
    const taken = claims.flatMap(bodies);
    expect(new Set(taken).size).toBe(taken.length);
    expect(taken).toHaveLength(20);
  });

  it('hides its messages from lists until it is released, and counts how often they were claimed', async () => {
    await post([1, 2]);
    const { claim_id } = await claim({ limit: 1 });
    expect(bodies(await list())).toEqual([2]);
    expect(bodies(await list({ include_claimed: true }))).toEqual([1, 2]);
    await rig.ask(queueCalls.queueClaimRelease, { project, queue, claim_id: claim_id ?? '' });
    expect(bodies(await list())).toEqual([1, 2]);
    const again = await claim({ limit: 1 });
    expect(again.messages[0]).toMatchObject({ body: 1, claim_count: 2 });
    await expect(
      rig.ask(queueCalls.queueClaimShow, { project, queue, claim_id: claim_id ?? '' }),
    ).rejects.toMatchObject({
      code: 'NotFound',
    });
  });

  const deletions: [string, (held: string) => Record<string, unknown>, string | undefined][] = [
    ['without a claim id', () => ({}), 'Forbidden'],
    ['with another claim id', () => ({ claim_id: randomUUID() }), 'InvalidRequest'],
    ['with its claim id', (held) => ({ claim_id: held }), undefined],
  ];
  it.each(deletions)('decides by its id when a claimed message is deleted %s', async (_case, more, code) => {
    await post([1]);
    const { claim_id, messages } = await claim();
    const deletion = rig.ask(queueCalls.queueMessageDelete, {
      project,
      queue,
      ids: messages.map((message) => message.id),
      ...more(claim_id ?? ''),
    });
    if (code === undefined) await expect(deletion).resolves.toEqual({ messages: [] });
    else await expect(deletion).rejects.toMatchObject({ code });
  });

  it('of an empty or unknown queue is empty', async () => {
    expect(await claim({ queue: 'nope' })).toEqual({ claim_id: null, messages: [] });
  });

  it('C3: frees its messages when it expires, and cannot be renewed then', async () => {
    await post([1]);
    const { claim_id } = await claim({ ttl: 3 });
    expect((await claim()).messages).toEqual([]);
    await expect.poll(async () => bodies(await list())).toEqual([1]);
    await expect(
      rig.ask(queueCalls.queueClaimRenew, { project, queue, claim_id: claim_id ?? '', ttl: 60 }),
    ).rejects.toMatchObject({ code: 'NotFound' });
  });
});

describe('the queue of a host', () => {
  const offer = async (hostId: string, name: string) =>
    rig.request('create', {
      type: 'OS::Heat::OrderedConfig',
      name,
      properties: { hosted_on: hostId, script: `echo ${name}` },
    });

  it('C2: offers only its first message, and none while that is claimed', async () => {
    const host = await rig.host('web');
    for (const name of ['a', 'b', 'c']) await offer(host.id, name);
    await expect.poll(async () => (await rig.ask(hostCalls.hostShow, { host: host.id })).pending).toBe(3);
    const taken: string[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const held = await rig.claim(host.id);
      expect(await rig.claim(host.id)).toBeUndefined();
      taken.push(held?.request.name ?? '');
      await rig.post(host.id, { id: held?.request.id ?? '', status_code: 0 });
    }
    expect(taken).toEqual(['a', 'b', 'c']);
  });

  it('C3: offers the first message again when its claim expires, and wakes waiting clients', async () => {
    const host = await rig.host('web');
    const wakes = () => rig.events.filter((each) => each.type === 'queue.filled');
    const wakeUps = (): number => wakes().length;
    await offer(host.id, 'a');
    // The offer itself wakes those who wait, under each of the four names of the queue.
    await expect.poll(wakeUps).toBe(1);
    expect(wakes()[0]?.data).toMatchObject({
      queue: `host.${host.id}.requests`,
      aliases: ['web.requests', 'web', host.id],
    });
    expect((await rig.claim(host.id, { ttl: 1 }))?.request.name).toBe('a');
    await expect.poll(wakeUps).toBeGreaterThan(1);
    expect((await rig.claim(host.id))?.request.name).toBe('a');
  });

  it('C4: offers the first message again at once to the client that claimed it', async () => {
    const host = await rig.host('web');
    await offer(host.id, 'a');
    await expect.poll(async () => (await rig.claim(host.id, { client_id: 'agent' }))?.request.name).toBe('a');
    expect(await rig.claim(host.id, { client_id: 'other' })).toBeUndefined();
    expect((await rig.claim(host.id, { client_id: 'agent' }))?.request.name).toBe('a');
  });

  it('is also available under the name of the host, for reading requests and writing responses', async () => {
    const host = await rig.host('web');
    await offer(host.id, 'a');
    await expect.poll(async () => (await claim({ queue: 'web' })).messages.length).toBe(1);
    await post([{ hello: true, facts: { os: 'x' } }], { queue: 'web' });
    expect(await rig.ask(hostCalls.hostShow, { project, host: 'web' })).toMatchObject({
      status: 'up',
      facts: { os: 'x' },
    });
    expect(await rig.ask(queueCalls.queueShow, { project, queue: 'web' })).toMatchObject({
      name: `host.${host.id}.requests`,
      host_id: host.id,
    });
    await expect(rig.ask(queueCalls.queueDelete, { project, queue: 'web' })).rejects.toMatchObject({
      code: 'Forbidden',
    });
    await expect(post([{ anything: 1 }], { queue: 'web.requests' })).rejects.toMatchObject({ code: 'InvalidRequest' });
  });

  it('leaves its name to a queue of a user that has it, and both are read and written', async () => {
    await post([1, 2], { queue: 'web' });
    const host = await rig.host('web');
    await offer(host.id, 'a');
    await expect.poll(async () => bodies(await list({ queue: 'web.requests' }))).toMatchObject([{ name: 'a' }]);
    expect(bodies(await list({ queue: 'web' }))).toEqual([1, 2]);
    await post([3], { queue: 'web' });
    expect(bodies(await claim({ queue: 'web' }))).toEqual([1, 2, 3]);
    expect(await rig.ask(queueCalls.queueShow, { project, queue: 'web' })).toMatchObject({
      name: 'web',
      host_id: null,
    });
    expect(bodies(await claim({ queue: `host.${host.id}.requests` }))).toMatchObject([{ name: 'a' }]);
    await rig.ask(queueCalls.queueDelete, { project, queue: 'web' });
    expect(await rig.ask(queueCalls.queueShow, { project, queue: 'web' })).toMatchObject({ host_id: host.id });
  });
});
