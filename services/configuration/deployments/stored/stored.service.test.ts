import { randomUUID } from 'node:crypto';
import {
  configCreate,
  configDelete,
  configList,
  configShow,
  type ConfigCreate,
} from '@anneal/contracts/calls/configs.ts';
import {
  deploymentCreate,
  deploymentDelete,
  deploymentList,
  deploymentShow,
  deploymentUpdate,
  hostMetadata,
  type DeploymentCreate,
} from '@anneal/contracts/calls/deployments.ts';
import { hostCreate, hostJoin } from '@anneal/contracts/calls/hosts.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimed, createRig, project, type Rig } from '../../testing/running-service.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.dispose());

const store = (more: Partial<ConfigCreate> = {}) =>
  rig.ask(configCreate, {
    id: randomUUID(),
    project,
    name: 'words',
    group: 'script',
    config: 'echo $word',
    inputs: [
      { name: 'word', default: 'none' },
      { name: 'count', type: 'Number', value: 3 },
      { name: 'deploy_action', value: 'X' },
    ],
    outputs: [{ name: 'said' }],
    options: {},
    ...more,
  });
const deploy = (more: Partial<DeploymentCreate> & Pick<DeploymentCreate, 'host' | 'config'>) =>
  rig.ask(deploymentCreate, { id: randomUUID(), project, input_values: {}, action: 'CREATE', ...more });
const show = (deployment: string) => rig.ask(deploymentShow, { project, deployment });

describe('a config stored by a client', () => {
  it('keeps its inputs and outputs, is listed, and is deleted when no deployment runs it', async () => {
    const config = await store();
    expect(await rig.ask(configShow, { project, config: config.id })).toMatchObject({
      name: 'words',
      inputs: [
        { name: 'word', type: 'String', default: 'none' },
        { name: 'count', type: 'Number', value: 3 },
        { name: 'deploy_action', type: 'String', value: 'X' },
      ],
      outputs: [{ name: 'said', type: 'String', error_output: false }],
    });
    const host = await rig.host('web');
    const { id } = await deploy({ host: 'web', config: config.id });
    const { deployments } = await rig.ask(deploymentList, { project, config: config.id });
    expect(deployments).toEqual([expect.objectContaining({ id, config: null })]);
    // The config of the deployment is the stored one, so it is listed once.
    expect((await rig.ask(configList, { project })).configs.map((each) => each.id)).toEqual([config.id]);
    const remove = () => rig.ask(configDelete, { project, config: config.id });
    await expect(remove()).rejects.toMatchObject({ code: 'Conflict' });
    await rig.ask(deploymentDelete, { project, deployment: id });
    await remove();
    await expect(remove()).rejects.toMatchObject({ code: 'NotFound' });
    expect(await rig.claim(host.id)).toBeUndefined();
  });

  it('is refused with a time limit that is no number', async () => {
    await expect(store({ options: { timeout: 'soon' } })).rejects.toMatchObject({ code: 'InvalidRequest' });
  });
});

