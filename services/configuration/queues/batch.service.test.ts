/** Batches of a host: several requests with one claim, and their answers with the next. */
import * as deploymentCalls from '@anneal/contracts/calls/deployments.ts';
import * as hostMessages from '@anneal/contracts/calls/host-messages.ts';
import * as hostCalls from '@anneal/contracts/calls/hosts.ts';
import * as queueCalls from '@anneal/contracts/calls/queues.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { MessageDocument } from '../collections.ts';
import { createRig, project, type Rig } from '../testing/running-service.ts';

let rig: Rig;
let host: string;
beforeEach(async () => {
  rig = await createRig();
  ({ id: host } = await rig.host('web'));
});
afterEach(() => rig.dispose());

const offer = async (name: string, more: JsonObject = {}): Promise<string> => {
  const properties = { hosted_on: host, script: `echo ${name}`, ...more };
  const { resource } = await rig.request('create', { type: 'OS::Heat::OrderedConfig', name, properties });
  await rig.event('deployment.queued', resource.id);
  return resource.id;
};
const queue = (role: string): string => `host.${host}.${role}`;
const claim = async (more: { batch?: number; answers?: Json[]; client_id?: string } = {}) => {
  const { answers, ...rest } = more;
  const { messages, answered } = await rig.ask(queueCalls.queueClaim, {
    project,
    queue: queue('requests'),
    ttl: 60,
    grace: 60,
    client_id: 'agent',
    batch: 10,
    ...rest,
    ...(answers && { answers: answers.map((body) => ({ body, ttl: 600 })) }),
  });
  return { answered, requests: messages.map(({ body }) => hostMessages.hostRequestSchema.parse(body)) };
};
const names = ({ requests }: Awaited<ReturnType<typeof claim>>): string[] => requests.map(({ name }) => name);
const done = ({ id }: { id: string }, status_code = 0) => ({
  id,
  status_code,
  started_at: new Date().toISOString(),
});
const stored = async (id: string): Promise<MessageDocument | undefined> =>
  (await rig.context.store.collection<MessageDocument>({ name: 'configuration_messages', indexes: [] })).get(id);

it('C2: a host takes its first requests in order, and another client gets nothing meanwhile', async () => {
  for (const name of ['a', 'b', 'c']) await offer(name);
  expect(names(await claim({ batch: 2 }))).toEqual(['a', 'b']);
  expect(names(await claim({ client_id: 'other' }))).toEqual([]);
  // C4: the host lost the answer to its claim.
  expect(names(await claim())).toEqual(['a', 'b', 'c']);
});

it('without a batch a host takes one request, whatever its limit', async () => {
  for (const name of ['a', 'b']) await offer(name);
  expect(names(await claim({ batch: 1 }))).toEqual(['a']);
});

it('takes answers with the next claim: the runs end in order, each with its start', async () => {
  const ids = [await offer('a'), await offer('b')];
  const { requests } = await claim();
  const c = await offer('c');
  const next = await claim({ answers: requests.map((request, index) => done(request, index)) });
  expect(next.answered).toBe(true);
  expect(names(next)).toEqual(['c']);
  expect((await rig.final(ids[0] ?? '')).status).toBe('complete');
  expect((await rig.final(ids[1] ?? '')).status).toBe('failed');
  const steps = await eventually(() => {
    const found = rig.events.filter(
      ({ subject, type }) => ids.includes(subject ?? '') && type.startsWith('deployment.'),
    );
    return found.length === 6 ? found.map(({ subject, type }) => `${ids.indexOf(subject ?? '')} ${type}`) : undefined;
  });
  expect(steps.filter((each) => each.startsWith('0'))).toEqual([
    '0 deployment.queued',
    '0 deployment.started',
    '0 deployment.completed',
  ]);
  expect(steps.findLast((each) => each.startsWith('1'))).toBe('1 deployment.failed');
  for (const deployment of ids) {
    const { accepted_at } = await rig.ask(deploymentCalls.deploymentShow, { project, deployment });
    expect(accepted_at).toEqual(expect.any(String));
  }
  const { messages } = await rig.ask(queueCalls.queueMessages, {
    project,
    queue: queue('responses'),
    include_claimed: true,
    echo: true,
    client_id: '',
  });
  expect(messages.map(({ body }) => (body as { id: string }).id)).toEqual(requests.map(({ id }) => id));
  // A repeat, because the answer to the claim was lost, changes nothing.
  const again = await claim({ answers: requests.map((request, index) => done(request, index)) });
  expect(names(again)).toEqual(['c']);
  expect((await rig.ask(hostCalls.hostShow, { host })).unexpected_total).toBe(0);
  expect(c).toBeDefined();
});

it('C6: a request behind the first that was replaced is not offered again, also to the client that holds it', async () => {
  await offer('a');
  const b = await offer('b');
  const { requests } = await claim();
  expect(requests.map(({ name }) => name)).toEqual(['a', 'b']);
  await rig.request('update', {
    type: 'OS::Heat::OrderedConfig',
    name: 'b',
    id: b,
    fence: 2,
    properties: { hosted_on: host, script: 'echo new' },
  });
  await eventually(async () => ((await rig.ask(hostCalls.hostShow, { host })).pending === 3 ? true : undefined));
  const [first] = requests;
  if (!first) throw new Error('no request');
  const next = await claim({ answers: [done(first)] });
  expect(next.requests.map(({ config }) => config)).toEqual(['echo new']);
});

it('C6: the time limit of a request behind the first begins in its turn', async () => {
  for (const name of ['a', 'b']) await offer(name, { options: { timeout: 600 } });
  const [first, second] = (await claim()).requests;
  if (!first || !second) throw new Error('no requests');
  expect((await stored(first.id))?.taken_at).toBeGreaterThan(0);
  expect((await stored(second.id))?.taken_at).toBeUndefined();
  await rig.post(host, done(first));
  const now = await eventually(async () => (await stored(second.id))?.taken_at);
  expect(now).toBeGreaterThan(0);
});

it('refuses a claim with an answer that is not valid, and changes nothing', async () => {
  await offer('a');
  const { requests } = await claim();
  await offer('b');
  const answers = [done(requests[0] ?? { id: '' }), { id: 7 }];
  await expect(claim({ answers })).rejects.toMatchObject({ code: 'InvalidRequest' });
  expect(names(await claim())).toEqual(['a', 'b']);
});

it('refuses answers with a claim of a queue that belongs to no host', async () => {
  const wrong = rig.ask(queueCalls.queueClaim, {
    project,
    queue: 'mine',
    ttl: 60,
    grace: 60,
    answers: [{ body: { id: 'x', status_code: 0 }, ttl: 60 }],
  });
  await expect(wrong).rejects.toMatchObject({ code: 'InvalidRequest' });
});

it('names the waiting hosts that have a request which no client holds', async () => {
  const other = await rig.host('other');
  const look = async (look_in: string) => {
    const data = { host_ids: [host, other.id, 'none'], within_ms: 0, look_in };
    return (await rig.ask(hostCalls.hostsPresent, data)).waiting;
  };
  expect(await look(project)).toEqual([]);
  await offer('a');
  await offer('b');
  expect(await look(project)).toEqual([host]);
  expect(await look('another')).toEqual([]);
  await claim({ batch: 1 });
  expect(await look(project)).toEqual([]);
});
