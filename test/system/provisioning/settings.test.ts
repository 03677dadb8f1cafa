/** Another value of a setting changes what happens to nodes. */
import { addressOf } from '@anneal/lab/boot-image.ts';
import { nodeProvision, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

useQuickClock({ stepMs: 20 });
let world: ProvisioningWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const open = async (
  settings: Record<string, string>,
  options: Partial<WorldOptions> = {},
): Promise<ProvisioningWorld> => {
  const given = Object.entries(settings).map(([name, value]) => [`ANNEAL_PROVISIONING_${name}`, value] as const);
  return (world = await ProvisioningWorld.open({ machines: 1, ...options, settings: Object.fromEntries(given) }));
};
/** The states of a node, in the order of its events. */
const statesOf = (w: ProvisioningWorld, name: string): unknown[] =>
  w.events.filter(({ data }) => data['name'] === name).map(({ data }) => data['provision_state']);
const serverOf = async (w: ProvisioningWorld, properties: Record<string, string>) => {
  const id = w.context.newId();
  await w.request('create', { id, fence: 1, properties });
  return eventually(() =>
    w.responses.find(({ resource_id: of, status, message }) => of === id && (status !== 'in progress' || message)),
  );
};

it('VERIFY_CA: false accepts a controller with any certificate', async () => {
  const w = await open({ VERIFY_CA: 'false' }, { tls: true });
  await w.enrol('machine-1');
  await w.nodeIs('machine-1', 'available');
});

it('PLACEHOLDER_IDS: an id that many machines report shows no two nodes to be the same machine', async () => {
  const w = await open({});
  const [machine] = w.lab.machines;
  await w.stop();
  w.settings['ANNEAL_PROVISIONING_PLACEHOLDER_IDS'] = `${machine?.state.uuid},${machine?.state.serial}`;
  await w.start();
  await w.enrol('machine-1');
  await w.enrol('alias', { address: w.lab.url.replace('127.0.0.1', 'localhost'), system: 'machine-1' });
  for (const name of ['machine-1', 'alias']) await w.nodeIs(name, 'available');
});

it('CLEAN_ON_PROVIDE: a machine is cleaned before its first use', async () => {
  const w = await open({ CLEAN_ON_PROVIDE: 'true' });
  await w.enrolAll();
  expect(statesOf(w, 'machine-1')).toContain('cleaning');
});

it('FLAVORS and IMAGES: the names that servers may use', async () => {
  const w = await open({ FLAVORS: 'huge=baremetal', IMAGES: 'ours' });
  await w.enrolAll();
  expect(JSON.stringify(await serverOf(w, { flavor: 'm1.small' }))).toContain('m1.small');
  expect(JSON.stringify(await serverOf(w, { flavor: 'huge', image: 'debian' }))).toContain('debian');
  const id = w.context.newId();
  await w.request('create', { id, fence: 1, properties: { flavor: 'huge', image: 'ours' } });
  expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
});

it('BMC_EVENTS: false takes no subscription at a controller', async () => {
  const w = await open({ BMC_EVENTS: 'false', POWER_POLL_SECONDS: '1' }, { eventStream: false });
  await w.enrolAll();
  const subscriptions = async (): Promise<unknown> => {
    const authorization = `Basic ${Buffer.from(`${w.lab.username}:${w.lab.password}`).toString('base64')}`;
    const answered = await fetch(`${w.lab.url}/redfish/v1/EventService/Subscriptions`, { headers: { authorization } });
    return ((await answered.json()) as { Members: unknown }).Members;
  };
  // Without events, readings notice a change of power. One of them would have made a subscription.
  for (const [type, power] of [
    ['On', 'power on'],
    ['ForceOff', 'power off'],
    ['On', 'power on'],
  ] as const) {
    await w.lab.machines[0]?.reset(type);
    await eventually(async () => (await w.node('machine-1')).power_state === power, { what: power });
  }
  expect(await subscriptions()).toEqual([]);
});

it('CLEANS: so many nodes are cleaned at a time', async () => {
  const w = await open({ CLEANS: 'total=1' }, { machines: 2 });
  await w.enrolAll();
  const names = ['machine-1', 'machine-2'];
  for (const node of names) {
    await w.ask(nodeProvision, { node, target: 'manage' });
    await w.nodeIs(node, 'manageable');
    const steps = [{ interface: 'power' as const, step: 'reboot', args: {} }];
    await w.ask(nodeProvision, { node, target: 'clean', steps });
  }
  const waits = ({ conditions }: NodeView): boolean =>
    conditions.some(({ type, status }) => type === 'HasSlot' && status === 'False');
  await eventually(async () => (await Promise.all(names.map((name) => w.node(name)))).some(waits), {
    what: 'a node that waits',
  });
  for (const name of names) await w.nodeIs(name, 'manageable');
});

it('ERASE: the ramdisk erases the disks in this way', async () => {
  const w = await open({ ERASE: 'full', CLEAN_ON_PROVIDE: 'true' }, { bootSeconds: 3600 });
  await w.enrol('machine-1');
  const [machine] = w.lab.machines;
  const seed = await eventually(
    async () => {
      const { boot, media } = machine?.state ?? {};
      const address = addressOf(boot?.httpBootUri ?? media ?? '');
      if (address === '' || machine?.power !== 'On') return undefined;
      const answer = await fetch(`${address}/exchange`, {
        method: 'POST',
        body: JSON.stringify({ key: 'the key of the ramdisk' }),
      });
      return answer.ok ? ((await answer.json()) as object) : undefined;
    },
    { what: 'the seed of the ramdisk' },
  );
  expect(seed).toMatchObject({ purpose: 'clean', erase: 'full' });
});

it('BOOT_RETRY_SECONDS: a machine that does not prove its boot is booted again after this time', async () => {
  const w = await open({ BOOT_RETRY_SECONDS: '5' }, { bootSeconds: 0.05 });
  await w.enrolAll();
  const [machine] = w.lab.machines;
  if (!machine) throw new Error('The lab has no machine.');
  let resets = 0;
  const reset = machine.reset.bind(machine);
  machine.reset = (type) => {
    resets += 1;
    // The firmware loses its way at the first boot.
    if (resets === 1) machine.setBoot({ ...machine.state.boot, httpBootUri: 'http://127.0.0.1:1/gone/boot.efi' });
    return reset(type);
  };
  const id = w.context.newId();
  const began = Date.now();
  await w.request('create', { id, fence: 1, seconds: 300 });
  expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
  expect(resets).toBeGreaterThan(1);
  expect(Date.now() - began).toBeLessThan(300_000);
});

describe('a limit of time', () => {
  /** Far below the limits that are the defaults, and far above those of these tests. */
  const mostMs = 200_000;
  /** How long something takes, by the clock of the service. */
  const took = async (work: Promise<unknown>): Promise<number> => {
    const began = Date.now();
    await work;
    return Date.now() - began;
  };

  it('BMC_SECONDS: a controller that does not answer fails the step after this time', async () => {
    const w = await open({ BMC_SECONDS: '5' });
    await w.fault('machine-1', { answer: 'hang' });
    await w.enrol('machine-1');
    const failed = eventually(
      async () => {
        const { last_error: error, reservation } = await w.node('machine-1');
        return error !== null && reservation === null;
      },
      { what: 'the failure' },
    );
    expect(await took(failed)).toBeLessThan(mostMs);
  });

  it('BOOT_SECONDS: a machine whose agent does not ask for work fails its server after this time', async () => {
    const w = await open({ BOOT_SECONDS: '10', DEPLOY_ATTEMPTS: '1' }, { bootSeconds: 3600 });
    await w.enrolAll();
    const id = w.context.newId();
    await w.request('create', { id, fence: 1, seconds: 7200 });
    expect(await took(w.answered(id, 1))).toBeLessThan(mostMs);
  });

  it('CLEAN_SECONDS: a machine that does not report fails its cleaning after this time', async () => {
    const w = await open({ CLEAN_SECONDS: '10', CLEAN_ON_PROVIDE: 'true' }, { bootSeconds: 3600 });
    await w.enrol('machine-1');
    expect(await took(w.nodeIs('machine-1', 'clean failed'))).toBeLessThan(mostMs);
  });

  it('STEPS_SECONDS: steps that do not end fail after this time, beside that of the state', async () => {
    const w = await open({ CLEAN_SECONDS: '1', STEPS_SECONDS: '10' });
    await w.enrolAll();
    await w.ask(nodeProvision, { node: 'machine-1', target: 'manage' });
    await w.nodeIs('machine-1', 'manageable');
    const steps = [{ interface: 'power' as const, step: 'wait', args: { seconds: 3600 } }];
    await w.ask(nodeProvision, { node: 'machine-1', target: 'clean', steps });
    expect(await took(w.nodeIs('machine-1', 'clean failed'))).toBeLessThan(mostMs);
  });
});
