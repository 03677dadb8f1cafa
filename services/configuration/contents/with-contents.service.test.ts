import { createHash, randomUUID } from 'node:crypto';
import { configCreate, configDelete } from '@anneal/contracts/calls/configs.ts';
import { deploymentCreate, deploymentShow } from '@anneal/contracts/calls/deployments.ts';
import { hostRequestSchema, runConfig } from '@anneal/contracts/calls/host-messages.ts';
import { queueClaim } from '@anneal/contracts/calls/queues.ts';
import type { Collection } from '@anneal/store/port.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openConfigurationCollections, type ConfigurationCollections } from '../collections.ts';
import { claimed, createRig, project, type Rig } from '../testing/running-service.ts';
import type { WithContents } from './stored-contents.ts';

const hourMs = 3_600_000;
let rig: Rig;
let collections: ConfigurationCollections;
beforeEach(async () => {
  rig = await createRig();
  collections = await openConfigurationCollections(rig.context.store);
});
afterEach(() => rig.dispose());

/** The documents as they are in the store. */
async function rawOf(name: string): Promise<WithContents[]> {
  const raw: Collection<WithContents> = await rig.context.store.collection({
    name,
    indexes: [{ fields: ['has_contents'], only: { field: 'has_contents', is: true } }],
  });
  return raw.find({ where: { has_contents: true } });
}

const contents = async (): Promise<string[]> =>
  (await (await rig.context.store.collection({ name: 'configuration_contents', indexes: [] })).find({ where: {} })).map(
    ({ id }) => id,
  );

async function store(config: string): Promise<string> {
  const id = randomUUID();
  const rest = { group: 'script', inputs: [], outputs: [], options: {} };
  await rig.ask(configCreate, { id, project, name: 'large', config, ...rest });
  return id;
}

const run = (config: string, host: string, input_values = {}) =>
  rig.ask(deploymentCreate, { id: randomUUID(), project, host, config, input_values, action: 'CREATE' });

it('a config of 2 MB is stored once for all its deployments, and each host receives it whole', async () => {
  const text = `#!/bin/sh\n: ${'ü'.repeat(1_000_000)}\ud800\n`;
  const config = await store(text);
  const hosts = await Promise.all(['a', 'b', 'c'].map((name) => rig.host(name)));
  const made = await Promise.all(hosts.map(({ id }) => run(config, id)));
  expect(await contents()).toHaveLength(1);
  const stored = [...(await rawOf('configuration_resources')), ...(await rawOf('configuration_messages'))];
  expect(stored).toHaveLength(7);
  for (const document of stored) expect(JSON.stringify(document).length).toBeLessThan(10_000);
  for (const [index, { id }] of hosts.entries()) {
    const { request } = await claimed(rig, id);
    expect(request.config === text).toBe(true);
    await rig.post(id, { id: request.id, status_code: 0 });
    await rig.event('deployment.completed', made[index]?.id ?? '');
  }
  const view = await rig.ask(deploymentShow, { project, deployment: made[0]?.id ?? '' });
  expect(view.status).toBe('COMPLETE');
});

it('keeps a long input and a map with long texts beside short ones', async () => {
  const host = await rig.host('web');
  const long = 'x'.repeat(70_000);
  await run(await store('true'), host.id, { long, short: 'y', map: { list: ['a', long] } });
  const { request } = await claimed(rig, host.id);
  const valueOf = (name: string): unknown => request.inputs.find((input) => input.name === name)?.value;
  expect([valueOf('long'), valueOf('short'), valueOf('map')]).toEqual([long, 'y', { list: ['a', long] }]);
  const [document] = await rawOf('configuration_resources');
  expect(JSON.stringify(document).length).toBeLessThan(20_000);
  expect(await contents()).toHaveLength(1);
});

it('stores a long list of short values once for all the runs that have it', async () => {
  const hosts = await Promise.all(['a', 'b', 'c'].map((name) => rig.host(name)));
  const members = Array.from({ length: 400 }, (_, index) => ({
    name: `compute-${index}`,
    address: `192.0.2.${index}`,
  }));
  const context = { version: 7, members, 'a.b': [1, null] };
  // Its parts are short, or too many beside the long one.
  const more = { members, ...Object.fromEntries(members.map(({ name }) => [name, 'x'.repeat(50)])) };
  const config = await store('true');
  for (const { id } of hosts) await run(config, id, { context, more });
  expect(await contents()).toHaveLength(2);
  const stored = [...(await rawOf('configuration_resources')), ...(await rawOf('configuration_messages'))];
  expect(stored).toHaveLength(6);
  for (const document of stored) expect(JSON.stringify(document).length).toBeLessThan(5_000);
  // Another process has nothing in memory.
  const other = await openConfigurationCollections(rig.context.store);
  const found = await other.resources.find({ where: { project, kind: 'deployment' } });
  expect(found.map(({ deployment }) => deployment?.input_values)).toEqual(hosts.map(() => ({ context, more })));
  const { request } = await claimed(rig, hosts[0]?.id ?? '');
  expect(request.inputs.find(({ name }) => name === 'context')?.value).toEqual(context);
});

