import { bootReport } from '@anneal/contracts/calls/boot.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import type { Draft } from '@anneal/store/port.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashOf } from '../nodes/states/boot-steps.ts';
import type { Bmcs } from '../bmcs.ts';
import { Boots } from './boots.ts';
import type { Boot, NodeDocument } from '../documents/node.ts';
import { NodeDriver } from '../nodes/states/driver.ts';
import { Images } from '../images/images.ts';
import { NodeRecords } from '../documents/records.ts';
import type { createSteps } from '../nodes/states/steps.ts';

let context: TestContext;
let records: NodeRecords;
let boots: Boots;
let images: Images;
beforeEach(async () => {
  context = await createTestContext({ name: 'provisioning' });
  records = await NodeRecords.open(context);
  const budgets = {
    bmcMs: 1000,
    bootMs: 1000,
    stepsMs: 1,
    stallMs: 300,
    totalMs: 6000,
    cleanMs: 1000,
    cleanOnProvide: false,
  };
  const bmcs = {} as Bmcs;
  // These tests run no step and set no timer.
  const steps = {} as ReturnType<typeof createSteps>;
  const timers = (): never => {
    throw new Error('no timers');
  };
  const driver = new NodeDriver({ context, records, bmcs, steps, timers, budgets });
  images = await Images.open({ context, accepted: [], announce: () => Promise.resolve() });
  boots = new Boots({ context, records, driver, images, erase: 'express' });
});
afterEach(() => context.dispose());

const boot = (purpose: Boot['purpose']): Boot =>
  ({
    purpose,
    secret: null,
    secret_hash: 'secret',
    token_hash: hashOf('token'),
    host: null,
    answered_at: null,
    report: null,
  }) as unknown as Boot;
async function nodeThatBoots(change: Partial<NodeDocument>): Promise<void> {
  const node = { id: 'n', name: 'n', traits: [], properties: {}, instance_id: null, target: null };
  const rest = { instance_info: {}, facts: {}, last_error: null, power: null, fault: null, reason: '', work: null };
  await records.insert({
    ...node,
    outbox: [],
    unsent: false,
    ...rest,
    poll: { failures: 0, reading: null },
    ...change,
  } as unknown as Draft<NodeDocument>);
}
const failure = { code: 'Defect', message: 'no', details: { dead_letter: 'l' } };
const deathOf = (definition: { type: string }, data: object) => ({
  letter: 'l',
  queue: 'q',
  message: { ...context.mint(bootReport, { data: {} as never }), type: definition.type, data },
  failure,
});

describe('a report of a machine that becomes a dead letter', () => {
  it('boot.report: fails the waiting node at once, with the id of the dead letter', async () => {
    await nodeThatBoots({ state: 'cleaning', boot: boot('clean') });
    await boots.unheard(deathOf(bootReport, { token: 'token', status: 'cleaned', message: '' }));
    expect(await records.get('n')).toMatchObject({ state: 'clean failed', last_error: failure });
  });

  it('host.up: fails the node that waits for its host at once, with the id of the dead letter', async () => {
    await nodeThatBoots({ state: 'wait call-back', instance_id: 'host', boot: boot('deploy') });
    await boots.unheard(deathOf(hostEvent.up, { host_id: 'host' }));
    expect(await records.get('n')).toMatchObject({ state: 'deploy failed', last_error: failure });
  });

  it('does not change a node that does not wait for it', async () => {
    await nodeThatBoots({ state: 'active', instance_id: 'host', boot: boot('deploy') });
    await boots.unheard(deathOf(hostEvent.up, { host_id: 'host' }));
    await boots.unheard(deathOf(hostEvent.up, { host_id: 7 }));
    expect(await records.get('n')).toMatchObject({ state: 'active' });
  });
});

