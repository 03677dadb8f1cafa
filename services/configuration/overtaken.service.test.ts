/** A newer request for a deployment replaces the one in flight, as the types of deployments announce. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { deploymentShow } from '@anneal/contracts/calls/deployments.ts';
import { queueClaimRelease } from '@anneal/contracts/calls/queues.ts';
import { stoppedReason } from '@anneal/contracts/calls/host-messages.ts';
import { runReport } from '@anneal/contracts/output.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openConfigurationCollections } from './collections.ts';
import { claimed, createRig, project, type Rig } from './testing/running-service.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.dispose());

const config = (hostId: string, script: string, more = {}) => ({
  type: 'OS::Heat::OrderedConfig',
  properties: { hosted_on: hostId, script, ...more },
});
const resourcesOf = async ({ context }: Rig) => (await openConfigurationCollections(context.store)).resources;
const statusOf = async (deployment: string) => {
  const { status, reason } = await rig.ask(deploymentShow, { project, deployment });
  return { status, reason };
};
/** The answer to a report of the host on the run. */
const mustStop = async (hostId: string, id: string): Promise<boolean> =>
  (await rig.ask(runReport, { host_id: hostId, id, pieces: [] })).stop;

it('a newer creation runs instead of the one that the host runs, and only the newer one is answered', async () => {
  const host = await rig.host('web');
  const { resource } = await rig.request('create', config(host.id, 'older'));
  const { request: older } = await claimed(rig, host.id);
  expect(await mustStop(host.id, older.id)).toBe(false);
  await rig.request('create', { ...config(host.id, 'newer'), id: resource.id, fence: 2 });
  // A late repeat of the older request changes nothing.
  await rig.request('create', { ...config(host.id, 'older'), id: resource.id, fence: 1 });
  await eventually(() => mustStop(host.id, older.id), { what: 'the order to stop' });
  await rig.post(host.id, { id: older.id, status_code: 143, error: stoppedReason });
  const { request: newer } = await claimed(rig, host.id);
  expect(newer).toMatchObject({ config: 'newer', action: 'CREATE' });
  await rig.post(host.id, { id: newer.id, status_code: 0, stdout: 'done' });
  expect(await rig.final(resource.id, 2)).toMatchObject({ status: 'complete', attributes: { deploy_stdout: 'done' } });
  expect(rig.responses.filter(({ fence, status }) => fence === 1 && status !== 'in progress')).toEqual([]);
});

it('a newer request that starts no run ends the older one', async () => {
  const host = await rig.host('web');
  const disk = (value: string) => ({
    name: 'one',
    inputs: [{ name: 'disk', type: 'String', replace_on_change: true }],
    input_values: { disk: value },
  });
  const { resource } = await rig.request('create', config(host.id, 'older', disk('a')));
  const { request } = await claimed(rig, host.id);
  const other = config(host.id, 'newer', disk('b'));
  await rig.request('update', { ...other, id: resource.id, fence: 2 });
  expect(await rig.final(resource.id, 2)).toMatchObject({ status: 'failed', replace: true });
  await eventually(() => mustStop(host.id, request.id), { what: 'the order to stop' });
  expect(await statusOf(resource.id)).toEqual({
    status: 'FAILED',
    reason: 'A newer request for one replaced this run.',
  });
  await rig.event('deployment.failed', resource.id);
  await rig.post(host.id, { id: request.id, status_code: 143, error: stoppedReason });
  // The host gets the runs of neither request.
  await expect.poll(() => rig.claim(host.id)).toBeUndefined();
});

