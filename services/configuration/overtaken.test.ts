/** A newer request for a deployment replaces the one in flight, as the types of deployments announce. */
import { deploymentShow, stoppedReason } from '@anneal/contracts/calls/configuration.ts';
import { runReport } from '@anneal/contracts/output.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
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
