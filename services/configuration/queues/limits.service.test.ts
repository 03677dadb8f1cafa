import * as hostCalls from '@anneal/contracts/calls/hosts.ts';
import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { hostRequestsQueue } from '@anneal/contracts/queues.ts';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { createRig, project, startService, type Rig } from '../testing/running-service.ts';

let rig: Rig;
afterEach(() => rig.dispose());

const post = (queue: string, ...bodies: Json[]) =>
  rig.ask(queueCalls.queuePost, {
    project,
    queue,
    client_id: 'me',
    messages: bodies.map((body) => ({ body, ttl: 300 })),
  });
const pop = (queue: string, count: number) => rig.ask(queueCalls.queueMessageDelete, { project, queue, pop: count });
const total = async (queue: string) => (await rig.ask(queueCalls.queueShow, { project, queue })).total;
const refusal = (words: string, code = 'LimitReached') => ({ code, message: expect.stringContaining(words) as string });

describe('the limits of queues', () => {
  it('refuse a queue above the limit, by create and by post, without counting queues of hosts', async () => {
    rig = await createRig({ environment: { ANNEAL_CONFIGURATION_PROJECT_QUEUES: '2' } });
    await rig.host('h');
    await rig.ask(queueCalls.queueCreate, { project, queue: 'a' });
    await post('b', 1);
    const refused = refusal('has 2 queues and the limit is 2 (ANNEAL_CONFIGURATION_PROJECT_QUEUES)', 'QuotaExceeded');
    await expect(rig.ask(queueCalls.queueCreate, { project, queue: 'c' })).rejects.toMatchObject(refused);
    await expect(post('c', 1)).rejects.toMatchObject(refused);
    await post('b', 2);
    await rig.ask(queueCalls.queueCreate, { project, queue: 'a' });
    await rig.ask(queueCalls.queueDelete, { project, queue: 'a' });
    await post('c', 1);
  });

  it('admit one of 50 simultaneous queues and one of 50 hosts at one below the limit, at two replicas', async () => {
    const environment = {
      ANNEAL_CONFIGURATION_PROJECT_QUEUES: '3',
      ANNEAL_CONFIGURATION_PROJECT_HOSTS: '3',
    };
    rig = await createRig({ environment });
    const second = await startService(rig.context, environment);
    try {
      await Promise.all(['q1', 'q2'].map((queue) => rig.ask(queueCalls.queueCreate, { project, queue })));
      await Promise.all([rig.host('h1'), rig.host('h2')]);
      const fifty = Array.from({ length: 50 }, (_, index) => index);
      const admitted = async (make: (index: number) => Promise<unknown>): Promise<number> =>
        (await Promise.allSettled(fifty.map(make))).filter(({ status }) => status === 'fulfilled').length;
      const [queues, hosts] = await Promise.all([
        admitted((index) =>
          index % 2 === 0 ? rig.ask(queueCalls.queueCreate, { project, queue: `n${index}` }) : post(`n${index}`, index),
        ),
        admitted((index) => rig.host(`new${index}`)),
      ]);
      expect([queues, hosts]).toEqual([1, 1]);
      expect((await rig.ask(queueCalls.queueList, { project, limit: 100 })).queues).toHaveLength(3 + 2 * 3);
      const id = randomUUID();
      await expect(rig.ask(hostCalls.hostCreate, { id, name: 'more', project })).rejects.toMatchObject(
        refusal('the project has 3 hosts and the limit is 3', 'QuotaExceeded'),
      );
    } finally {
      await second.stop();
    }
  });

  it('refuse no repeat of what exists, whatever the number of simultaneous repeats', async () => {
    const environment = { ANNEAL_CONFIGURATION_PROJECT_QUEUES: '1', ANNEAL_CONFIGURATION_PROJECT_HOSTS: '1' };
    rig = await createRig({ environment });
    const id = randomUUID();
    const repeats = Array.from({ length: 10 });
    const made = await Promise.all(repeats.map(() => rig.ask(hostCalls.hostCreate, { id, name: 'h', project })));
    expect(new Set(made.map(({ token }) => token)).size).toBe(1);
    const created = await Promise.all(repeats.map(() => rig.ask(queueCalls.queueCreate, { project, queue: 'a' })));
    expect(created.filter((each) => each.created)).toHaveLength(1);
  });

  it('refuse a whole post above the limit, and accept it when there is room', async () => {
    rig = await createRig({ environment: { ANNEAL_CONFIGURATION_QUEUE_MESSAGES: '5' } });
    await post('a', 1, 2, 3);
    await expect(post('a', 4, 5, 6)).rejects.toMatchObject(
      refusal('Queue a has 3 messages; with 3 more it would exceed its 5 (ANNEAL_CONFIGURATION_QUEUE_MESSAGES)'),
    );
    expect(await total('a')).toBe(3);
    await post('a', 4, 5);
    await expect(post('a', 6)).rejects.toMatchObject(refusal('has 5 messages'));
    await pop('a', 1);
    await post('a', 6);
    await expect(post('a', 7)).rejects.toMatchObject(refusal('has 5 messages'));
  });

  it('count existing messages, not deleted ones', async () => {
    rig = await createRig({ environment: { ANNEAL_CONFIGURATION_QUEUE_MESSAGES: '3' } });
    await post('a', 'stays');
    for (let index = 0; index < 5; index += 1) {
      const { ids } = await post('a', index);
      await rig.ask(queueCalls.queueMessageDelete, { project, queue: 'a', ids });
    }
    expect(await total('a')).toBe(1);
  });

  it('refuse bytes above the limit, and accept them when the oldest message is deleted', async () => {
    rig = await createRig({ environment: { ANNEAL_CONFIGURATION_QUEUE_BYTES: '600000' } });
    const large = 'x'.repeat(200_000);
    await post('a', large);
    await post('a', large);
    await expect(post('a', large)).rejects.toMatchObject(
      refusal('has 400004 bytes; with 200002 more it would exceed its 600000 (ANNEAL_CONFIGURATION_QUEUE_BYTES)'),
    );
    await pop('a', 1);
    await post('a', large);
    await expect(post('a', large)).rejects.toMatchObject(refusal('has 400004 bytes'));
  });

  it('never refuse a config of a host', async () => {
    rig = await createRig({
      environment: { ANNEAL_CONFIGURATION_QUEUE_MESSAGES: '1', ANNEAL_CONFIGURATION_QUEUE_BYTES: '10' },
    });
    const { id } = await rig.host('h');
    for (let index = 0; index < 3; index += 1)
      await rig.request('create', {
        type: 'OS::Heat::OrderedConfig',
        properties: { hosted_on: id, script: 'echo hi', actions: ['CREATE'] },
        id: randomUUID(),
      });
    await expect.poll(() => total(hostRequestsQueue(id))).toBe(3);
  });
});

it('the limit of hosts refuses a new host above it, and accepts a repeat', async () => {
  rig = await createRig({ environment: { ANNEAL_CONFIGURATION_PROJECT_HOSTS: '1' } });
  const { id } = await rig.host('h');
  await expect(rig.host('i')).rejects.toMatchObject(
    refusal('the project has 1 hosts and the limit is 1 (ANNEAL_CONFIGURATION_PROJECT_HOSTS)', 'QuotaExceeded'),
  );
  await expect(rig.ask(hostCalls.hostCreate, { id, name: 'h', project })).resolves.toMatchObject({ host: { id } });
});

it('the limit of hosts is exact for simultaneous ones', async () => {
  rig = await createRig({ environment: { ANNEAL_CONFIGURATION_PROJECT_HOSTS: '2' } });
  const made = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => rig.host(`h${index}`)));
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
});
