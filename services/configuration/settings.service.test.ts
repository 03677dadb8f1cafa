/** Another value of a setting changes what hosts and users see. */
import { randomUUID } from 'node:crypto';
import { outputRead, runReport } from '@anneal/contracts/output.ts';
import { contextShow } from '@anneal/contracts/calls/context.ts';
import { configCreate } from '@anneal/contracts/calls/configs.ts';
import { deploymentCreate, deploymentList } from '@anneal/contracts/calls/deployments.ts';
import * as hostCalls from '@anneal/contracts/calls/hosts.ts';
import { queueCreate, queueMessageDelete, queueMessages } from '@anneal/contracts/calls/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { claimed, createRig, project, type Rig } from './testing/running-service.ts';

useQuickClock({ stepMs: 1000 });
let rig: Rig;
afterEach(() => rig.dispose());

const open = async (settings: Record<string, string>): Promise<Rig> => {
  rig = await createRig({
    environment: Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [`ANNEAL_CONFIGURATION_${name}`, value]),
    ),
  });
  return rig;
};
/** A config that a host has claimed. */
async function running(): Promise<{ host: string; run: string; deployment: string }> {
  const { id: host } = await rig.host('web');
  const properties = { hosted_on: host, script: 'true' };
  const { resource } = await rig.request('create', { type: 'OS::Heat::OrderedConfig', properties });
  const { request } = await claimed(rig, host);
  return { host, run: request.id, deployment: resource.id };
}

it('JOIN_SECONDS: the line of a join works for this time', async () => {
  await open({ JOIN_SECONDS: '60' });
  const asked = Date.now();
  const { join_token, expires_at } = await rig.ask(hostCalls.hostJoin, { project, host: 'web' });
  expect(Date.parse(expires_at) - asked).toBeLessThan(90_000);
  await eventually(() => Date.now() > Date.parse(expires_at));
  const late = rig.ask(hostCalls.hostJoinExchange, { join_token, key: 'a key of at least 16' });
  await expect(late).rejects.toThrow('expired');
});

it('DEPLOYMENT_SECONDS: a config may run for this time', async () => {
  await open({ DEPLOYMENT_SECONDS: '7' });
  const { host, run, deployment } = await running();
  await rig.post(host, { id: run, progress: 'started' });
  const { error } = await rig.final(deployment);
  expect(error).toMatchObject({ code: 'DeadlineExceeded', message: expect.stringContaining('longer than 7 s') });
});

it('QUEUE_SECONDS: a host must take its first request within this time', async () => {
  await open({ QUEUE_SECONDS: '7' });
  const { id: host } = await rig.host('web');
  await rig.claim(host);
  const properties = { hosted_on: host, script: 'true' };
  const { resource } = await rig.request('create', { type: 'OS::Heat::OrderedConfig', properties });
  const { error } = await rig.final(resource.id);
  expect(error).toMatchObject({ code: 'DeadlineExceeded', message: expect.stringContaining('within 7 s') });
});

it('RESPONSE_KEEP_SECONDS: a handled response stays readable for this time', async () => {
  await open({ RESPONSE_KEEP_SECONDS: '7200' });
  const { host, run } = await running();
  await rig.post(host, { id: run, status_code: 0 });
  const question = { project, queue: `host.${host}.responses`, include_claimed: true, echo: true, client_id: 'reader' };
  const { messages } = await rig.ask(queueMessages, question);
  expect(messages).toMatchObject([{ ttl: 7200 }]);
});

it('OUTPUT_KEEP_SECONDS: the streams of a run stay readable for this time', async () => {
  await open({ OUTPUT_KEEP_SECONDS: '60' });
  const { host, run, deployment } = await running();
  const data = Buffer.from('hello').toString('base64');
  await rig.ask(runReport, { host_id: host, id: run, pieces: [{ name: 'stdout', offset: 0, data }] });
  await rig.post(host, { id: run, status_code: 0 });
  const stored = async (): Promise<string> => {
    const { parts } = await rig.ask(outputRead, { project, deployment, from: [{ name: 'stdout', offset: 0 }] });
    return parts[0]?.data ?? '';
  };
  expect(await stored()).toBe(data);
  await eventually(async () => (await stored()) === '', { what: 'the removal of the stream' });
});

