/** An event that the bus lost while its connection was lost does not delay a waiting host. */
import { createRig, project } from '@anneal/configuration/testing/running-service.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { queueFilled } from '@anneal/contracts/events.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import { afterEach, expect, it } from 'vitest';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

it('a host that waits gets its config when the bus is back, although the event was lost', async () => {
  const rig = await createRig();
  closers.push(() => rig.dispose());
  let isLost = false;
  let lost = 0;
  const gaps: (() => void)[] = [];
  const bus: Bus = {
    ...rig.context.bus,
    subscribe(patterns, handler, options) {
      if (options?.onGap) gaps.push(options.onGap);
      const deaf: typeof handler = async (delivery) => {
        if (!isLost || delivery.message.type !== queueFilled.type) return handler(delivery);
        lost += 1;
      };
      return rig.context.bus.subscribe(patterns, deaf, options);
    },
  };
  const context = await createTestContext({ name: 'gateway', bus, store: rig.context.store });
  closers.push(() => context.dispose());
  const settings = readSettings(gatewayService.settings, { ANNEAL_GATEWAY_PORT: '0' });
  const gateway = (await gatewayService.start(context, settings)) as RunningService & { url: string };
  closers.push(() => gateway.stop());
  const { id, token } = await rig.host('web');

  isLost = true;
  const claim = fetch(`${gateway.url}/messaging/v2/queues/host.${id}.requests/claims?wait=45`, {
    method: 'POST',
    headers: { 'x-auth-token': token, 'x-project-id': project, 'client-id': id, 'content-type': 'application/json' },
    body: JSON.stringify({ ttl: 60, grace: 60 }),
  });
  await rig.event('host.up', id);
  await rig.request('create', { type: 'OS::Heat::OrderedConfig', properties: { hosted_on: id, script: 'true' } });
  await eventually(() => (lost > 0 ? true : undefined), { what: 'the lost event' });
  isLost = false;
  const since = performance.now();
  for (const onGap of gaps) onGap();
  const response = await claim;
  expect(response.status).toBe(201);
  expect(((await response.json()) as { messages: unknown[] }).messages).toHaveLength(1);
  // Well before the wait of 45 s ends.
  expect(performance.now() - since).toBeLessThan(20_000);
});
