import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { randomUUID } from 'node:crypto';
import { configCreate, configList, configShow } from '@anneal/contracts/calls/configs.ts';
import { deploymentList, deploymentShow } from '@anneal/contracts/calls/deployments.ts';
import { hostDelete } from '@anneal/contracts/calls/hosts.ts';
import { queueMessages } from '@anneal/contracts/calls/queues.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { change } from '@anneal/store/change.ts';
import { openConfigurationCollections } from '../collections.ts';
import { claimed, createRig, project, type Rig } from '../testing/running-service.ts';

useQuickClock({ stepMs: 20 });

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.dispose());

const ordered = (hostId: string, more: Record<string, unknown> = {}) => ({
  type: 'OS::Heat::OrderedConfig',
  properties: { hosted_on: hostId, script: '#!/bin/sh\necho hi\n', actions: ['CREATE', 'UPDATE'], ...more } as never,
});

describe('a deployment', () => {
  it('goes through the queue of its host, and its outputs become attributes', async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', { ...ordered(host.id), name: 'configA' });
    const { request, claim_id } = await claimed(rig, host.id);
    expect(request).toMatchObject({ group: 'script', action: 'CREATE', deployment_id: resource.id, name: 'configA' });
    expect(claim_id).toBeTruthy();
    await rig.post(host.id, { id: request.id, progress: 'started', at: new Date().toISOString() });
    await rig.post(host.id, { id: request.id, status_code: 0, stdout: 'hi\n', outputs: { port: '80' } });
    const answer = await rig.final(resource.id);
    expect(answer).toMatchObject({
      status: 'complete',
      physical_id: resource.id,
      attributes: { deploy_stdout: 'hi\n', deploy_status_code: 0, port: '80' },
    });
    const steps = ['queued', 'started', 'completed'].map((step) => `deployment.${step}`);
    await rig.event('deployment.completed', resource.id);
    const published = rig.events.filter(({ subject }) => subject === resource.id);
    expect(published.map(({ type }) => type)).toEqual(steps);
    const [queued] = published.map(({ data }) => (data as { origin: unknown }).origin);
    for (const { data } of published)
      expect(data).toMatchObject({ origin: queued, host_name: 'web', resource_name: 'configA' });
    // A1
    const { accepted_at } = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(accepted_at).toEqual(expect.any(String));
    expect(published.map(({ data }) => (data as { accepted_at?: string }).accepted_at)).toEqual([
      undefined,
      accepted_at,
      accepted_at,
    ]);
    await rig.event('host.up', host.id);
    expect(await rig.claim(host.id)).toBeUndefined();
    const view = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(view).toMatchObject({ status: 'COMPLETE', status_code: 0, host_name: 'web' });
    const { configs } = await rig.ask(configList, { project });
    expect(configs).toMatchObject([{ id: resource.id, name: 'configA', group: 'script' }]);
    const config = await rig.ask(configShow, { project, config: resource.id });
    expect(config.config).toBe('#!/bin/sh\necho hi\n');
    expect(config.inputs).toContainEqual({ name: 'deploy_action', type: 'String', value: 'CREATE' });
    await expect(rig.ask(configShow, { project, config: 'none' })).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('A2, A3: reports once that its host took the request, also when host and service do nothing else', async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', { ...ordered(host.id), name: 'configA' });
    const { resource: next } = await rig.request('create', { ...ordered(host.id), name: 'configB' });
    await rig.event('deployment.queued', next.id);
    const { request } = await claimed(rig, host.id);
    await rig.restart({});
    const { data } = await rig.event('deployment.accepted', resource.id);
    const { accepted_at } = data as { accepted_at?: string };
    expect(data).toMatchObject({ status: 'IN_PROGRESS', host_name: 'web', status_code: null });
    const taken = { reason: 'Taken by web', started_at: null, accepted_at, answer_state: 'started' };
    expect(await rig.ask(deploymentShow, { project, deployment: resource.id })).toMatchObject(taken);
    const { deployments } = await rig.ask(deploymentList, { project, host: host.id });
    expect(deployments.find(({ id }) => id === resource.id)).toMatchObject(taken);
    expect(deployments.find(({ id }) => id === next.id)).not.toHaveProperty('accepted_at');
    await rig.post(host.id, { id: request.id, status_code: 0 });
    expect((await rig.event('deployment.completed', resource.id)).data).toMatchObject({ accepted_at });
    const types = rig.events.filter(({ subject }) => subject === resource.id).map(({ type }) => type);
    expect(types).toEqual(['deployment.queued', 'deployment.accepted', 'deployment.completed']);
    expect(rig.events.filter(({ subject }) => subject === next.id).map(({ type }) => type)).toEqual([
      'deployment.queued',
    ]);
  });

  it('A3: reports when its host took the request, also after the death of the process that handed it out', async () => {
    const first = await createRig({ bus: rig.context.bus, store: rig.context.store, directory: rig.context.directory });
    const host = await rig.host('web');
    const { resource } = await rig.request('create', { ...ordered(host.id), name: 'configA' });
    const { request } = await claimed(rig, host.id);
    const before = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(before).toMatchObject({ accepted_at: expect.any(String), started_at: null, answer_state: 'started' });
    const { accepted_at } = before;
    await rig.restart({});
    await first.stop();
    // Repeats of the claim and of the answer change nothing.
    expect(await rig.claim(host.id, { client_id: host.id })).toBeUndefined();
    for (let time = 0; time < 2; time += 1) await rig.post(host.id, { id: request.id, status_code: 0 });
    const { data } = await rig.event('deployment.completed', resource.id);
    expect(data).toMatchObject({ accepted_at });
    const shown = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(shown).toMatchObject({ status: 'COMPLETE', accepted_at });
  });

  it('runs a stored config of its own project only', async () => {
    const host = await rig.host('web');
    const config = {
      id: randomUUID(),
      name: 'x',
      group: 'script',
      config: 'true',
      inputs: [],
      outputs: [],
      options: {},
    };
    const other = '00000000000000000000000000000002';
    const message = rig.context.mint(configCreate, { data: { ...config, project: other }, project: other });
    await rig.context.bus.request({ queue: requestsQueue('configuration'), call: configCreate, message });
    const type = 'OS::Heat::SoftwareDeployment';
    const { resource } = await rig.request('create', { type, properties: { server: host.id, config: config.id } });
    expect(await rig.final(resource.id)).toMatchObject({
      status: 'failed',
      error: { code: 'NotFound', message: expect.stringContaining(`Config ${config.id} of dep does not exist`) },
    });
  });

  it('reports host, config, exit status and standard error of the script when it fails', async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', { ...ordered(host.id), name: 'configA' });
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, { id: request.id, status_code: 1, stderr: 'no such disk\n' });
    const answer = await rig.final(resource.id);
    expect(answer.status).toBe('failed');
    expect(answer.error).toMatchObject({
      code: 'DeploymentFailed',
      message: expect.stringContaining(
        'Deployment to server failed: deploy_status_code : Deployment exited with non-zero status code: 1',
      ),
      details: { host: 'web', host_id: host.id, deployment: 'configA', status_code: 1, stderr: 'no such disk\n' },
    });
    const event = await rig.event('deployment.failed', resource.id);
    expect(event.data).toMatchObject({ failure: { code: 'DeploymentFailed' } });
  });

  it('P2: is run once and answered twice when it is requested twice', async () => {
    const host = await rig.host('web');
    const id = randomUUID();
    await rig.request('create', { ...ordered(host.id), id });
    await rig.request('create', { ...ordered(host.id), id });
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, { id: request.id, status_code: 0 });
    await rig.final(id);
    expect(await rig.claim(host.id)).toBeUndefined();
    const before = rig.responses.length;
    await rig.request('create', { ...ordered(host.id), id });
    await expect.poll(() => rig.responses.length).toBe(before + 1);
    expect(rig.responses.at(-1)).toMatchObject({ status: 'complete' });
    expect(await rig.claim(host.id)).toBeUndefined();
  });
});

