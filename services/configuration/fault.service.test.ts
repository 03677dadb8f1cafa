import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { claimed, createRig } from './testing/running-service.ts';

useQuickClock({ stepMs: 20 });

const disarm: (() => void)[] = [];
afterEach(() => disarm.splice(0).forEach((each) => each()));

/** Throws at the first pass only. */
function failOnce(name: string): { fired: () => boolean } {
  let fired = false;
  disarm.push(
    armFault(name, () => {
      if (fired) return;
      fired = true;
      throw new Error(`fault ${name}`);
    }),
  );
  return { fired: () => fired };
}

const points = ['configuration.run.recorded', 'configuration.run.ended', 'outbox.sent'];

describe('a deployment whose service stops halfway', () => {
  it.each(points)('completes when the message is delivered again after a fault at %s', async (point) => {
    const rig = await createRig();
    const fault = failOnce(point);
    const host = await rig.host('web');
    const { resource } = await rig.request('create', {
      type: 'OS::Heat::OrderedConfig',
      properties: { hosted_on: host.id, script: 'true' },
    });
    // The claim of the host may hit the fault too, so the host retries.
    const request = await eventually(async () => (await rig.claim(host.id).catch(() => undefined))?.request);
    const answer = () => rig.post(host.id, { id: request.id, status_code: 0 });
    await answer().catch(answer);
    expect(await rig.final(resource.id)).toMatchObject({ status: 'complete' });
    expect(fault.fired()).toBe(true);
    expect(rig.responses.filter((each) => each.status === 'complete').length).toBeGreaterThanOrEqual(1);
    expect(await rig.claim(host.id)).toBeUndefined();
    await rig.dispose();
  });

  it.each(points.slice(1))('completes at the next start after a fault at %s that ended the service', async (point) => {
    const context = await createTestContext({ name: 'configuration' });
    const shared = { bus: context.bus, store: context.store, directory: context.directory };
    const first = await createRig(shared);
    const host = await first.host('web');
    const { resource } = await first.request('create', {
      type: 'OS::Heat::OrderedConfig',
      properties: { hosted_on: host.id, script: 'true' },
    });
    const { request } = await claimed(first, host.id);
    await first.event('deployment.queued', resource.id);
    const stop = armFault(point, () => {
      throw new Error('broken off');
    });
    await expect(first.post(host.id, { id: request.id, status_code: 0 })).rejects.toThrow('broken off');
    await first.stop();
    stop();
    const second = await createRig(shared);
    const said = [...first.responses, ...second.responses];
    if (!said.some((each) => each.status === 'complete')) {
      expect(await second.final(resource.id)).toMatchObject({ status: 'complete' });
    }
    await expect.poll(() => second.claim(host.id)).toBeUndefined();
    await second.stop();
    await context.dispose();
  });
});

it('a run whose limit was over just before the service ended is not handed out after the next start', async () => {
  const context = await createTestContext({ name: 'configuration' });
  const shared = { bus: context.bus, store: context.store, directory: context.directory };
  const first = await createRig(shared);
  const host = await first.host('web');
  const ended = failOnce('configuration.run.ended');
  await first.request('create', {
    type: 'OS::Heat::OrderedConfig',
    properties: { hosted_on: host.id, script: 'true', options: { queue_timeout: 0.2 } },
  });
  await expect.poll(ended.fired).toBe(true);
  await first.stop();
  const second = await createRig(shared);
  expect(await second.claim(host.id)).toBeUndefined();
  await second.stop();
  await context.dispose();
});

it('the outbox publishes the events of an outage when the broker is back, without a new message', async () => {
  const context = await createTestContext({ name: 'configuration' });
  let away = false;
  const bus: Bus = {
    ...context.bus,
    publish: (events) =>
      away && events.some(({ type }) => type === 'host.up')
        ? Promise.reject(new AnnealError('Unavailable', 'no broker'))
        : context.bus.publish(events),
  };
  const rig = await createRig({ bus, store: context.store, directory: context.directory });
  const host = await rig.host('web');
  away = true;
  await expect(rig.claim(host.id)).rejects.toMatchObject({ code: 'Unavailable' });
  away = false;
  await rig.event('host.up', host.id);
  await rig.stop();
  await context.dispose();
});