describe('a report of a machine that writes an image', () => {
  it('asks it to wait until it is set to boot from its disk', async () => {
    await nodeThatBoots({ state: 'wait call-back', instance_id: 'host', boot: boot('deploy') });
    const written = { status: 'written', message: 'on /dev/sda' } as const;
    expect(await boots.report('token', written)).toEqual({ settled: false });
    expect(await boots.report('token', written)).toEqual({ settled: false });
    expect((await records.get('n'))?.boot).toMatchObject({ report: written, answered_at: null });
    await records.change('n', ({ boot: current }) =>
      current ? { boot: { ...current, settled_at: 'now' } } : undefined,
    );
    expect(await boots.report('token', written)).toEqual({ settled: true });
  });

  it('tells a machine that can power off to do so, and a script of an older version to restart the machine', async () => {
    await nodeThatBoots({ state: 'wait call-back', instance_id: 'host', boot: boot('deploy') });
    const written = { status: 'written', message: '', powers_off: true } as const;
    await boots.report('token', written);
    await records.change('n', ({ boot: current }) =>
      current ? { boot: { ...current, settled_at: 'now' } } : undefined,
    );
    expect(await boots.report('token', written)).toEqual({ settled: true, power_off: true });
  });

  it('is refused for another purpose, with another token, and when the node no longer boots', async () => {
    const written = { status: 'written', message: '' } as const;
    await nodeThatBoots({ state: 'cleaning', boot: boot('clean') });
    await expect(boots.report('token', written)).rejects.toMatchObject({ code: 'InvalidRequest' });
    await expect(boots.report('another', written)).rejects.toMatchObject({ code: 'NotFound' });
    await records.change('n', () => ({ state: 'active', boot: boot('deploy') }));
    await expect(boots.report('token', written)).rejects.toMatchObject({ code: 'NotFound' });
  });
});