describe('the answer of a host', () => {
  const begin = async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', ordered(host.id));
    const { request } = await claimed(rig, host.id);
    return { host, resource, request };
  };

  it('R3: counts once when repeated; one with an unknown id changes nothing and stays readable', async () => {
    const { host, resource, request } = await begin();
    await rig.post(host.id, { id: request.id, status_code: 0, stdout: 'first' });
    await rig.post(host.id, { id: request.id, status_code: 1, stdout: 'second' });
    await rig.post(host.id, { id: randomUUID(), status_code: 0 });
    expect(await rig.final(resource.id)).toMatchObject({ status: 'complete', attributes: { deploy_stdout: 'first' } });
    const { messages } = await rig.ask(queueMessages, {
      project,
      queue: `host.${host.id}.responses`,
      include_claimed: true,
      echo: true,
      client_id: '',
    });
    expect(messages).toHaveLength(3);
    expect(rig.responses.filter((each) => each.status !== 'in progress')).toHaveLength(1);
  });

  it('is accepted in the form of heat-agents, with and without an id', async () => {
    const { host, resource } = await begin();
    await rig.post(host.id, { deploy_stdout: 'out', deploy_stderr: '', deploy_status_code: '0', result: 'x' });
    expect(await rig.final(resource.id)).toMatchObject({
      status: 'complete',
      attributes: { deploy_stdout: 'out', deploy_status_code: 0, result: 'x' },
    });
  });

  it('M3: is refused with every mistake when it is wrong, and kept as a dead letter with its bytes', async () => {
    const { host } = await begin();
    const refused = rig.answer(host, { id: 7, status_code: 'no' });
    await expect(refused).rejects.toMatchObject({
      code: 'InvalidRequest',
      mistakes: [{ path: 'messages[0].body.id' }, { path: 'messages[0].body.status_code' }],
    });
    const letters = () => rig.context.bus.deadLetters.list({ limit: 10 });
    await expect.poll(async () => (await letters()).length).toBe(1);
    const [letter] = await letters();
    expect(letter?.failure.message).toContain('body.status_code');
    expect(letter?.bytes).toContain('"status_code":"no"');
  });

  it('fails the deployment that it names when it is wrong, with the id of the dead letter', async () => {
    const { host, resource, request } = await begin();
    await expect(rig.answer(host, { id: request.id, status_code: 'no' })).rejects.toMatchObject({
      code: 'InvalidRequest',
    });
    const answer = await rig.final(resource.id);
    // The dead letter is stored after the requester is notified.
    const letter = await eventually(async () => (await rig.context.bus.deadLetters.list({ limit: 10 }))[0]);
    expect(answer).toMatchObject({ status: 'failed', error: { details: { dead_letter: letter.id } } });
    const view = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(view.answer_state).toBe('refused');
  });
});

