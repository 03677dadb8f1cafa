import { randomUUID } from 'node:crypto';
import { contextShow } from '@anneal/contracts/calls/context.ts';
import { deploymentList } from '@anneal/contracts/calls/deployments.ts';
import { hostDelete } from '@anneal/contracts/calls/hosts.ts';
import { contextDataSchema, type ContextData } from '@anneal/contracts/calls/context.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { resourceSignal } from '@anneal/contracts/resource.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { claimed, createRig, project, type Claimed, type Rig } from '../testing/running-service.ts';

useQuickClock();
let rig: Rig;
const disarm: (() => void)[] = [];
afterEach(async () => {
  for (const each of disarm.splice(0)) each();
  await rig.dispose();
});

const type = 'Anneal::Context';
const environment = {
  ANNEAL_CONFIGURATION_CONTEXT_SETTLE_SECONDS: '1',
  ANNEAL_CONFIGURATION_CONTEXT_DELETED_SECONDS: '1',
};

const dataIn = ({ request }: Claimed): ContextData =>
  contextDataSchema.parse(request.inputs.find(({ name }) => name === 'context')?.value);
const versionIn = (one: Claimed): number => dataIn(one).version;

async function hosts(...names: string[]): Promise<string[]> {
  const made = await Promise.all(names.map((name) => rig.host(name)));
  for (const [index, { id }] of made.entries()) {
    await rig.post(id, { hello: true, facts: { address: `10.0.0.${index + 1}` } });
  }
  return made.map(({ id }) => id);
}

async function config(text = 'echo'): Promise<string> {
  const { resource } = await rig.request('create', {
    type: 'OS::Heat::SoftwareConfig',
    name: 'conf',
    properties: { group: 'script', config: text },
  });
  await rig.final(resource.id);
  return resource.id;
}

/** Claims the next request of a host and answers it. */
async function run(host: string, outputs: JsonObject = {}, status_code = 0): Promise<Claimed> {
  const next = await claimed(rig, host);
  await rig.post(host, { id: next.request.id, status_code, outputs, stderr: status_code === 0 ? '' : 'no disk' });
  return next;
}

/** The version that the deployment of a host is to apply. */
async function queued(host: string): Promise<unknown> {
  const { deployments } = await rig.ask(deploymentList, { project, host });
  return deployments[0]?.input_values['context_version'];
}
const show = (context: string) => rig.ask(contextShow, { project, context });
const settledAt = (context: string, version: number) =>
  eventually(
    async () => {
      const shown = await show(context);
      return shown.data.version === version && shown.settled_at !== null ? shown : undefined;
    },
    { what: `version ${version} of the context to settle`, last: () => rig.events.map((each) => each.type) },
  );