it('a request that was overtaken never reaches the host, also when the service fails in between', async () => {
  const host = await rig.host('web');
  const { resource } = await rig.request('create', config(host.id, 'older'));
  await rig.event('deployment.queued', resource.id);
  let failures = 0;
  const disarm = armFault('provider.recorded', () => {
    failures += 1;
    disarm();
    throw new Error('fault');
  });
  await rig.request('create', { ...config(host.id, 'newer'), id: resource.id, fence: 2 });
  await eventually(() => (failures === 1 ? true : undefined), { what: 'the fault' });
  await eventually(() => rig.responses.find(({ fence }) => fence === 2), { what: 'the newer request in the queue' });
  const { request } = await claimed(rig, host.id);
  expect(request.config).toBe('newer');
  await rig.post(host.id, { id: request.id, status_code: 0 });
  expect(await rig.final(resource.id, 2)).toMatchObject({ status: 'complete' });
  expect(await rig.claim(host.id)).toBeUndefined();
});

describe('the cancellation of an update', () => {
  const cancelled = 'A newer version of the stack replaces dep, so its run was stopped.';
  /** A deployment whose creation completed, and whose update is in flight. */
  const updated = async (hostId: string): Promise<string> => {
    const { resource } = await rig.request('create', config(hostId, 'first'));
    const { request } = await claimed(rig, hostId);
    await rig.post(hostId, { id: request.id, status_code: 0 });
    await rig.final(resource.id);
    await rig.request('update', { ...config(hostId, 'second'), id: resource.id, fence: 2 });
    return resource.id;
  };
  const cancel = (hostId: string, id: string) => rig.request('cancel', { ...config(hostId, 'second'), id, fence: 2 });

  it.each([undefined, 'configuration.run.ended'])(
    'stops the config on its host, and the replacement begins after it has ended (fault: %s)',
    async (fault) => {
      const host = await rig.host('web');
      const id = await updated(host.id);
      const { request } = await claimed(rig, host.id);
      const { resource: replacement } = await rig.request('create', config(host.id, 'replacement'));
      await rig.event('deployment.queued', replacement.id);
      let failures = 0;
      const disarm = fault
        ? armFault(fault, () => {
            failures += 1;
            disarm?.();
            throw new Error('fault');
          })
        : undefined;
      await cancel(host.id, id);
      await cancel(host.id, id);
      expect(await rig.final(id, 2)).toMatchObject({
        status: 'failed',
        error: { code: 'Superseded', message: cancelled },
      });
      await eventually(() => mustStop(host.id, request.id), { what: 'the order to stop' });
      expect(await rig.claim(host.id, { client_id: 'another' })).toBeUndefined();
      await rig.post(host.id, { id: request.id, status_code: 143, error: stoppedReason });
      expect((await claimed(rig, host.id)).request.config).toBe('replacement');
      expect(failures).toBe(fault ? 1 : 0);
      expect(await statusOf(id)).toEqual({ status: 'FAILED', reason: cancelled });
    },
  );

  it('withdraws a config that no host has taken, also when it comes before its request', async () => {
    const host = await rig.host('web');
    const id = await updated(host.id);
    await rig.event('deployment.queued', id);
    await cancel(host.id, id);
    expect(await rig.final(id, 2)).toMatchObject({ status: 'failed' });
    await expect.poll(() => rig.claim(host.id)).toBeUndefined();
    const later = { ...config(host.id, 'third'), id, fence: 3 };
    await rig.request('cancel', later);
    await eventually(async () => ((await (await resourcesOf(rig)).get(id))?.cancelled === 3 ? true : undefined), {
      what: 'the cancellation',
    });
    await rig.request('update', later);
    expect(await rig.final(id, 3)).toMatchObject({ status: 'failed', error: { code: 'Superseded' } });
    expect(await rig.claim(host.id)).toBeUndefined();
    // A newer request is not cancelled with it.
    await rig.request('update', { ...config(host.id, 'fourth'), id, fence: 4 });
    await cancel(host.id, id);
    expect((await claimed(rig, host.id)).request.config).toBe('fourth');
  });
});