describe('a missed deadline', () => {
  it('reports that the host never asked for work', async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', { ...ordered(host.id), seconds: 0.3 });
    const answer = await rig.final(resource.id);
    expect(answer.error).toMatchObject({
      code: 'HostSilent',
      details: { host: 'web', host_status: 'expected', no_answer: 'never polled' },
    });
    expect(answer.error?.message).toContain('never asked for work');
    expect(await rig.claim(host.id)).toBeUndefined();
  });

  it('reports that the script started but did not end within the timeout of its options', async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', ordered(host.id, { options: { timeout: 0.5 } }));
    const { request } = await claimed(rig, host.id);
    // The clock of the host is wrong by ten years.
    await rig.post(host.id, { id: request.id, progress: 'started', at: '2036-01-01T00:00:00.000Z' });
    const answer = await rig.final(resource.id);
    expect(answer.error).toMatchObject({ code: 'DeadlineExceeded' });
    expect(answer.error?.message).toMatch(/it ran longer than 0.5 s .* has not answered/);
    expect(await rig.claim(host.id)).toBeUndefined();
  });

  it('reports that the host took the request but did not report its start', async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', ordered(host.id, { options: { timeout: 0.5 } }));
    await claimed(rig, host.id);
    const answer = await rig.final(resource.id);
    expect(answer.error?.message).toMatch(/host web took the request at .* but reported neither a start nor an answer/);
    expect(answer.error?.details).toMatchObject({ no_answer: 'started' });
  });

  it('reports that the host did not take the request within the queue_timeout of its options', async () => {
    const host = await rig.host('web');
    await rig.claim(host.id);
    // Times are in milliseconds, and a contact in the same one is not before it.
    const seen = Date.now();
    await eventually(() => Date.now() > seen, { what: 'the next millisecond' });
    const { resource } = await rig.request('create', ordered(host.id, { options: { queue_timeout: 0.3 } }));
    const answer = await rig.final(resource.id);
    expect(answer.error).toMatchObject({ code: 'DeadlineExceeded', details: { host_status: 'up' } });
    expect(answer.error?.message).toContain('has not taken the request within 0.3 s (options.queue_timeout)');
    expect(answer.error?.message).toMatch(/before this config was queued at/);
    expect(answer.error?.details).toMatchObject({ no_answer: 'polled before' });
  });

  it('does not count the time that a request waits behind another one', async () => {
    const host = await rig.host('web');
    const options = { timeout: 0.3, queue_timeout: 0.3 };
    const long = await rig.request('create', { ...ordered(host.id), name: 'long' });
    const { request } = await claimed(rig, host.id);
    const behind = await rig.request('create', { ...ordered(host.id, { options }), name: 'behind' });
    const other = await rig.host('db');
    const canary = await rig.request('create', { ...ordered(other.id, { options }), name: 'canary' });
    // The same limits end a deployment that stays at the head of its own queue.
    await rig.final(canary.resource.id);
    expect(await rig.ask(deploymentShow, { project, deployment: behind.resource.id })).toMatchObject({
      status: 'IN_PROGRESS',
    });
    await rig.post(host.id, { id: request.id, status_code: 0 });
    await rig.final(long.resource.id);
    expect((await rig.final(behind.resource.id)).error?.message).toContain('has not taken the request within 0.3 s');
  });

  it('is refused with the name of the option unless it is a number of seconds', async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request(
      'create',
      ordered(host.id, { options: { timeout: 'soon', queue_timeout: -1 } }),
    );
    expect((await rig.final(resource.id)).error).toMatchObject({
      code: 'InvalidRequest',
      mistakes: [
        { path: 'resources.dep.properties.options.timeout' },
        { path: 'resources.dep.properties.options.queue_timeout' },
      ],
    });
  });

  it.each([{ reboot: 'sometimes' }, { reboot: true }, { reboot_timeout: 'long' }])(
    'is refused with the name of the option for %j, also in a config of a client',
    async (options) => {
      const [name] = Object.keys(options);
      const mistakes = [{ path: `resources.dep.properties.options.${name}` }];
      const host = await rig.host('web');
      const { resource } = await rig.request('create', ordered(host.id, { options }));
      expect((await rig.final(resource.id)).error).toMatchObject({ code: 'InvalidRequest', mistakes });
      const config = {
        id: randomUUID(),
        project,
        name: 'dep',
        group: 'script',
        config: 'true',
        inputs: [],
        outputs: [],
      };
      await expect(rig.ask(configCreate, { ...config, options })).rejects.toMatchObject({ mistakes });
    },
  );
});

