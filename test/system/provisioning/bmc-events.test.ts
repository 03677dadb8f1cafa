/** Events of BMCs that offer no stream: they post them to a subscription. With a real lab, and the gateway's route. */
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { nodeRemove } from '@anneal/contracts/calls/nodes.ts';
import { bmcEventsUrl } from '@anneal/runtime/secrets/bmc-events.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld } from './provisioning-world.ts';

useQuickClock({ stepMs: 20 });

let world: ProvisioningWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});
const open = async (pollSeconds: number): Promise<ProvisioningWorld> => {
  const settings = { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: String(pollSeconds) };
  return (world = await ProvisioningWorld.open({ machines: 2, eventStream: false, settings }));
};

const call = async ({ lab }: ProvisioningWorld, method: string, path: string, body?: object) => {
  const answered = await fetch(`${lab.url}/redfish/v1/${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`${lab.username}:${lab.password}`).toString('base64')}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answered.text();
  return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
};
const subscriptions = async (w: ProvisioningWorld): Promise<string[]> => {
  const { Members: members } = await call(w, 'GET', 'EventService/Subscriptions');
  return (members as { '@odata.id': string }[]).map((member) => member['@odata.id'].replace('/redfish/v1/', ''));
};
const untilSubscribed = (w: ProvisioningWorld): Promise<string[]> =>
  eventually(
    async () => {
      const found = await subscriptions(w);
      return found.length > 0 ? found : undefined;
    },
    { what: 'a subscription' },
  );
const powerIs = (w: ProvisioningWorld, name: string, power: string) =>
  eventually(async () => ((await w.node(name)).power_state === power ? true : undefined), {
    what: `${name} ${power}`,
  });
const reset = (w: ProvisioningWorld, name: string, type: string) =>
  call(w, 'POST', `Systems/${name}/Actions/ComputerSystem.Reset`, { ResetType: type });

describe('a BMC without a stream', () => {
  it('reports a change of power long before the next reading, also to a service that started again', async () => {
    const w = await open(3600);
    await w.enrolAll();
    const made = await untilSubscribed(w);
    await reset(w, 'machine-1', 'On');
    await powerIs(w, 'machine-1', 'power on');
    await w.stop();
    await w.start();
    await reset(w, 'machine-2', 'On');
    await powerIs(w, 'machine-2', 'power on');
    expect(await subscriptions(w)).toEqual(made);
  });

  it('has one subscription for both nodes, which goes with the last of them', async () => {
    const w = await open(1);
    await w.enrolAll();
    const [made = ''] = await untilSubscribed(w);
    expect(await call(w, 'GET', made)).toMatchObject({
      Destination: bmcEventsUrl(w.context.secrets, w.context.gatewayUrl, w.lab.url),
    });
    await w.ask(nodeRemove, { node: 'machine-1' });
    await reset(w, 'machine-2', 'On');
    await powerIs(w, 'machine-2', 'power on');
    expect(await subscriptions(w)).toEqual([made]);
    await reset(w, 'machine-2', 'ForceOff');
    await powerIs(w, 'machine-2', 'power off');
    await w.ask(nodeRemove, { node: 'machine-2' });
    await eventually(async () => ((await subscriptions(w)).length === 0 ? true : undefined), {
      what: 'the end of the subscription',
    });
  });
});