describe('the withdrawal of a request', () => {
  it('ends a config that no host has taken, also when it comes before its request', async () => {
    const host = await rig.host('web');
    const asked = config(host.id, 'unwanted');
    const early = { ...asked, id: 'early', fence: 1 };
    await rig.request('withdraw', early);
    const { resource } = await rig.request('create', asked);
    await rig.request('create', early);
    await rig.event('deployment.queued', resource.id);
    await rig.request('withdraw', { ...asked, id: resource.id });
    for (const id of [resource.id, 'early']) {
      expect(await rig.final(id)).toMatchObject({
        status: 'failed',
        error: { code: 'Cancelled', message: 'dep was not run: its stack no longer wants it.' },
      });
    }
    await expect.poll(() => rig.claim(host.id)).toBeUndefined();
    expect(await statusOf(resource.id)).toMatchObject({ status: 'SKIPPED' });
  });

  it('leaves a config that its host has taken, also when its claim has ended', async () => {
    const host = await rig.host('web');
    const { resource } = await rig.request('create', config(host.id, 'begun'));
    const { request, claim_id } = await claimed(rig, host.id);
    await rig.request('withdraw', { ...config(host.id, 'begun'), id: resource.id });
    await rig.ask(queueClaimRelease, { project, queue: `host.${host.id}.requests`, claim_id });
    await rig.request('withdraw', { ...config(host.id, 'begun'), id: resource.id });
    expect((await claimed(rig, host.id)).request.id).toBe(request.id);
    await rig.post(host.id, { id: request.id, status_code: 0 });
    expect(await rig.final(resource.id)).toMatchObject({ status: 'complete' });
  });
});

describe('a config that the engine does not wait for', () => {
  const deploy = async (host: string, script: string, more: { name?: string; transport?: string } = {}) => {
    const { resource: made } = await rig.request('create', {
      type: 'OS::Heat::SoftwareConfig',
      properties: { group: 'script', config: script },
    });
    await rig.final(made.id);
    return rig.request('create', {
      type: 'OS::Heat::SoftwareDeployment',
      name: more.name ?? 'one',
      properties: { config: made.id, server: host, signal_transport: more.transport ?? 'NO_SIGNAL' },
    });
  };

  it('N5: is stopped when another deployment replaces it, which runs afterwards', async () => {
    const host = await rig.host('web');
    const older = await deploy(host.id, 'older');
    expect(await rig.final(older.resource.id)).toMatchObject({ status: 'complete' });
    const { request } = await claimed(rig, host.id);
    const other = await deploy(host.id, 'other', { name: 'two' });
    await rig.event('deployment.queued', other.resource.id);
    expect(await mustStop(host.id, request.id)).toBe(false);
    const newer = await deploy(host.id, 'newer', { transport: 'ZAQAR_SIGNAL' });
    await eventually(() => mustStop(host.id, request.id), { what: 'the order to stop' });
    expect(await statusOf(older.resource.id)).toEqual({
      status: 'FAILED',
      reason: 'A newer version of the stack replaces one, so its run was stopped.',
    });
    await rig.post(host.id, { id: request.id, status_code: 143, error: stoppedReason });
    const runs = [];
    for (const _each of ['other', 'newer']) {
      const { request: next } = await claimed(rig, host.id);
      runs.push(next.config);
      await rig.post(host.id, { id: next.id, status_code: 0 });
    }
    expect(runs).toEqual(['other', 'newer']);
    expect(await rig.final(newer.resource.id)).toMatchObject({ status: 'complete' });
    // The engine had its answer before, and gets no second one.
    expect(rig.responses.filter(({ resource_id }) => resource_id === older.resource.id)).toHaveLength(1);
  });

  it('N5: is not stopped by a late repeat of the request that it replaced', async () => {
    const host = await rig.host('web');
    const older = await deploy(host.id, 'older');
    await rig.final(older.resource.id);
    const newer = await deploy(host.id, 'newer');
    await rig.final(newer.resource.id);
    await rig.event('deployment.failed', older.resource.id);
    const { resource } = older;
    const properties = older.properties as JsonObject;
    await rig.request('create', { ...resource, properties });
    await rig.event('deployment.queued', (await deploy(host.id, 'last', { name: 'two' })).resource.id);
    expect((await statusOf(newer.resource.id)).status).toBe('IN_PROGRESS');
  });
});