describe('depends_on', () => {
  const pair = async () => {
    const host = await rig.host('web');
    const other = await rig.host('db');
    const a = await rig.request('create', { ...ordered(host.id), name: 'a' });
    await rig.event('deployment.queued', a.resource.id);
    const b = await rig.request('create', { ...ordered(other.id, { depends_on: a.resource.id }), name: 'b' });
    return { host, other, a: a.resource.id, b: b.resource.id };
  };

  it('holds a config until the one before it is complete, also on another host', async () => {
    const { host, other, b } = await pair();
    await rig.event('deployment.queued', b);
    expect(await rig.claim(other.id)).toBeUndefined();
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, { id: request.id, status_code: 0 });
    const next = await claimed(rig, other.id);
    await rig.post(other.id, { id: next.request.id, status_code: 0 });
    expect(await rig.final(b)).toMatchObject({ status: 'complete' });
  });

  it('holds a config until all before it are complete, in any order', async () => {
    const [first, second, third] = await Promise.all(['web', 'db', 'app'].map((name) => rig.host(name)));
    if (!first || !second || !third) throw new Error('The hosts are missing.');
    const before = [];
    for (const host of [first, second]) {
      const { resource } = await rig.request('create', ordered(host.id));
      await rig.event('deployment.queued', resource.id);
      before.push(resource.id);
    }
    const last = await rig.request('create', ordered(third.id, { depends_on: before }));
    await rig.event('deployment.queued', last.resource.id);
    for (const [index, host] of [second, first].entries()) {
      expect(await rig.claim(third.id)).toBeUndefined();
      const { request } = await claimed(rig, host.id);
      await rig.post(host.id, { id: request.id, status_code: 0 });
      await rig.final(before[1 - index] ?? '');
    }
    const { request } = await claimed(rig, third.id);
    await rig.post(third.id, { id: request.id, status_code: 0 });
    expect(await rig.final(last.resource.id)).toMatchObject({ status: 'complete' });
  });

  it('releases a config that an older version of the service let wait', async () => {
    const { host, other, b } = await pair();
    await rig.event('deployment.queued', b);
    const { resources } = await openConfigurationCollections(rig.context.store);
    await change(resources, b, ({ awaits: _unknown, ...older }) => older);
    await rig.restart({});
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, { id: request.id, status_code: 0 });
    const next = await claimed(rig, other.id);
    expect(next.request.deployment_id).toBe(b);
  });

  it('skips all configs after a failed one', async () => {
    const { host, other, a, b } = await pair();
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, { id: request.id, status_code: 2, stderr: 'broken' });
    await rig.final(a);
    expect((await rig.final(b)).error).toMatchObject({ code: 'DeploymentSkipped', details: { depends_on: a } });
    const c = await rig.request('create', { ...ordered(other.id, { depends_on: [b] }), name: 'c' });
    expect((await rig.final(c.resource.id)).error).toMatchObject({ code: 'DeploymentSkipped' });
    await rig.event('deployment.skipped', b);
    await rig.event('deployment.skipped', c.resource.id);
    expect(await rig.claim(other.id)).toBeUndefined();
  });
});

