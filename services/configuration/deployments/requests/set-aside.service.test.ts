import type * as hostMessages from '@anneal/contracts/calls/host-messages.ts';
import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimed, createRig, project, type Rig } from '../../testing/running-service.ts';

useQuickClock();
let rig: Rig;
beforeEach(async () => {
  rig = await createRig({ environment: { ANNEAL_CONFIGURATION_POP_LEASE_SECONDS: '2' } });
});
afterEach(() => rig.dispose());

const offer = async (hostId: string, name: string, more: JsonObject = {}): Promise<string> => {
  const { resource } = await rig.request('create', {
    type: 'OS::Heat::OrderedConfig',
    name,
    properties: { hosted_on: hostId, script: `echo ${name}`, ...more },
  });
  await rig.event('deployment.queued', resource.id);
  await eventually(async () => (await waiting(hostId)).includes(name), { what: `${name} in the queue` });
  return resource.id;
};
const look = (hostId: string) =>
  rig.ask(queueCalls.queueMessages, {
    project,
    queue: `host.${hostId}.requests`,
    include_claimed: true,
    echo: true,
    client_id: '',
  });
const waiting = async (hostId: string) =>
  (await look(hostId)).messages.map(({ body }) => (body as unknown as hostMessages.HostRequest).name);
const remove = (
  hostId: string,
  more: { ids?: string[]; pop?: number; purge?: boolean; claim_id?: string; host_id?: string },
) => rig.ask(queueCalls.queueMessageDelete, { project, queue: `host.${hostId}.requests`, ...more });

describe('S1: no verb loses a request of a host', () => {
  const verbs: [string, (hostId: string) => Promise<unknown>][] = [
    ['a pop', (host) => remove(host, { pop: 5 })],
    ['a pop by the host', (host) => remove(host, { pop: 1, host_id: host })],
    ['a deletion', async (host) => remove(host, { ids: (await look(host)).messages.map(({ id }) => id) })],
    [
      'a deletion under its claim',
      async (host) => {
        const { message, claim_id } = await claimed(rig, host);
        await remove(host, { ids: [message.id], claim_id });
      },
    ],
    ['a purge', (host) => remove(host, { purge: true })],
    ['a claim without an answer', (host) => rig.claim(host, { ttl: 1 })],
  ];
  it.each(verbs)('%s: the request is offered again, in order, and answered', async (_verb, apply) => {
    const { id: host } = await rig.host('web');
    const a = await offer(host, 'a');
    const b = await offer(host, 'b');
    await apply(host);
    expect(await waiting(host)).toEqual(['a', 'b']);
    for (const [resource, name] of [
      [a, 'a'],
      [b, 'b'],
    ] as const) {
      const { request } = await claimed(rig, host);
      expect(request.name).toBe(name);
      await rig.post(host, { id: request.id, status_code: 0 });
      expect(await rig.final(resource)).toMatchObject({ status: 'complete' });
    }
    expect(await waiting(host)).toEqual([]);
  });

  it('a pop gives a request to one client at a time', async () => {
    const { id: host } = await rig.host('web');
    await offer(host, 'a');
    await offer(host, 'b');
    const answers = await Promise.all(Array.from({ length: 5 }, () => remove(host, { pop: 2 })));
    expect(answers.flatMap(({ messages }) => messages)).toMatchObject([{ body: { name: 'a' }, claim_id: null }]);
    expect(await rig.claim(host)).toBeUndefined();
  });

  it('a popped request that a newer one replaced is not offered again', async () => {
    const { id: host } = await rig.host('web');
    const id = await offer(host, 'a');
    await remove(host, { pop: 1 });
    await rig.request('update', {
      type: 'OS::Heat::OrderedConfig',
      name: 'a',
      id,
      fence: 2,
      properties: { hosted_on: host, script: 'echo new', actions: ['CREATE', 'UPDATE'] },
    });
    const { request } = await claimed(rig, host);
    expect(request).toMatchObject({ action: 'UPDATE', config: 'echo new' });
    await rig.post(host, { id: request.id, status_code: 0 });
    await rig.final(id, 2);
    expect(await waiting(host)).toEqual([]);
  });

  it('S3: a message of a user that no deployment waits for is deleted', async () => {
    const { id: host } = await rig.host('web');
    const resource = await offer(host, 'a');
    const { request } = await claimed(rig, host);
    await rig.ask(queueCalls.queuePost, {
      project,
      queue: `host.${host}.requests`,
      client_id: 'me',
      messages: [{ body: { ...request, id: 'mine', name: 'mine' } as never, ttl: 60 }],
    });
    const mine = (await look(host)).messages.find(({ body }) => (body as { id?: string } | null)?.id === 'mine');
    await remove(host, { ids: [mine?.id ?? ''] });
    expect(await waiting(host)).toEqual(['a']);
    await rig.post(host, { id: request.id, status_code: 0 });
    await rig.final(resource);
  });
});

describe('a pop by a host', () => {
  it('returns the form that os-collect-config reads: every deployment so far, in order, with a queue for each answer', async () => {
    const host = await rig.host('web');
    const first = await offer(host.id, 'a', { input_values: { n: 5 } });
    const pop = async () =>
      eventually(async () => (await remove(host.id, { pop: 1, host_id: host.id })).messages[0]?.body, {
        what: 'a popped message',
      }) as Promise<{ id: string; deployments: hostMessages.HostRequest[] }>;
    const one = await pop();
    expect(one.deployments).toMatchObject([{ id: one.id, name: 'a', group: 'script', config: 'echo a' }]);
    const valueOf = (deployment: hostMessages.HostRequest | undefined, name: string) =>
      deployment?.inputs.find((input) => input.name === name)?.value;
    expect(valueOf(one.deployments[0], 'n')).toBe('5');
    expect(valueOf(one.deployments[0], 'deploy_signal_transport')).toBe('ZAQAR_SIGNAL');
    expect(valueOf(one.deployments[0], 'deploy_queue_id')).toBe(`answer-${one.id}`);
    expect(valueOf(one.deployments[0], 'deploy_user_id')).toBe(first);
    await rig.post(host.id, { deploy_stdout: 'out', deploy_status_code: 0 });
    await rig.final(first);
    await offer(host.id, 'b');
    const two = await pop();
    expect(two.deployments.map(({ name }) => name)).toEqual(['a', 'b']);
  });
});