it('a host that fetches configs receives a reference, and only this host may read the config', async () => {
  const text = `#!/bin/sh\n: ${'ü'.repeat(100_000)}\n`;
  const config = await store(text);
  const [host, other] = await Promise.all([rig.host('web'), rig.host('db')]);
  if (!host || !other) throw new Error('The hosts are missing.');
  await run(config, host.id);
  const claim = { project, queue: `host.${host.id}.requests`, ttl: 60, grace: 60, by_reference: true };
  const { messages } = await rig.ask(queueClaim, claim);
  const request = hostRequestSchema.parse(messages[0]?.body);
  const bytes = Buffer.from(text);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  expect(request).toMatchObject({ config: '', config_ref: { sha256, size: bytes.byteLength } });
  const callerOf = ({ id, token }: { id: string; token: string }) => ({
    host_id: id,
    token_hash: createHash('sha256').update(token).digest('hex'),
  });
  const { blob } = await rig.ask(runConfig, { caller: callerOf(host), run: request.id });
  const stored = (await rig.context.store.blobs.getText(blob)) ?? '';
  expect(JSON.parse(stored.slice(stored.indexOf('\n')))).toBe(text);
  const asOther = rig.ask(runConfig, { caller: callerOf(other), run: request.id });
  await expect(asOther).rejects.toMatchObject({ code: 'NotFound' });
  const wrong = { ...callerOf(host), token_hash: callerOf(other).token_hash };
  await expect(rig.ask(runConfig, { caller: wrong, run: request.id })).rejects.toMatchObject({ code: 'Unauthorized' });
  await expect(rig.ask(runConfig, { run: request.id })).rejects.toMatchObject({ code: 'NotFound' });
  const short = await rig.ask(queueClaim, { ...claim, queue: `host.${other.id}.requests` });
  expect(short.messages).toEqual([]);
});

it('a host that fetches inputs receives references to long values, and sealed ones whole', async () => {
  const host = await rig.host('web');
  const members = Array.from({ length: 600 }, (_, index) => ({ name: `compute-${index}`, state: 'up' }));
  const values = {
    context: { version: 7, members },
    short: ['y'],
    secret: [rig.context.secrets.seal('s'.repeat(20_000))],
  };
  await run(await store('true'), host.id, values);
  const claim = { project, queue: `host.${host.id}.requests`, ttl: 60, grace: 60, client_id: 'agent' };
  const whole = await rig.ask(queueClaim, claim);
  const { messages } = await rig.ask(queueClaim, { ...claim, inputs_by_reference: true });
  expect(JSON.stringify(messages).length).toBeLessThan(JSON.stringify(whole.messages).length - 14_000);
  const request = hostRequestSchema.parse(messages[0]?.body);
  const inputOf = (name: string) => request.inputs.find((input) => input.name === name);
  const text = JSON.stringify(values.context);
  const sha256 = createHash('sha256').update(text).digest('hex');
  expect(inputOf('context')).toMatchObject({ value: '', value_ref: { sha256, size: text.length } });
  expect(inputOf('short')).toMatchObject({ value: ['y'] });
  expect(inputOf('secret')).toMatchObject({ value: ['s'.repeat(20_000)] });
  const caller = { host_id: host.id, token_hash: createHash('sha256').update(host.token).digest('hex') };
  const { blob } = await rig.ask(runConfig, { caller, run: request.id, input: 'context' });
  const stored = (await rig.context.store.blobs.getText(blob)) ?? '';
  expect(stored.slice(stored.indexOf('\n') + 1)).toBe(text);
  const other = rig.ask(runConfig, { caller, run: request.id, input: 'constructor' });
  await expect(other).rejects.toMatchObject({ code: 'NotFound' });
});

it('every verb of the collection writes and reads whole documents', async () => {
  const { resources } = collections;
  const id = await store('x'.repeat(100_000));
  const found = await resources.get(id);
  if (!found?.config) throw new Error('The config is missing.');
  const text = 'z'.repeat(100_000);
  const changed = await resources.replace({ ...found, config: { ...found.config, config: text } }, found.version);
  expect(changed).toMatchObject({ config: { config: text }, version: 2 });
  expect(changed).not.toHaveProperty('contents');
  expect(await resources.replace(found, 1)).toBeUndefined();
  expect((await resources.getMany([id]))[0]).toEqual(changed);
  expect((await resources.find({ where: { project, kind: 'config' } }))[0]).toEqual(changed);
  if (!changed?.config) throw new Error('The config is missing.');
  const short = { ...changed, config: { ...changed.config, config: 'true' } };
  expect(await resources.bulk([{ kind: 'replace', document: short, version: 2 }])).toEqual(['done']);
  expect(await resources.get(id)).toEqual({ ...short, version: 3 });
  expect(await rawOf('configuration_resources')).toEqual([]);
});

it('K1, K2: removes a content when nothing names it, and not before', async () => {
  const [kept, dropped] = ['k', 'd'].map((letter) => letter.repeat(100_000));
  const config = await store(kept ?? '');
  const unused = await store(dropped ?? '');
  await rig.ask(configDelete, { project, config: unused });
  const document = await collections.resources.get(unused);
  if (document) await collections.resources.remove(unused);
  const soon = Date.now() + hourMs / 2;
  expect(await collections.sweepContents(soon)).toBe(0);
  expect(await contents()).toHaveLength(2);
  const later = Date.now() + 2 * hourMs;
  expect(await collections.sweepContents(later)).toBe(1);
  expect(await contents()).toHaveLength(1);
  // Another process has nothing in memory.
  const other = await openConfigurationCollections(rig.context.store);
  expect((await other.resources.get(config))?.config?.config).toBe(kept);
  expect(await other.sweepContents(later)).toBe(0);
});