describe('a component', () => {
  const component = (version: string) => ({
    type: 'OS::Heat::SoftwareComponent',
    name: 'component',
    properties: {
      configs: [
        { actions: ['CREATE', 'UPDATE'], config: `echo up ${version}`, tool: 'script' },
        { actions: ['DELETE'], config: 'echo down', tool: 'script' },
      ],
      inputs: [
        { name: 'PORT', type: 'Number', default: 80 },
        { name: 'VERSION', type: 'String', replace_on_change: true },
      ],
      outputs: [{ name: 'address', type: 'String' }],
    },
  });
  const deploymentOf = (config: string, server: string, input_values: Record<string, string>) => ({
    type: 'OS::Heat::SoftwareDeployment',
    properties: { config, server, input_values, actions: ['CREATE', 'UPDATE'] } as never,
  });

  it('runs the entry of each action with its inputs, and nothing for an unchanged update', async () => {
    const host = await rig.host('web');
    const config = (await rig.request('create', component('1'))).resource.id;
    expect(await rig.final(config)).toMatchObject({ status: 'complete', physical_id: config });
    const wanted = deploymentOf(config, host.id, { VERSION: '1', extra: 'x' });
    const { id } = (await rig.request('create', wanted)).resource;
    const create = await claimed(rig, host.id);
    expect(create.request).toMatchObject({ group: 'script', config: 'echo up 1', action: 'CREATE' });
    expect(Object.fromEntries(create.request.inputs.map((input) => [input.name, input.value]))).toMatchObject({
      PORT: 80,
      VERSION: '1',
      extra: 'x',
      deploy_action: 'CREATE',
      deploy_server_id: host.id,
      deploy_resource_name: 'dep',
    });
    await rig.post(host.id, { id: create.request.id, status_code: 0, outputs: { address: 'a:1', undeclared: 'y' } });
    const created = await rig.final(id);
    expect(created.attributes).toMatchObject({ address: 'a:1' });
    expect(created.attributes).not.toHaveProperty('undeclared');

    await rig.request('update', { ...wanted, id, fence: 2 });
    expect(await rig.final(id, 2)).toMatchObject({ status: 'complete', attributes: { address: 'a:1' } });
    expect(await rig.claim(host.id)).toBeUndefined();

    await rig.request('update', { ...deploymentOf(config, host.id, { VERSION: '1', extra: 'z' }), id, fence: 3 });
    const update = await claimed(rig, host.id);
    expect(update.request).toMatchObject({ action: 'UPDATE', config: 'echo up 1' });
    await rig.post(host.id, { id: update.request.id, status_code: 0 });
    expect(await rig.final(id, 3)).toMatchObject({ status: 'complete', attributes: { address: null } });

    await rig.request('update', { ...deploymentOf(config, host.id, { VERSION: '2' }), id, fence: 4 });
    expect(await rig.final(id, 4)).toMatchObject({ status: 'failed', replace: true });

    await rig.request('delete', { ...wanted, id, fence: 5 });
    const remove = await claimed(rig, host.id);
    expect(remove.request).toMatchObject({ action: 'DELETE', config: 'echo down' });
    await rig.post(host.id, { id: remove.request.id, status_code: 0 });
    expect(await rig.final(id, 5)).toMatchObject({ status: 'complete', action: 'delete' });
    expect((await rig.ask(deploymentList, { project, host: 'web' })).deployments).toEqual([]);
  });

  it('P2: drops a request that arrives after a newer one', async () => {
    const id = randomUUID();
    await rig.request('delete', { ...component('1'), id, fence: 2 });
    await rig.final(id, 2);
    await rig.request('create', { ...component('1'), id, fence: 1 });
    const other = (await rig.request('create', component('1'))).resource.id;
    await rig.final(other);
    expect(rig.responses.filter((each) => each.resource_id === id)).toHaveLength(1);
  });

  it('fails its waiting deployments when its host is deleted, and then has nothing to delete', async () => {
    const host = await rig.host('web');
    const config = (await rig.request('create', component('1'))).resource.id;
    await rig.final(config);
    const { id } = (await rig.request('create', deploymentOf(config, host.id, { VERSION: '1' }))).resource;
    await claimed(rig, host.id);
    await rig.ask(hostDelete, { id: host.id });
    expect((await rig.final(id)).error?.message).toContain('was deleted before it answered');
    await rig.request('delete', { ...deploymentOf(config, host.id, { VERSION: '1' }), id, fence: 2 });
    expect(await rig.final(id, 2)).toMatchObject({ status: 'complete' });
  });
});