it('RUN_KEEP_SECONDS: the deployment of a run stays readable for this time after its limit', async () => {
  await open({ RUN_KEEP_SECONDS: '60' });
  const { id: host } = await rig.host('web');
  const config = randomUUID();
  const common = { project, name: 'run', group: 'script', config: 'true', inputs: [], outputs: [], options: {} };
  await rig.ask(configCreate, { ...common, id: config, forget: true });
  const deployment = { id: randomUUID(), project, host, config, input_values: {}, action: 'CREATE' as const };
  await rig.ask(deploymentCreate, { ...deployment, seconds: 60, forget: true });
  const { request } = await claimed(rig, host);
  await rig.post(host, { id: request.id, status_code: 0 });
  const listed = async () => (await rig.ask(deploymentList, { project, config })).deployments.length;
  expect(await listed()).toBe(1);
  await eventually(async () => (await listed()) === 0, { what: 'the removal of the deployment' });
});

it('SILENT_SECONDS: a host without a request for this time is silent', async () => {
  await open({ SILENT_SECONDS: '7' });
  const { id: host } = await rig.host('web');
  await rig.claim(host);
  const contact = Date.now();
  await rig.event('host.silent', host);
  // With the default, after 90 s.
  expect(Date.now() - contact).toBeLessThan(60_000);
});

it('POP_LEASE_SECONDS: a request that a client popped without an answer is offered again after this time', async () => {
  await open({ POP_LEASE_SECONDS: '7' });
  const { id: host } = await rig.host('web');
  const properties = { hosted_on: host, script: 'true' };
  const { resource } = await rig.request('create', { type: 'OS::Heat::OrderedConfig', properties });
  await rig.event('deployment.queued', resource.id);
  const popped = Date.now();
  await eventually(async () => {
    const gone = await rig.ask(queueMessageDelete, { project, queue: `host.${host}.requests`, pop: 5 });
    return gone.messages.length > 0;
  });
  await claimed(rig, host);
  // With the default, after 60 s.
  expect(Date.now() - popped).toBeLessThan(50_000);
});

describe('a context follows', () => {
  /** How long a context takes to get its second version, after a change of its member. */
  const took = async (change: (host: string) => Promise<unknown>): Promise<number> => {
    const [{ id: a }, { id: b }] = [await rig.host('a'), await rig.host('b')];
    for (const host of [a, b]) await rig.post(host, { hello: true, facts: { address: '10.0.0.1' } });
    const properties = { members: { all: [a, b] }, facts: ['rack'] };
    const { resource } = await rig.request('create', { type: 'Anneal::Context', name: 'ctx', properties });
    await rig.final(resource.id);
    const began = Date.now();
    await change(b);
    await eventually(async () => (await rig.ask(contextShow, { project, context: 'ctx' })).data.version === 2);
    return Date.now() - began;
  };

  it('CONTEXT_SETTLE_SECONDS: a change of a host after this time', async () => {
    await open({ CONTEXT_SETTLE_SECONDS: '30' });
    const change = (host: string) => rig.post(host, { deploy_status_code: 0, 'fact.rack': '1' });
    expect(await took(change)).toBeGreaterThanOrEqual(30_000);
  });

  it('CONTEXT_DELETED_SECONDS: the deletion of a host after this time', async () => {
    await open({ CONTEXT_DELETED_SECONDS: '7' });
    // With the default, after 120 s.
    expect(await took((id) => rig.ask(hostCalls.hostDelete, { id }))).toBeLessThan(90_000);
  });
});

it('DEAD_LETTER_SECONDS: messages of a dead-letter queue live for at most this time', async () => {
  await open({ DEAD_LETTER_SECONDS: '60' });
  const create = (seconds: number) => {
    const more = { _dead_letter_queue: 'dead', _dead_letter_queue_messages_ttl: seconds };
    return rig.ask(queueCreate, { project, queue: 'q', metadata: { _max_claim_count: 2, ...more } });
  };
  await rig.ask(queueCreate, { project, queue: 'dead' });
  await expect(create(90)).rejects.toThrow('at most 60 (ANNEAL_CONFIGURATION_DEAD_LETTER_SECONDS)');
  expect(await create(60)).toEqual({ created: true });
});
