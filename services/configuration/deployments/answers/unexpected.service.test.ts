import { randomUUID } from 'node:crypto';
import * as hostCalls from '@anneal/contracts/calls/hosts.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimed, createRig, type Rig } from '../../testing/running-service.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.dispose());

const begin = async (name: string, options: Record<string, Json> = {}) => {
  const host = await rig.host(name);
  const { resource } = await rig.request('create', {
    type: 'OS::Heat::OrderedConfig',
    name: `config-of-${name}`,
    properties: { hosted_on: host.id, script: 'true', options },
  });
  const { request } = await claimed(rig, host.id);
  return { host, request, resource };
};
const show = (host: { id: string }) => rig.ask(hostCalls.hostShow, { host: host.id });
const seen = async (host: { id: string }) =>
  ((await show(host)).unexpected_answers ?? []).map(({ kind, alarm, count }) => [kind, alarm, count]);
const reportsOf = (host: { id: string }) =>
  rig.events.filter(({ type, subject }) => type === 'host.answer.unexpected' && subject === host.id);

describe('an answer that no run waits for', () => {
  it('is reported when it contradicts the accepted one, but not when it repeats it', async () => {
    const { host, request, resource } = await begin('web');
    const answer = { id: request.id, status_code: 0, stdout: 'first', outputs: { a: '1' } };
    await rig.post(host.id, answer);
    await rig.final(resource.id);
    await rig.post(host.id, answer, { id: request.id, progress: 'started' });
    expect(await seen(host)).toEqual([]);
    await rig.post(host.id, { ...answer, status_code: 1 }, { ...answer, outputs: { a: '2' } });
    expect((await show(host)).unexpected_answers).toMatchObject([
      {
        kind: 'contradicting',
        alarm: false,
        count: 2,
        deployment: 'config-of-web',
        reason: expect.stringContaining('outputs'),
      },
    ]);
    const event = await rig.event('host.answer.unexpected', host.id);
    expect(event.data).toMatchObject({ kind: 'contradicting', request_id: request.id, deployment_id: resource.id });
    expect(rig.responses.filter(({ status }) => status !== 'in progress')).toHaveLength(1);
  });

  it('is late when it arrives after its time limit', async () => {
    const { host, request, resource } = await begin('web', { timeout: 0.2 });
    await rig.final(resource.id);
    await rig.post(host.id, { id: request.id, status_code: 0 });
    expect(await seen(host)).toEqual([['late', false, 1]]);
  });

  it('raises an alarm when it belongs to another host, and does not change the queue of that host', async () => {
    const victim = await begin('victim');
    const thief = await rig.host('thief');
    await rig.post(thief.id, { id: victim.request.id, status_code: 0 }, { id: victim.request.id, progress: 'started' });
    expect(await seen(thief)).toEqual([['foreign', true, 2]]);
    expect(await seen(victim.host)).toEqual([]);
    expect((await show(victim.host)).pending).toBe(1);
    await rig.post(victim.host.id, { id: victim.request.id, status_code: 0 });
    expect(await rig.final(victim.resource.id)).toMatchObject({ status: 'complete' });
  });

  it('is unknown when no run has its id, whatever its form', async () => {
    const host = await rig.host('web');
    await rig.post(host.id, { id: '../../etc', status_code: 0 }, { id: 'x'.repeat(5000), status_code: 0 });
    expect(await seen(host)).toEqual([
      ['unknown', false, 1],
      ['unknown', false, 1],
    ]);
    expect((await show(host)).unexpected_answers?.[1]?.request_id).toHaveLength(100);
  });

  it('U2: is counted within bounds in a flood, and does not hide an alarm', async () => {
    const victim = await begin('victim');
    const host = await rig.host('web');
    const flood = (): Json[] => Array.from({ length: 60 }, () => ({ id: randomUUID(), status_code: 0 }));
    await rig.post(host.id, ...flood());
    await rig.post(host.id, { id: victim.request.id, status_code: 0 });
    await rig.post(host.id, ...flood());
    const view = await show(host);
    expect(view.unexpected_total).toBe(121);
    expect(view.unexpected_answers).toHaveLength(11);
    expect(view.unexpected_answers?.[0]).toMatchObject({ kind: 'foreign', alarm: true });
    await eventually(() => reportsOf(host).length === 11 || undefined, {
      what: 'eleven events',
      last: () => reportsOf(host),
    });
    expect(reportsOf(host).filter(({ data }) => (data as { alarm: boolean }).alarm)).toHaveLength(1);
  });
});
