/** Requests that the engine sends before those that they come after are answered: one queue, one order, one round trip. */
import { randomUUID } from 'node:crypto';
import { deploymentShow, type DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import { hostCollect } from '@anneal/contracts/calls/hosts.ts';
import { hostRequestSchema } from '@anneal/contracts/calls/host-messages.ts';
import { queueClaim, queueMessages } from '@anneal/contracts/calls/queues.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRig, project, startService, type Rig } from '../testing/running-service.ts';

let rig: Rig;
let host: { id: string };
beforeEach(async () => {
  rig = await createRig();
  host = await rig.host('web');
});
afterEach(() => rig.dispose());

interface Sent {
  readonly id: string;
  readonly fence: number;
}

const send = async (
  name: string,
  { after = [], id = randomUUID(), fence = 1, script = name, host_id = host.id, action = 'create' }: SendOptions = {},
): Promise<Sent> => {
  const properties = { hosted_on: host_id, script, actions: ['CREATE', 'UPDATE', 'DELETE'] };
  const common = { type: 'OS::Heat::OrderedConfig', properties, id, name, fence };
  await rig.request(action, { ...common, ...(after.length > 0 && { after: [...after] }) });
  return { id, fence };
};
interface SendOptions {
  readonly after?: readonly Sent[];
  readonly id?: string;
  readonly fence?: number;
  readonly script?: string;
  readonly host_id?: string;
  readonly action?: 'create' | 'delete' | 'cancel';
}
const chain = async (): Promise<[Sent, Sent, Sent]> => {
  const a = await send('a');
  const b = await send('b', { after: [a] });
  return [a, b, await send('c', { after: [b] })];
};

const view = (id: string): Promise<DeploymentView> => rig.ask(deploymentShow, { project, deployment: id });
const status = async ({ id }: Sent): Promise<string> => (await view(id)).status;
const isQueued = ({ id, fence }: Sent): Promise<unknown> =>
  eventually(() => rig.responses.find((each) => each.resource_id === id && each.fence === fence), {
    what: `the request ${id} in its queue`,
    last: () => rig.responses,
  });

/** Claims as an agent does: a batch, with the answers to the last one. */
async function claim(answers: readonly Json[] = [], batch = 10): Promise<{ id: string; name: string }[]> {
  const { messages } = await rig.ask(queueClaim, {
    project,
    queue: `host.${host.id}.requests`,
    client_id: 'agent',
    ttl: 60,
    grace: 60,
    batch,
    ...(answers.length > 0 && { answers: answers.map((body) => ({ body, ttl: 600 })) }),
  });
  return messages.map(({ body }) => hostRequestSchema.parse(body)).map(({ id, name }) => ({ id, name }));
}
const names = (claimed: readonly { name: string }[]): string[] => claimed.map(({ name }) => name);
const done = (claimed: readonly { id: string }[], failed = -1): Json[] =>
  claimed.map(({ id }, index) => ({ id, status_code: index === failed ? 1 : 0 }));

it('hands a list out at once, and completes all of it with the next claim', async () => {
  const sent = await chain();
  await isQueued(sent[2]);
  const claimed = await claim();
  expect(names(claimed)).toEqual(['a', 'b', 'c']);
  expect(await claim(done(claimed))).toEqual([]);
  for (const each of sent) expect(await rig.final(each.id)).toMatchObject({ status: 'complete' });
});

it('hands one out after the other to a host that takes no batch, and shows it no later one', async () => {
  const [, b, c] = await chain();
  await isQueued(c);
  const requests = { project, queue: `host.${host.id}.requests`, client_id: 'agent' };
  const own = { ...requests, include_claimed: true, echo: true, host_id: host.id };
  expect((await rig.ask(queueMessages, own)).messages).toHaveLength(1);
  let claimed = await claim([], 1);
  for (const name of ['a', 'b', 'c']) {
    expect(names(claimed)).toEqual([name]);
    claimed = await claim(done(claimed), 1);
  }
  expect([await status(b), await status(c)]).toEqual(['COMPLETE', 'COMPLETE']);
});

it('shows os-collect-config one after the other', async () => {
  const [, , c] = await chain();
  await isQueued(c);
  const shown = async () => {
    const { metadata } = await rig.ask(hostCollect, { host_id: host.id });
    return (metadata['deployments'] as { name: string }[]).map(({ name }) => name);
  };
  expect([await shown(), await shown()]).toEqual([['a'], ['a']]);
  const { messages } = await rig.ask(queueMessages, {
    project,
    queue: `host.${host.id}.requests`,
    client_id: 'test',
    include_claimed: true,
    echo: true,
  });
  await rig.post(host.id, { id: messages[0]?.id ?? '', status_code: 0 });
  expect(await shown()).toEqual(['a', 'b']);
});

it('skips what comes after a failed one, and reports why', async () => {
  const [a, b, c] = await chain();
  await isQueued(c);
  const claimed = await claim();
  expect(await claim(done(claimed.slice(0, 2), 1))).toEqual([]);
  expect(await rig.final(b.id)).toMatchObject({ status: 'failed', error: { code: 'DeploymentFailed' } });
  const skipped = {
    code: 'DeploymentSkipped',
    message: expect.stringContaining('c was not run: b, which it depends on'),
  };
  expect(await rig.final(c.id)).toMatchObject({ status: 'failed', error: skipped });
  expect([await status(a), await status(b), await status(c)]).toEqual(['COMPLETE', 'FAILED', 'SKIPPED']);
  // Nothing ran, so its deletion runs nothing.
  await send('c', { id: c.id, fence: 2, action: 'delete' });
  expect(await rig.final(c.id, 2)).toMatchObject({ status: 'complete' });
  expect(await claim()).toEqual([]);
});

it('skips what comes after a request that was refused', async () => {
  const properties = { hosted_on: host.id, script: 'a', options: { timeout: 'soon' } };
  const { resource } = await rig.request('create', { type: 'OS::Heat::OrderedConfig', properties, name: 'a' });
  const b = await send('b', { after: [{ id: resource.id, fence: 1 }] });
  const message = expect.stringMatching(/b was not run: a, which it depends on, failed: .*options/);
  expect(await rig.final(b.id)).toMatchObject({ status: 'failed', error: { code: 'DeploymentSkipped', message } });
  expect(await claim()).toEqual([]);
});

it('moves what waits behind a newer request for the one before it', async () => {
  const [a, b, c] = await chain();
  await isQueued(c);
  const old = await claim();
  expect(names(old)).toEqual(['a', 'b', 'c']);
  await send('a', { id: a.id, fence: 2, script: 'newer' });
  await isQueued({ id: a.id, fence: 2 });
  // The host stopped the replaced run. It has begun nothing else.
  const claimed = await claim([{ id: old[0]?.id ?? '', status_code: 143 }]);
  expect(names(claimed)).toEqual(['a', 'b', 'c']);
  expect(claimed[0]?.id).not.toBe(old[0]?.id);
  expect(claimed.slice(1)).toEqual(old.slice(1));
  await claim(done(claimed));
  expect([await status(a), await status(b), await status(c)]).toEqual(['COMPLETE', 'COMPLETE', 'COMPLETE']);
});

it('never hands out what comes after a request that has not arrived', async () => {
  const a = { id: randomUUID(), fence: 1 };
  const b = await send('b', { after: [a] });
  await isQueued(b);
  expect(await claim()).toEqual([]);
  await send('a', { id: a.id });
  await isQueued(a);
  const first = await claim();
  expect(names(first)).toEqual(['a']);
  expect(names(await claim(done(first)))).toEqual(['b']);
});

it('waits for the newer request when the one before it has completed an older one', async () => {
  const a = await send('a');
  await isQueued(a);
  await claim(done(await claim()));
  const b = await send('b', { after: [{ id: a.id, fence: 2 }] });
  await isQueued(b);
  expect(await claim()).toEqual([]);
  await send('a', { id: a.id, fence: 2, script: 'newer' });
  await isQueued({ id: a.id, fence: 2 });
  const first = await claim();
  expect(names(first)).toEqual(['a']);
  expect(names(await claim(done(first)))).toEqual(['b']);
});

it('waits for a config on another host', async () => {
  const other = await rig.host('other');
  const a = await send('a', { host_id: other.id });
  const b = await send('b', { after: [a] });
  await isQueued(b);
  expect(await claim()).toEqual([]);
  await rig.post(other.id, { id: (await rig.claim(other.id))?.request.id ?? '', status_code: 0 });
  await rig.final(a.id);
  expect(
    names(
      await eventually(
        async () => {
          const claimed = await claim();
          return claimed.length > 0 ? claimed : undefined;
        },
        { what: 'the request after the config of the other host' },
      ),
    ),
  ).toEqual(['b']);
});

it('recalls what the host has in hand and has not begun, when it claims again', async () => {
  const [a, b, c] = await chain();
  await isQueued(c);
  const claimed = await claim();
  for (const each of [b, c]) await send('recalled', { ...each, action: 'cancel' });
  const recalls = async () => {
    const queues = await rig.context.bus.queues.list(requestsQueue('configuration'));
    return queues.every(({ depth, inFlight }) => depth + inFlight === 0);
  };
  await eventually(async () => ((await recalls()) ? true : undefined), { what: 'the recalls' });
  expect([await status(b), await status(c)]).toEqual(['IN_PROGRESS', 'IN_PROGRESS']);
  expect(await claim(done(claimed.slice(0, 1)))).toEqual([]);
  for (const each of [b, c]) expect(await rig.final(each.id)).toMatchObject({ status: 'failed' });
  expect([await status(a), await status(b), await status(c)]).toEqual(['COMPLETE', 'SKIPPED', 'SKIPPED']);
});

it('completes what the host had begun when it was recalled', async () => {
  const [, b, c] = await chain();
  await isQueued(c);
  const claimed = await claim();
  await send('recalled', { ...c, action: 'cancel' });
  expect(await claim(done(claimed))).toEqual([]);
  expect([await status(b), await status(c)]).toEqual(['COMPLETE', 'COMPLETE']);
});

it('recalls what no host has, and lets the one before it end', async () => {
  const [a, b, c] = await chain();
  await isQueued(c);
  const claimed = await claim([], 1);
  for (const each of [b, c]) await send('recalled', { ...each, action: 'cancel' });
  for (const each of [b, c]) {
    expect(await rig.final(each.id)).toMatchObject({ status: 'failed', error: { code: 'DeploymentSkipped' } });
    expect(await status(each)).toBe('SKIPPED');
  }
  expect(await claim(done(claimed.slice(0, 1)))).toEqual([]);
  expect(await status(a)).toBe('COMPLETE');
});

it('offers a claimed list again after a restart of the service, in its order', async () => {
  const [, , c] = await chain();
  await isQueued(c);
  const claimed = await claim();
  await rig.stop();
  const again = await startService(rig.context);
  try {
    expect(await claim()).toEqual(claimed);
    await claim(done(claimed));
    expect(await status(c)).toBe('COMPLETE');
  } finally {
    await again.stop();
  }
});