describe('a heartbeat of a machine', () => {
  const sent = { phase: 'writing', bytes: 7, total: 9, uptime_ms: 1 } as const;
  const work = { id: 'w', step: 'await host', attempts: 0, next_at: 0 } as const;

  it('is kept with the node and moves its deadline, until the machine reports the end', async () => {
    const since = context.now().toISOString();
    const waits = { ...work, since, deadline: Date.parse(since) + 1000 };
    await nodeThatBoots({ state: 'wait call-back', instance_id: 'host', boot: boot('deploy'), work: waits });
    expect(await boots.progressed('token', sent)).toEqual({});
    const node = await records.get('n');
    expect(node?.boot?.heartbeat).toMatchObject({ phase: 'writing', bytes: 7 });
    expect(node?.work?.deadline).toBe(Date.parse(node?.boot?.heartbeat?.moved_at ?? '') + 300);
    await boots.report('token', { status: 'written', message: '' });
    const version = (await records.get('n'))?.version;
    await boots.progressed('token', { ...sent, phase: 'checking', uptime_ms: 2 });
    expect((await records.get('n'))?.version).toBe(version);
  });

  it('is refused with another token, for another purpose, and when the node no longer boots', async () => {
    await nodeThatBoots({ state: 'cleaning', boot: boot('clean') });
    await expect(boots.progressed('another', { ...sent, phase: 'erasing' })).rejects.toMatchObject({
      code: 'NotFound',
    });
    await expect(boots.progressed('token', sent)).rejects.toMatchObject({ code: 'InvalidRequest' });
    await records.change('n', () => ({ state: 'active', boot: boot('deploy') }));
    await expect(boots.progressed('token', sent)).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('is gone when the work has ended', async () => {
    await nodeThatBoots({ state: 'wait call-back', instance_id: 'host', boot: boot('deploy') });
    await boots.progressed('token', sent);
    await boots.unheard(deathOf(hostEvent.up, { host_id: 'host' }));
    expect((await records.get('n'))?.boot?.heartbeat).toBeUndefined();
  });
});

describe('a second exchange with another key', () => {
  const uuid = '00112233-4455-6677-8899-aabbccddeeff';
  const claims = { given: 'g', place: 'p', machine: `uuid:${uuid}`, serial: null };
  const exchanged = { commanded_at: 'now', exchanged_at: 'now', key_hash: hashOf('first'), refused_at: null };
  const second = async (machine: string | undefined, change: Partial<Boot> = {}): Promise<NodeDocument | undefined> => {
    const own = { ...boot('deploy'), ...exchanged, secret_hash: hashOf('secret'), ...change };
    await nodeThatBoots({ state: 'wait call-back', instance_id: 'host', claims, boot: own });
    const answer = boots.exchange({ secret: 'secret', key: 'the second key', machine });
    await expect(answer).rejects.toMatchObject({ code: 'Conflict' });
    return records.get('n');
  };
  const written = { report: { status: 'written', message: '' } } as const;

  it.each([
    ['says the UUID of the machine', uuid.toUpperCase(), {}],
    ['says nothing, as an older ramdisk, after the machine wrote its disk', undefined, written],
  ])('accuses no other program when it %s', async (_how, machine, change) => {
    const node = await second(machine, change);
    expect(node?.boot).toMatchObject({ refused_at: null, returned_at: expect.any(String) as string });
    expect(node?.warnings).toBeUndefined();
  });

  it.each([
    ['says another UUID', 'aaaaaaaa-4455-6677-8899-aabbccddeeff', written],
    ['says nothing, before the machine wrote its disk', undefined, {}],
  ])('reports another program when it %s', async (_how, machine, change) => {
    const node = await second(machine, change);
    expect(node?.boot?.returned_at).toBeUndefined();
    expect(node?.warnings).toMatchObject([{ type: 'CredentialsSafe', status: 'False' }]);
  });
});

describe('the content that the server keeps', () => {
  it('is for a machine that writes its image now, until it reports', async () => {
    const instance_info = { image: 'debian' };
    await nodeThatBoots({ state: 'wait call-back', instance_id: 'host', instance_info, boot: boot('deploy') });
    await images.add({ id: 'i', name: 'debian', sha256: 'b'.repeat(64), size: 7 });
    expect(await boots.image('token')).toEqual({ name: 'debian', sha256: 'b'.repeat(64) });
    await expect(boots.image('another')).rejects.toMatchObject({ code: 'NotFound' });
    await records.change('n', () => ({ state: 'active' }));
    await expect(boots.image('token')).rejects.toMatchObject({ code: 'NotFound' });
    await records.change('n', () => ({ state: 'wait call-back' }));
    await boots.report('token', { status: 'written', message: '' });
    await expect(boots.image('token')).rejects.toMatchObject({ code: 'NotFound' });
  });
});

describe('the search for a machine that boots by PXE', () => {
  const uuid = '00112233-4455-6677-8899-aabbccddeeff';
  const claims = { given: 'g', place: 'p', machine: `uuid:${uuid}`, serial: null };
  const waiting = (change: Partial<Boot> = {}): Boot => ({
    ...boot('deploy'),
    method: 'pxe',
    secret: context.secrets.seal('the secret'),
    commanded_at: 'now',
    exchanged_at: null,
    ...change,
  });

  it('finds it by its UUID, also with swapped bytes, between power-on and exchange', async () => {
    await nodeThatBoots({ state: 'wait call-back', claims, boot: waiting() });
    expect(await boots.find(uuid.toUpperCase())).toEqual({ secret: 'the secret' });
    expect(await boots.find('33221100-5544-7766-8899-aabbccddeeff')).toEqual({ secret: 'the secret' });
    await expect(boots.find('not a uuid')).rejects.toMatchObject({ code: 'NotFound' });
  });

  it.each([
    ['its BMC carries the address', { method: 'media' }],
    ['it is not powered on', { commanded_at: null }],
    ['it has exchanged the secret', { exchanged_at: 'now' }],
  ] as const)('finds nothing when %s', async (_why, change) => {
    await nodeThatBoots({ state: 'wait call-back', claims, boot: waiting(change) });
    await expect(boots.find(uuid)).rejects.toMatchObject({ code: 'NotFound' });
  });
});