describe('a secret', () => {
  it('is readable for its host, masked in views and sealed in the store', async () => {
    const host = await rig.host('web');
    const sealed = rig.context.secrets.seal('hunter2');
    const { resource } = await rig.request('create', ordered(host.id, { input_values: { password: sealed } }));
    const { request } = await claimed(rig, host.id);
    expect(request.inputs).toContainEqual({ name: 'password', type: 'String', value: 'hunter2' });
    const view = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(view.input_values.password).toBe('******');
    expect(JSON.stringify(view)).not.toContain('hunter2');
  });

  it('is removed from the error texts of a script that quotes it', async () => {
    const host = await rig.host('web');
    const sealed = rig.context.secrets.seal('hunter2');
    const { resource } = await rig.request('create', ordered(host.id, { input_values: { password: sealed } }));
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, {
      id: request.id,
      status_code: 1,
      error: 'login with hunter2 failed',
      stderr: '+ login root hunter2\ndenied',
      stdout: 'trying hunter2',
    });
    const { error } = await rig.final(resource.id);
    expect(error?.message).toContain('login with ****** failed');
    expect(error?.details).toMatchObject({ stderr: '+ login root ******\ndenied', stdout: 'trying ******' });
    const view = await rig.ask(deploymentShow, { project, deployment: resource.id });
    expect(view).toMatchObject({ status: 'FAILED', stderr: '+ login root ******\ndenied' });
    expect(JSON.stringify([view.reason, view.failure])).not.toContain('hunter2');
  });
});

