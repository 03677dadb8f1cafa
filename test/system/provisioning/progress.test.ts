/** Machines that report how far they are with their image: the limits follow their progress, and readers see it. */
import { imageAdd } from '@anneal/contracts/calls/images.ts';
import type { NodeProgress } from '@anneal/contracts/node-progress.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { ProvisioningWorld, type WorldOptions } from './provisioning-world.ts';

useQuickClock({ stepMs: 500 });

const size = 900 * 2 ** 20;

describe('a machine that reports its progress', () => {
  let world: ProvisioningWorld | undefined;
  const open = async (options: Partial<WorldOptions> = {}): Promise<ProvisioningWorld> => {
    world = await ProvisioningWorld.open({ machines: 1, ...options });
    await world.enrolAll();
    const image = { id: world.context.newId(), name: 'debian', url: 'http://127.0.0.1:1/disk.img' };
    await world.ask(imageAdd, { ...image, sha256: 'a'.repeat(64), size });
    return world;
  };
  afterEach(async () => {
    await world?.close();
    world = undefined;
  });
  const create = async (w: ProvisioningWorld): Promise<string> => {
    const id = w.context.newId();
    const properties = { flavor: 'baremetal', name: 'srv', image: 'debian' };
    await w.request('create', { id, fence: 1, properties, seconds: 86_000 });
    return id;
  };
  const sees = (
    w: ProvisioningWorld,
    what: string,
    fits: (progress: NodeProgress) => boolean,
  ): Promise<NodeProgress> => {
    let last: unknown;
    return eventually(
      async () => {
        const { progress } = await w.node('machine-1');
        last = progress;
        return progress && fits(progress) ? progress : undefined;
      },
      { what, last: () => last },
    );
  };
  const progressEvents = (w: ProvisioningWorld): NodeProgress[] =>
    w.events.flatMap(({ type, data }) =>
      type === 'node.progress' ? [data['progress'] as unknown as NodeProgress] : [],
    );

  it('is not failed at the limit of a boot while it makes progress, and is shown until it is done', async () => {
    const w = await open({
      settings: { ANNEAL_PROVISIONING_BOOT_SECONDS: '60', ANNEAL_PROVISIONING_STALL_SECONDS: '60' },
    });
    // Four minutes in all.
    await w.fault('machine-1', { write_pace: { steps: 12, ms: 10_000 } });
    const began = Date.now();
    const id = await create(w);
    const writing = await sees(
      w,
      'the writing',
      ({ phase, seconds_left: left }) => phase === 'writing' && left !== null,
    );
    expect(writing).toMatchObject({ image: 'debian', total: size, problem: null });
    expect(writing.bytes_per_second).toBeGreaterThan(0);
    await sees(w, 'the checking', ({ phase }) => phase === 'checking');
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
    expect(Date.now() - began).toBeGreaterThan(200_000);
    const node = await w.nodeIs('machine-1', 'active');
    expect(node.progress).toBeNull();
    const reasons = w.responses.map(({ message }) => message ?? '');
    expect(reasons).toContain('node machine-1 checks image debian on its disk');
    const events = progressEvents(w);
    expect(events.map(({ phase }) => phase)).toContain('checking');
    // Each phase lasts two minutes, and an event comes in 30 seconds.
    expect(events.length).toBeGreaterThan(4);
    expect(events.length).toBeLessThan(13);
  });

  it('fails when it makes no progress for the limit, and the failure says how far it came and why', async () => {
    const w = await open({
      settings: { ANNEAL_PROVISIONING_STALL_SECONDS: '90', ANNEAL_PROVISIONING_DEPLOY_ATTEMPTS: '1' },
    });
    const problem = 'image interrupted: Failed to connect to images.example';
    await w.fault('machine-1', { write_pace: { steps: 4, ms: 10_000, stops_at: 2, problem } });
    const began = Date.now();
    const id = await create(w);
    await sees(w, 'the problem', (progress) => progress.problem === problem);
    const { error } = await w.answered(id, 1);
    expect(Date.now() - began).toBeLessThan(1_000_000);
    expect(error).toMatchObject({ code: 'DeadlineExceeded' });
    expect(error?.message).toMatch(
      /^The machine of node machine-1 wrote 450 MiB of 900 MiB \(50 %\), then made no progress for 2 min, although it went on reporting until .* \(ANNEAL_PROVISIONING_STALL_SECONDS\)\. Its last problem: image interrupted: Failed to connect to images\.example\./,
    );
    expect((await w.node('machine-1')).progress).toBeNull();
  });

  it('D7: is not failed by a service that was away while its heartbeats were lost', async () => {
    const w = await open({ settings: { ANNEAL_PROVISIONING_STALL_SECONDS: '40' } });
    await w.fault('machine-1', { write_pace: { steps: 30, ms: 10_000 } });
    const id = await create(w);
    await sees(w, 'the writing', ({ bytes }) => bytes > 0);
    await w.stop();
    const stopped = Date.now();
    await eventually(() => Date.now() > stopped + 100_000 || undefined, { what: 'more than the limit' });
    await w.start();
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
  });

  it('fails at the total limit, however much progress it makes', async () => {
    const settings = {
      ANNEAL_PROVISIONING_BOOT_SECONDS: '60',
      ANNEAL_PROVISIONING_TOTAL_SECONDS: '200',
      ANNEAL_PROVISIONING_DEPLOY_ATTEMPTS: '1',
    };
    const w = await open({ settings });
    await w.fault('machine-1', { write_pace: { steps: 100, ms: 10_000 } });
    const id = await create(w);
    const { error } = await w.answered(id, 1);
    expect(error?.message).toMatch(/but was not done within 3 min \(ANNEAL_PROVISIONING_TOTAL_SECONDS\)/);
  });

  it('gets the time of a boot once more when it lost its power, and writes again', async () => {
    const w = await open({
      settings: { ANNEAL_PROVISIONING_BOOT_SECONDS: '600', ANNEAL_PROVISIONING_STALL_SECONDS: '90' },
    });
    await w.fault('machine-1', { write_pace: { steps: 10, ms: 10_000 } });
    const id = await create(w);
    await sees(w, 'the checking', ({ phase }) => phase === 'checking');
    await w.lab.machines[0]?.reset('ForceOff');
    await sees(w, 'the second writing', ({ phase }) => phase === 'writing');
    expect(await w.answered(id, 1)).toMatchObject({ status: 'complete' });
  });
});