describe('a context', () => {
  it('gives every member the data of all, completes when all have run, and shows its data', async () => {
    rig = await createRig({ environment });
    const [head = '', node = ''] = await hosts('head', 'node');
    const members = { head, compute: [node] };
    const configs = [{ config: await config(), input_values: { port: '80' } }];
    const { resource } = await rig.request('create', { type, name: 'ctx', properties: { members, configs } });
    const [onHead, onNode] = [await run(head), await run(node)];
    expect(dataIn(onHead)).toEqual(dataIn(onNode));
    const inputs = Object.fromEntries(onNode.request.inputs.map(({ name, value }) => [name, value]));
    expect(inputs).toMatchObject({
      port: '80',
      context_version: 1,
      context_name: 'node',
      context_roles: 'compute',
      context_members: 'head 10.0.0.1 head up\nnode 10.0.0.2 compute up\n',
    });
    const { status, attributes } = await rig.final(resource.id);
    expect(status).toBe('complete');
    expect(attributes).toMatchObject({ version: 1, names: { head: ['head'] }, addresses: { compute: ['10.0.0.2'] } });
    expect(await show('ctx')).toMatchObject({ id: resource.id, status: 'APPLIED', data: dataIn(onNode) });
    await rig.event('context.changed', resource.id);
    await rig.event('context.applied', resource.id);
  });

  it('runs a config only on members of its roles', async () => {
    rig = await createRig({ environment });
    const [head = '', node = ''] = await hosts('head', 'node');
    const configs = [{ config: await config('all') }, { config: await config('heads'), name: 'boss', roles: ['head'] }];
    const properties = { members: { head, compute: node }, configs };
    const { resource } = await rig.request('create', { type, name: 'ctx', properties });
    const texts = [await run(head), await run(head), await run(node)].map(({ request }) => request.config);
    expect(texts).toEqual(['all', 'heads', 'all']);
    expect(await rig.final(resource.id)).toMatchObject({ status: 'complete' });
    expect(await rig.claim(node)).toBeUndefined();
  });

  it('G2: several changes of hosts cause one version and one run on each member', async () => {
    rig = await createRig({ environment });
    const [a = '', b = ''] = await hosts('a', 'b');
    const properties = { members: { all: [a, b] }, facts: ['rack'], configs: [{ config: await config() }] };
    const { resource } = await rig.request('create', { type, name: 'ctx', properties });
    await Promise.all([run(a), run(b)]);
    await rig.final(resource.id);
    for (const rack of ['1', '2', '3']) {
      await rig.post(a, { deploy_status_code: 0, 'fact.rack': `a${rack}`, 'fact.other': rack });
      await rig.post(b, { deploy_status_code: 0, 'fact.rack': `b${rack}` });
    }
    const runs = [await run(a), await run(b)];
    expect(runs.map(versionIn)).toEqual([2, 2]);
    expect(runs.map((one) => dataIn(one).members.map(({ facts }) => facts['rack']))).toEqual([
      ['a3', 'b3'],
      ['a3', 'b3'],
    ]);
    await settledAt('ctx', 2);
    expect(await rig.claim(a)).toBeUndefined();
    // The stack gets the new attributes although it asked for nothing.
    const signal = await eventually(() =>
      rig.responses.find(({ action, attributes }) => action === 'signal' && attributes?.['version'] === 2),
    );
    expect(signal).toMatchObject({ resource_id: resource.id, status: 'complete' });
    // A fact that the context does not choose changes nothing.
    await rig.post(a, { deploy_status_code: 0, 'fact.other': 'x' });
    await rig.post(a, { deploy_status_code: 0, 'fact.rack': 'z' });
    expect(versionIn(await run(a))).toBe(3);
  });

  it('C2, C3: a member that waits gets the newest version; one that runs gets exactly one more', async () => {
    rig = await createRig({ environment });
    const [busy = '', idle = ''] = await hosts('busy', 'idle');
    const properties = { members: { all: [busy, idle] }, facts: ['n'], configs: [{ config: await config() }] };
    const { resource } = await rig.request('create', { type, name: 'ctx', properties });
    const first = await claimed(rig, busy);
    for (const version of [2, 3]) {
      await rig.post(idle, { deploy_status_code: 1, id: 'none', 'fact.n': String(version) });
      await eventually(async () => ((await queued(idle)) === version ? true : undefined), {
        what: `the run of version ${version} in the queue`,
      });
    }
    expect(versionIn(await run(idle))).toBe(3);
    await rig.post(busy, { id: first.request.id, status_code: 0 });
    expect(versionIn(first)).toBe(1);
    expect(versionIn(await run(busy))).toBe(3);
    expect((await rig.final(resource.id)).status).toBe('complete');
    expect(await rig.claim(busy)).toBeUndefined();
    expect(await rig.claim(idle)).toBeUndefined();
  });

  it('C1: runs a version once on a member that another round has started and finished meanwhile', async () => {
    rig = await createRig({ environment });
    // More than one round starts at the same time.
    const many = await hosts(...Array.from({ length: 18 }, (_, index) => `m${index}`));
    const [first = '', second = ''] = many;
    const late = many.slice(16);
    const gate = Promise.withResolvers<void>();
    let passes = 0;
    disarm.push(armFault('configuration.run.recorded', () => (++passes === 1 ? gate.promise : undefined)));
    const properties = { members: { all: many }, configs: [{ config: await config() }] };
    const { resource } = await rig.request('create', { type, name: 'ctx', properties });
    // The end of this run wakes a second round while the first one is held.
    const answered = many.find((host) => host !== first && host !== second && !late.includes(host)) ?? '';
    await run(answered);
    for (const host of late) await run(host);
    gate.resolve();
    for (const host of many) if (host !== answered && !late.includes(host)) await run(host);
    expect((await rig.final(resource.id)).status).toBe('complete');
    // An event may arrive twice under one id.
    const events = rig.events.filter((each) => each.type === 'deployment.queued');
    const queuedHosts = [...new Map(events.map((each) => [each.id, each.data as { host_id: string }])).values()].map(
      ({ host_id }) => host_id,
    );
    expect(queuedHosts.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(many.toSorted((a, b) => (a < b ? -1 : 1)));
  });

  it('follows its members: a new one and the others run once; one that left is not awaited', async () => {
    rig = await createRig({ environment });
    const [a = '', b = '', c = ''] = await hosts('a', 'b', 'c');
    const configs = [{ config: await config() }];
    const { resource } = await rig.request('create', {
      type,
      name: 'ctx',
      properties: { members: { all: [a, b] }, configs },
    });
    await Promise.all([run(a), run(b)]);
    await rig.final(resource.id);
    const members = { all: [a, c] };
    await rig.request('update', { type, name: 'ctx', id: resource.id, fence: 2, properties: { members, configs } });
    expect([versionIn(await run(a)), versionIn(await run(c))]).toEqual([2, 2]);
    expect((await rig.final(resource.id, 2)).attributes).toMatchObject({ names: { all: ['a', 'c'] } });
    expect(await rig.claim(b)).toBeUndefined();
    expect((await rig.ask(deploymentList, { project, host: 'b' })).deployments).toEqual([]);
    await rig.ask(hostDelete, { id: c });
    expect(dataIn(await run(a)).names).toEqual({ all: ['a'] });
    await settledAt('ctx', 3);
  });

  it('G5: follows signals with other members at once, each newer one once, and none of an older request', async () => {
    rig = await createRig({ environment: { ...environment, ANNEAL_CONFIGURATION_CONTEXT_SETTLE_SECONDS: '60' } });
    const [a = '', b = '', c = ''] = await hosts('a', 'b', 'c');
    const properties = { members: { all: [a] }, configs: [{ config: await config() }] };
    const { resource, ...asked } = await rig.request('create', { type, name: 'ctx', fence: 5, properties });
    await run(a);
    await rig.final(resource.id, 5);
    const signal = (members: string[], sequence: number, fence = 5) => {
      const data = { ...asked, resource, fence, signal: { follows: { members: { all: members } }, sequence } };
      return rig.context.bus.send({
        queue: requestsQueue('configuration'),
        messages: [rig.context.mint(resourceSignal, { project, data })],
      });
    };
    let faults = 0;
    const failing = (): void => {
      faults += 1;
      if (faults === 1) throw new Error('the first delivery fails');
    };
    disarm.push(armFault('configuration.context.followed', failing));
    await signal([a, b], 2);
    expect([await run(a), await run(b)].map(versionIn)).toEqual([2, 2]);
    await settledAt('ctx', 2);
    await signal([a], 1);
    await signal([a, b], 2);
    await signal([a, b, c], 9, 4);
    await signal([a, b, c], 3);
    expect([await run(a), await run(b), await run(c)].map((one) => dataIn(one).names)).toEqual(
      Array.from({ length: 3 }, () => ({ all: ['a', 'b', 'c'] })),
    );
    expect((await settledAt('ctx', 3)).data.version).toBe(3);
    // A change of a host that a signal brought in is a change of the context.
    await rig.ask(hostDelete, { id: c });
    expect(dataIn(await run(a)).names).toEqual({ all: ['a', 'b'] });
  });

  it('runs again on the others when a member falls silent, and on all when it returns', async () => {
    rig = await createRig({ environment: { ...environment, ANNEAL_CONFIGURATION_SILENT_SECONDS: '4' } });
    const [a = '', b = ''] = await hosts('a', 'b');
    const properties = { members: { all: [a, b] }, configs: [{ config: await config() }] };
    const { resource } = await rig.request('create', { type, name: 'ctx', properties });
    await Promise.all([run(a), run(b)]);
    await rig.final(resource.id);
    await rig.event('host.silent', b);
    // Asking for work keeps this host up.
    const silent = await run(a);
    expect(dataIn(silent).members.map(({ state }) => state)).toContain('silent');
    await rig.claim(b);
    const back = await run(b);
    expect(dataIn(back).members.find(({ name }) => name === 'b')).toMatchObject({ state: 'up' });
    expect(versionIn(back)).toBeGreaterThan(versionIn(silent));
  });

  it('fails with the output of the config, and repeats it for the next request', async () => {
    rig = await createRig({ environment });
    const [a = '', b = ''] = await hosts('a', 'b');
    const properties = { members: { all: [a, b] }, configs: [{ config: await config(), name: 'second-phase' }] };
    const { resource } = await rig.request('create', { type, name: 'ctx', properties });
    await run(a, {}, 3);
    await run(b);
    const { status, error } = await rig.final(resource.id);
    expect(status).toBe('failed');
    expect(error?.message).toContain('second-phase failed on a: deploy_status_code');
    expect(await show('ctx')).toMatchObject({ status: 'FAILED', failures: [{ member: 'a', config: 'second-phase' }] });
    // A member sees the data, and not what another host printed.
    const toMember = await rig.ask(contextShow, { project, context: 'ctx', member: b });
    expect(toMember).toMatchObject({ status: 'FAILED', failures: [], data: { version: 1 } });
    expect(JSON.stringify(toMember)).not.toContain('deploy_status_code');
    await rig.event('context.failed', resource.id);
    await rig.request('update', { type, name: 'ctx', id: resource.id, fence: 2, properties });
    await run(a);
    expect((await rig.final(resource.id, 2)).status).toBe('complete');
    expect(await rig.claim(b)).toBeUndefined();
  });

  it('G4: has no version before every member has asked for work', async () => {
    rig = await createRig({ environment });
    const [a = ''] = await hosts('a');
    const { id: late } = await rig.host('late');
    const properties = { members: { all: [a, late] }, configs: [{ config: await config() }] };
    const { resource } = await rig.request('create', { type, name: 'ctx', properties });
    await eventually(() => rig.responses.find(({ message }) => message === 'Waits for late to ask for work'));
    expect(await rig.claim(a)).toBeUndefined();
    await rig.claim(late);
    expect([versionIn(await run(a)), versionIn(await run(late))]).toEqual([1, 1]);
    expect((await rig.final(resource.id)).status).toBe('complete');
  });

  it('refuses members and configs that do not exist', async () => {
    rig = await createRig({ environment });
    const missing = randomUUID();
    const { resource } = await rig.request('create', { type, name: 'ctx', properties: { members: { all: missing } } });
    const { error } = await rig.final(resource.id);
    expect(error).toMatchObject({ code: 'NotFound', mistakes: [{ path: 'resources.ctx.properties.members.all' }] });
  });

  it('is deleted with its runs; a change of its hosts has no effect any more', async () => {
    rig = await createRig({ environment });
    const [a = ''] = await hosts('a');
    const properties = { members: { all: a }, facts: ['n'], configs: [{ config: await config() }] };
    const { resource } = await rig.request('create', { type, name: 'ctx', properties });
    await eventually(() => queued(a));
    await rig.request('delete', { type, name: 'ctx', id: resource.id, fence: 2, properties: {} });
    expect((await rig.final(resource.id, 2)).status).toBe('complete');
    expect(await rig.claim(a)).toBeUndefined();
    await expect(show('ctx')).rejects.toMatchObject({ code: 'NotFound' });
  });
});

describe('a context whose service stops halfway', () => {
  const points = [
    'provider.recorded',
    'configuration.context.changed',
    'configuration.run.recorded',
    'configuration.run.ended',
    'outbox.sent',
  ];

  it.each(points)('G3: runs each version once on each member after a fault at %s', async (point) => {
    rig = await createRig({ environment });
    const [a = '', b = ''] = await hosts('a', 'b');
    const configs = [{ config: await config() }];
    let faults = 0;
    disarm.push(
      armFault(point, () => {
        faults += 1;
        if (faults === 1) throw new Error(`fault ${point}`);
      }),
    );
    const members = { all: [a, b] };
    const { resource } = await rig.request('create', {
      type,
      name: 'ctx',
      properties: { members, facts: ['n'], configs },
    });
    const answered = async (host: string): Promise<number> => {
      const next = await claimed(rig, host);
      const answer = () => rig.post(host, { id: next.request.id, status_code: 0 });
      await answer().catch(answer);
      return versionIn(next);
    };
    expect([await answered(a), await answered(b)]).toEqual([1, 1]);
    expect((await rig.final(resource.id)).status).toBe('complete');
    expect(faults).toBeGreaterThan(0);
    faults = 0;
    const report = () => rig.post(a, { deploy_status_code: 0, 'fact.n': '1' });
    await report().catch(report);
    expect([await answered(a), await answered(b)]).toEqual([2, 2]);
    await settledAt('ctx', 2);
    expect([await rig.claim(a), await rig.claim(b)]).toEqual([undefined, undefined]);
  });

  it('G3: follows a change of a host that came just before the stop', async () => {
    const context = await createTestContext({ name: 'configuration' });
    const shared = { bus: context.bus, store: context.store, directory: context.directory, environment };
    rig = await createRig(shared);
    const [a = ''] = await hosts('a');
    const properties = { members: { all: a }, facts: ['n'], configs: [{ config: await config() }] };
    const { resource } = await rig.request('create', { type, name: 'ctx', properties });
    await run(a);
    await rig.final(resource.id);
    await rig.post(a, { deploy_status_code: 0, 'fact.n': '1' });
    await rig.event('host.facts.changed', a);
    await rig.stop();
    rig = await createRig(shared);
    expect(versionIn(await run(a))).toBe(2);
    await settledAt('ctx', 2);
    await rig.stop();
    await context.dispose();
  });
});