describe('a restart', () => {
  it('R2: continues unfinished deployments after a crash, runs none twice and loses none', async () => {
    const context = await createTestContext({ name: 'configuration' });
    const shared = { bus: context.bus, store: context.store, directory: context.directory };
    const first = await createRig(shared);
    const host = await first.host('web');
    const a = await first.request('create', { ...ordered(host.id), name: 'a' });
    const before = await claimed(first, host.id);
    await first.stop();
    // The queue is lost, but the documents hold its requests.
    const messages = await context.store.collection({
      name: 'configuration_messages',
      indexes: [{ fields: ['queue', 'sequence'], unique: true }],
    });
    await messages.remove(before.request.id);
    const second = await createRig(shared);
    const again = await claimed(second, host.id);
    // The remaining time is calculated each time the request is handed out.
    const { deadline: _deadline, timeout: _timeout, ...same } = before.request;
    expect(again.request).toMatchObject(same);
    await second.post(host.id, { id: again.request.id, status_code: 0 });
    expect(await second.final(a.resource.id)).toMatchObject({ status: 'complete' });
    await second.stop();
    const third = await createRig(shared);
    expect(await third.claim(host.id)).toBeUndefined();
    await third.stop();
    await context.dispose();
  });
});

describe('configs that are built from their properties', () => {
  const made = async (type: string, properties: JsonObject): Promise<string> => {
    const { resource } = await rig.request('create', { type, properties });
    await rig.final(resource.id);
    return resource.id;
  };

  it('are filled with the values of a structured deployment', async () => {
    const host = await rig.host('web');
    const config = await made('OS::Heat::StructuredConfig', {
      group: 'json-file',
      inputs: [{ name: 'port', type: 'Number', default: 80 }],
      config: { '/etc/x.json': { port: { get_input: 'port' }, who: { get_input: 'who' } } },
    });
    await rig.request('create', {
      type: 'OS::Heat::StructuredDeployment',
      properties: { config, server: host.id, input_values: { who: 'me' }, actions: ['CREATE', 'UPDATE'] },
    });
    const { request } = await claimed(rig, host.id);
    expect(request).toMatchObject({ group: 'json-file', config: { '/etc/x.json': { port: 80, who: 'me' } } });
  });

  it('are refused by a strict deployment with a missing value', async () => {
    const host = await rig.host('web');
    const config = await made('OS::Heat::StructuredConfig', { config: { a: { get_input: 'b' } } });
    const { resource } = await rig.request('create', {
      type: 'OS::Heat::StructuredDeployment',
      properties: { config, server: host.id, input_values_validate: 'STRICT' },
    });
    expect(await rig.final(resource.id)).toMatchObject({
      status: 'failed',
      error: { message: 'The Parameter (b) was not provided.' },
    });
  });

  it('become one message for cloud-init, from texts and configs, sealed when a part is secret', async () => {
    const cloud = await made('OS::Heat::CloudConfig', {
      cloud_config: { users: [{ name: 'x' }], password: rig.context.secrets.seal('s3cret') },
    });
    const { resource } = await rig.request('create', {
      type: 'OS::Heat::MultipartMime',
      properties: { parts: [{ config: cloud }, { config: '#!/bin/sh', subtype: 'x-shellscript' }] },
    });
    const { attributes } = await rig.final(resource.id);
    expect(JSON.stringify(attributes)).not.toContain('s3cret');
    const text = rig.context.secrets.open(attributes?.['config'] ?? null);
    expect(text).toContain('#cloud-config\npassword: s3cret\nusers:\n- name: x\n');
    expect(text).toContain('text/x-shellscript');
  });
});

describe('suspending', () => {
  it('runs the suspend entry of the config, and nothing if it has none', async () => {
    const host = await rig.host('web');
    const suspending = ordered(host.id, { actions: ['CREATE', 'SUSPEND'] });
    const { resource } = await rig.request('create', suspending);
    const first = await claimed(rig, host.id);
    await rig.post(host.id, { id: first.request.id, status_code: 0 });
    await rig.final(resource.id);
    await rig.request('suspend', { ...suspending, id: resource.id, fence: 2 });
    const second = await claimed(rig, host.id);
    expect(second.request).toMatchObject({ action: 'SUSPEND', deployment_id: resource.id });
    await rig.post(host.id, { id: second.request.id, status_code: 0 });
    expect(await rig.final(resource.id, 2)).toMatchObject({ action: 'suspend', status: 'complete' });
    await rig.request('resume', { ...suspending, id: resource.id, fence: 3 });
    expect(await rig.final(resource.id, 3)).toMatchObject({ action: 'resume', status: 'complete' });
  });
});