describe('a deployment made by a client', () => {
  it('goes through the queue of its host, with typed inputs, and takes the outputs', async () => {
    const host = await rig.host('web');
    const config = await store();
    const { id } = await deploy({ host: 'web', config: config.id, input_values: { word: 'hello' } });
    const { request } = await claimed(rig, host.id);
    expect(request).toMatchObject({ deployment_id: id, name: 'words', action: 'CREATE' });
    expect(request.inputs).toEqual([
      { name: 'word', type: 'String', value: 'hello' },
      { name: 'count', type: 'Number', value: 3 },
      { name: 'deploy_server_id', type: 'String', value: host.id },
      { name: 'deploy_action', type: 'String', value: 'CREATE' },
      { name: 'deploy_signal_transport', type: 'String', value: 'ZAQAR_SIGNAL' },
    ]);
    await rig.post(host.id, { id: request.id, status_code: 0, stdout: 'hello\n', outputs: { said: 'hello' } });
    await rig.event('deployment.completed', id);
    const shown = await show(id);
    expect(shown).toMatchObject({ status: 'COMPLETE', config_id: config.id, output_values: { said: 'hello' } });
    expect(shown.given_values).toEqual({ word: 'hello' });
    const { deployments } = await rig.ask(hostMetadata, { project, host: 'web' });
    expect(deployments).toMatchObject([
      {
        id: config.id,
        name: 'words',
        group: 'script',
        outputs: [{ name: 'said', type: 'String', error_output: false }],
      },
    ]);
    expect(deployments[0]?.inputs).toContainEqual({ name: 'count', type: 'Number', value: 3 });
  });

  it('for a host that does not exist runs nothing when the client accepts that, and takes the result of a client', async () => {
    const config = await store();
    const asked = { host: 'elsewhere', config: config.id, action: 'ROTATE' };
    await expect(deploy(asked)).rejects.toMatchObject({ code: 'NotFound' });
    const { id } = await deploy({ ...asked, elsewhere: true });
    expect(await show(id)).toMatchObject({ status: 'IN_PROGRESS', host_id: 'elsewhere', action: 'ROTATE' });
    expect((await show(id)).reason).toContain('There is no host elsewhere yet');
    const { deployments } = await rig.ask(hostMetadata, { project, host: 'elsewhere' });
    expect(deployments).toMatchObject([{ id: config.id, group: 'script' }]);
    const result = { status: 'COMPLETE' as const, reason: 'done by hand', output_values: { said: 'so' } };
    await rig.ask(deploymentUpdate, { project, deployment: id, action: 'VERIFY', result });
    const ended = await show(id);
    expect(ended).toMatchObject({ status: 'COMPLETE', reason: 'done by hand', action: 'VERIFY' });
    expect(ended).toMatchObject({ output_values: { said: 'so' }, finished_at: expect.any(String) });
  });

  it('W1, W2: for a host that does not exist yet runs when the host appears, by its name or id, in the order of creation', async () => {
    const config = await store();
    const id = randomUUID();
    const given = ['web', id, 'web', 'other'];
    const made: string[] = [];
    for (const host of given) made.push((await deploy({ host, config: config.id, elsewhere: true })).id);
    const ended = { status: 'COMPLETE' as const, reason: 'by hand' };
    await rig.ask(deploymentUpdate, { project, deployment: made[2] ?? '', result: ended });
    await rig.ask(deploymentUpdate, { project, deployment: made[0] ?? '', input_values: { word: 'changed' } });
    expect((await show(made[0] ?? '')).reason).toContain('There is no host web yet');
    await rig.ask(hostCreate, { id, name: 'web', project });
    for (const at of [0, 1]) {
      const { request } = await claimed(rig, id);
      expect(request.deployment_id).toBe(made[at]);
      if (at === 0) expect(request.inputs).toContainEqual({ name: 'word', type: 'String', value: 'changed' });
      await rig.post(id, { id: request.id, status_code: 0, outputs: { said: 'x' } });
      expect(await show(made[at] ?? '')).toMatchObject({ status: 'COMPLETE', host_id: id, host_name: 'web' });
    }
    expect(await rig.claim(id)).toBeUndefined();
    expect(await show(made[2] ?? '')).toMatchObject({ reason: 'by hand' });
    expect(await show(made[3] ?? '')).toMatchObject({ status: 'IN_PROGRESS', host_id: 'other' });
    const { host } = await rig.ask(hostJoin, { project, host: 'other' });
    expect((await claimed(rig, host.id)).request.deployment_id).toBe(made[3]);
  });

  it('W1: is listed and runs under a name that differs from that of its host in the case of letters', async () => {
    const config = await store();
    const { id } = await deploy({ host: 'Web1', config: config.id, elsewhere: true });
    expect(await show(id)).toMatchObject({ host_id: 'Web1', host_name: 'Web1' });
    const listed = async (host: string) => (await rig.ask(deploymentList, { project, host })).deployments;
    expect((await listed('WEB1')).map((each) => each.id)).toEqual([id]);
    expect((await rig.ask(hostMetadata, { project, host: 'web1' })).deployments).toMatchObject([{ id: config.id }]);
    const { host } = await rig.ask(hostJoin, { project, host: 'web1' });
    expect((await claimed(rig, host.id)).request.deployment_id).toBe(id);
    expect((await listed('WEB1')).map((each) => each.id)).toEqual([id]);
  });

  it('W1: runs when its host is created by the repeat of a call that died before it looked', async () => {
    const config = await store();
    const { id } = await deploy({ host: 'web', config: config.id, elsewhere: true });
    const disarm = armFault('configuration.run.recorded', () => {
      throw new Error('broken off');
    });
    const data = { id: randomUUID(), name: 'web', project };
    await expect(rig.ask(hostCreate, data)).rejects.toThrow('broken off');
    disarm();
    await rig.ask(hostCreate, data);
    expect((await claimed(rig, data.id)).request.deployment_id).toBe(id);
  });

  it('D1: runs once when its call is delivered twice and the service dies after the first write', async () => {
    const host = await rig.host('web');
    const config = await store();
    const data = {
      id: randomUUID(),
      project,
      host: host.id,
      config: config.id,
      input_values: {},
      action: 'CREATE',
    } as const;
    const disarm = armFault('configuration.run.recorded', () => {
      throw new Error('broken off');
    });
    const message = rig.context.mint(deploymentCreate, { data, project });
    const call = deploymentCreate;
    const queue = requestsQueue('configuration');
    await expect(rig.context.bus.request({ queue, call, message })).rejects.toThrow('broken off');
    disarm();
    await rig.context.bus.request({ queue, call, message });
    await rig.ask(deploymentCreate, data);
    const { request } = await claimed(rig, host.id);
    await rig.post(host.id, { id: request.id, status_code: 0 });
    await rig.event('deployment.completed', data.id);
    expect(await rig.claim(host.id)).toBeUndefined();
    expect((await rig.ask(deploymentList, { project })).deployments).toHaveLength(1);
  });

  it('runs behind earlier requests of its host, in order', async () => {
    const host = await rig.host('web');
    const config = await store();
    const made = [];
    for (const word of ['one', 'two', 'three']) {
      made.push((await deploy({ host: 'web', config: config.id, input_values: { word } })).id);
    }
    for (const id of made) {
      const { request } = await claimed(rig, host.id);
      expect(request.deployment_id).toBe(id);
      await rig.post(host.id, { id: request.id, status_code: 0 });
    }
  });

  it('D2: runs again with another config or other values, and not for an equal update', async () => {
    const host = await rig.host('web');
    const config = await store();
    const { id } = await deploy({ host: 'web', config: config.id });
    const first = await claimed(rig, host.id);
    await rig.post(host.id, { id: first.request.id, status_code: 1 });
    await rig.event('deployment.failed', id);
    const update = (more: object) => rig.ask(deploymentUpdate, { project, deployment: id, ...more });
    expect(await update({ config: config.id })).toMatchObject({ status: 'FAILED' });
    expect(await update({ config: config.id, again: true })).toMatchObject({ status: 'IN_PROGRESS', action: 'UPDATE' });
    const second = await claimed(rig, host.id);
    await rig.post(host.id, { id: second.request.id, status_code: 0 });
    await rig.event('deployment.completed', id);
    expect(await update({ again: true })).toMatchObject({ status: 'COMPLETE' });
    expect(await update({ input_values: { word: 'new' } })).toMatchObject({ status: 'IN_PROGRESS' });
    const third = await claimed(rig, host.id);
    expect(new Set([first, second, third].map(({ request }) => request.id)).size).toBe(3);
  });

  it('takes a result that a client records, and refuses changes to the deployment of a stack', async () => {
    const host = await rig.host('web');
    const config = await store();
    const { id } = await deploy({ host: 'web', config: config.id });
    const result = {
      status: 'COMPLETE',
      output_values: { said: 'x', deploy_stdout: 'out', deploy_status_code: 0 },
    } as const;
    expect(await rig.ask(deploymentUpdate, { project, deployment: id, result })).toMatchObject({
      status: 'COMPLETE',
      stdout: 'out',
      status_code: 0,
      output_values: { said: 'x' },
    });
    expect(await rig.claim(host.id)).toBeUndefined();
    const { resource } = await rig.request('create', {
      type: 'OS::Heat::OrderedConfig',
      properties: { hosted_on: host.id, script: 'true', actions: ['CREATE'] },
    });
    const owned = await eventually(() => show(resource.id).catch(() => undefined), { what: 'the deployment' });
    const ofStack = { project, deployment: owned.id };
    await expect(rig.ask(deploymentUpdate, { ...ofStack, config: config.id })).rejects.toMatchObject({
      code: 'Forbidden',
    });
    await expect(rig.ask(deploymentDelete, ofStack)).rejects.toMatchObject({ code: 'Forbidden' });
  });

  it('D3: is withdrawn by its deletion, so that the next request of the host is offered', async () => {
    const host = await rig.host('web');
    const config = await store();
    const gone = await deploy({ host: 'web', config: config.id });
    const kept = await deploy({ host: 'web', config: config.id });
    await rig.ask(deploymentDelete, { project, deployment: gone.id });
    await expect(show(gone.id)).rejects.toMatchObject({ code: 'NotFound' });
    const { request } = await claimed(rig, host.id);
    expect(request.deployment_id).toBe(kept.id);
  });

  it('is recorded without a host when it ran elsewhere, and needs a host otherwise', async () => {
    const config = await store();
    const ended = { status: 'COMPLETE', reason: 'by hand' } as const;
    const made = await deploy({ host: 'elsewhere', config: config.id, ended });
    expect(await show(made.id)).toMatchObject({ host_id: 'elsewhere', status: 'COMPLETE', reason: 'by hand' });
    await expect(deploy({ host: 'elsewhere', config: config.id })).rejects.toMatchObject({ code: 'NotFound' });
    await expect(deploy({ host: 'elsewhere', config: randomUUID() })).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('fails at its own limit when its host never asks for work', async () => {
    await rig.host('web');
    const config = await store();
    const { id, deadline } = await deploy({ host: 'web', config: config.id, seconds: 1 });
    await rig.event('deployment.failed', id);
    const shown = await show(id);
    expect(shown).toMatchObject({ status: 'FAILED', failure: { code: 'HostSilent' } });
    expect(shown.reason).toContain(`host web has not taken the request when its time limit (${deadline}) ended;`);
  });
});
