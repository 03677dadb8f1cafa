/** A host that reboots for a config: what its deployment and it show, and for how long. */
import { deploymentShow } from '@anneal/contracts/calls/deployments.ts';
import { hostShow } from '@anneal/contracts/calls/hosts.ts';
import { nodeList, nodePower, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { answer, routeMessages } from '@anneal/bus/consume/route.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimed, createRig, project, type Rig } from '../../testing/running-service.ts';

let rig: Rig;
const node: NodeView = {
  id: 'n1',
  name: 'node-1',
  driver: 'redfish',
  resource_class: 'baremetal',
  traits: [],
  extra: {},
  retired: false,
  retired_reason: null,
  protected: false,
  protected_reason: null,
  owner: null,
  lessee: null,
  description: null,
  step: null,
  driver_info: {},
  provision_state: 'active',
  target_provision_state: null,
  power_state: 'power on',
  target_power_state: null,
  properties: {},
  instance_id: null,
  instance_info: {},
  maintenance: false,
  maintenance_reason: null,
  fault: null,
  reservation: null,
  last_error: null,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  provision_updated_at: null,
  version: 1,
  conditions: [],
  chassis_id: null,
  shard: null,
  interfaces: {},
  allocation_id: null,
  target_raid: {},
  console_enabled: null,
  bmc: null,
  progress: null,
};
/** The answer of the provisioning service, and its orders. */
let nodes: NodeView[];
let orders: unknown[];
beforeEach(async () => {
  rig = await createRig({ environment: { ANNEAL_CONFIGURATION_SILENT_SECONDS: '2' } });
  nodes = [];
  orders = [];
  await rig.context.bus.consume(
    requestsQueue('provisioning'),
    routeMessages([
      answer(rig.context, nodeList, () => Promise.resolve({ nodes })),
      answer(rig.context, nodePower, ({ data }) => {
        orders.push(data);
        return Promise.resolve(node);
      }),
    ]),
  );
});
afterEach(() => rig.dispose());

/** A host that has started a config with these options. */
async function running(options: Record<string, Json>) {
  const host = await rig.host('web');
  const properties = { hosted_on: host.id, script: 'true', options };
  const { resource } = await rig.request('create', { type: 'OS::Heat::OrderedConfig', name: 'dep', properties });
  const { request } = await claimed(rig, host.id);
  const report = (reboot: Json) => rig.answer(host, { id: request.id, progress: 'started', reboot });
  const shown = () => rig.ask(deploymentShow, { project, deployment: resource.id });
  const hostNow = () => rig.ask(hostShow, { host: host.id });
  return { host, resource, request, report, shown, hostNow };
}

describe('a host that reboots for a config', () => {
  it('and its deployment say so, until it is back and until the answer', async () => {
    const { host, resource, request, report, shown, hostNow } = await running({ reboot: 'on status 194' });
    await report({ number: 1 });
    expect(await shown()).toMatchObject({
      status: 'IN_PROGRESS',
      reason: 'web reboots for it (1 of 3)',
      reboot: { number: 1, most: 3, over: false },
    });
    expect(await hostNow()).toMatchObject({
      status: 'up',
      reboot: { deployment_id: resource.id, deployment: 'dep', number: 1, most: 3 },
      conditions: [{ type: 'Ready', status: 'False', reason: 'Rebooting' }, {}],
    });
    const event = await rig.event('host.rebooting', host.id);
    expect(event.data).toMatchObject({ deployment_id: resource.id, deployment: 'dep', number: 1, most: 3 });
    await report({ number: 1, over: true });
    expect(await shown()).toMatchObject({ reason: 'Runs on web, after reboot 1 of 3', reboot: { over: true } });
    expect((await hostNow()).reboot).toBeUndefined();
    // A repeat that arrives late changes nothing.
    await report({ number: 1 });
    expect((await hostNow()).reboot).toBeUndefined();
    await report({ number: 2 });
    await rig.answer(host, { id: request.id, status_code: 0, reboots: 2 });
    await rig.final(resource.id);
    expect((await hostNow()).reboot).toBeUndefined();
    expect((await shown()).reboot).toMatchObject({ number: 2 });
    expect(rig.events.filter(({ type }) => type === 'host.rebooting')).toHaveLength(2);
    expect(rig.events.filter(({ type }) => type === 'deployment.started')).toHaveLength(1);
  });

  it('is known from the answer at the latest', async () => {
    const { host, resource, request, shown } = await running({ reboot: 'allowed' });
    await rig.answer(host, { id: request.id, status_code: 0, reboots: 2 });
    await rig.final(resource.id);
    expect((await shown()).reboot).toMatchObject({ number: 2, most: 3, over: true });
  });

  it('is reset by the BMC of its node once when it is late, and has the limit again', async () => {
    nodes = [node];
    const { host, resource, report } = await running({ reboot: 'after', reboot_timeout: 1 });
    await report({ number: 1 });
    const { error } = await rig.final(resource.id);
    expect(error?.message).toMatch(/has not come back after its reboot .* nor after its BMC reset it at /);
    expect(orders).toEqual([{ node: 'n1', target: 'rebooting' }]);
    const events = rig.events.filter(({ type, subject }) => type === 'host.rebooting' && subject === host.id);
    expect(events.map(({ data }) => (data as { reset_at?: string }).reset_at !== undefined)).toEqual([false, true]);
  });

  it('is ignored for a run of another host, and of a config that may not reboot it', async () => {
    const plain = await running({});
    await plain.report({ number: 1 });
    expect((await plain.shown()).reboot).toBeUndefined();
    expect((await plain.hostNow()).reboot).toBeUndefined();
    await rig.answer(plain.host, { id: plain.request.id, status_code: 0 });
    const { request, shown } = await running({ reboot: 'after' });
    const other = await rig.host('db');
    await rig.answer(other, { id: request.id, progress: 'started', reboot: { number: 1 } });
    expect((await shown()).reboot).toBeUndefined();
    expect((await rig.ask(hostShow, { host: other.id })).reboot).toBeUndefined();
  });
});

describe('the time of a reboot', () => {
  useQuickClock();

  it('is not the silence of the host, and fails the deployment with its reason when it is over', async () => {
    const { host, resource, report, hostNow } = await running({ reboot: 'after', reboot_timeout: 6, timeout: 1 });
    await report({ number: 1 });
    const { error } = await rig.final(resource.id);
    expect(error?.message).toMatch(
      /host web has not come back after its reboot for this config \(1 of 3\) within 6 s \(options\.reboot_timeout\)/,
    );
    expect((await hostNow()).reboot).toBeUndefined();
    await rig.event('host.silent', host.id);
    const types = rig.events.map(({ type }) => type);
    expect(types.indexOf('host.silent')).toBeGreaterThan(types.indexOf('deployment.failed'));
    await eventually(async () => ((await hostNow()).status === 'silent' ? true : undefined), { what: 'its silence' });
  });

  it('gives the script its whole limit again when the host is back', async () => {
    const { report, shown } = await running({ reboot: 'on status 194', reboot_timeout: 60, timeout: 300 });
    await report({ number: 1 });
    const first = Date.parse((await shown()).deadline ?? '');
    await report({ number: 1, over: true });
    expect(Date.parse((await shown()).deadline ?? '') - first).toBeGreaterThan(200_000);
  });
});
