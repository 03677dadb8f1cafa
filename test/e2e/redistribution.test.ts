/**
 * The example `examples/redistribution` in the lab: the controller of a worker's machine dies. Nothing takes its share before the
 * fencing program of the operator confirms that the machine is off.
 */
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { atLab } from './at-lab.ts';
import { makeFence, type Fence } from './fence.ts';
import { settled, startServer, type TestServer } from './server.ts';
import { sharesOf } from './shares.ts';

const machines = Array.from({ length: 4 }, (_, index) => `machine-${index + 1}`);
const withinMs = 120_000;
let server: TestServer;
let fence: Fence;
beforeAll(async () => {
  fence = await makeFence();
  server = await startServer({
    lab: machines.length,
    env: {
      ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '2',
      ANNEAL_PROVISIONING_BMC_SECONDS: '120',
      ANNEAL_PROVISIONING_FENCE_PROGRAM: fence.program,
    },
  });
});
afterAll(async () => {
  await server?.dispose();
  await fence?.remove();
});

const shares = () => sharesOf(server, machines);
const all = Array.from({ length: 12 }, (_, index) => index);
const divided = (of: Record<string, number[]>): number[] =>
  Object.values(of)
    .flat()
    .toSorted((a, b) => a - b);

it('moves the partitions of a dead machine to the others, and only after the proof that it is off', async () => {
  const template = 'examples/redistribution/cluster.yaml';
  const created = await server.anneal('stack', 'create', 'share', '-t', template, '-P', 'after=1');
  expect(created.stderr).toBe('');
  expect((await settled(server, 'share', withinMs)).stack_status).toBe('CREATE_COMPLETE');
  const before = await shares();
  expect(Object.keys(before)).toHaveLength(3);
  expect(divided(before)).toEqual(all);

  const [dead = ''] = Object.keys(before);
  await atLab(server, { path: `/lab/v1/machines/${dead}/faults`, body: { dark: true } });

  await eventually(async () => (await fence.asked()).split('\n').length > 2 || undefined, {
    within: withinMs,
    what: 'two questions to the fencing program',
  });
  expect(await fence.asked()).toMatch(new RegExp(`^(?:off ${dead}\n)+$`));
  // The old worker keeps its share while nothing proves that its machine is off.
  const meanwhile = await shares();
  for (const [machine, share] of Object.entries(before)) expect(meanwhile[machine], machine).toEqual(share);

  await fence.pull();
  const others = Object.keys(before).filter((machine) => machine !== dead);
  const spare = machines.find((machine) => !(machine in before)) ?? '';
  let now: Record<string, number[]> = {};
  await eventually(
    async () => {
      const { [dead]: _dead, ...alive } = await shares();
      now = alive;
      // Meanwhile two machines may have the same share: the one that takes it, and the one that is about to take another.
      return isDeepStrictEqual(divided(alive), all) || undefined;
    },
    { within: withinMs, what: 'the partitions on the machines that are left', last: () => now },
  );
  expect(Object.keys(now).toSorted()).toEqual([...others, spare].toSorted());
  await eventsOfReplacement();
});

/** The events of the group name the fault of the node as the reason, and the same member in each. */
async function eventsOfReplacement(): Promise<void> {
  const { client } = server;
  const dataOf = async (type: string): Promise<Record<string, unknown>[]> =>
    (await client.events.list({ group: 'share/workers', types: [type], limit: 100 })).map(
      ({ data }) => data as Record<string, unknown>,
    );
  const done = await eventually(
    async () => (await dataOf('group.scaling.completed')).find(({ reason }) => reason === 'replacement'),
    { within: withinMs, what: 'the end of the replacement', last: () => server.output() },
  );
  const [gone] = done['leaving'] as string[];
  const started = (await dataOf('group.scaling.started')).find(({ id }) => id === done['id']);
  expect(started).toMatchObject({
    leaving: [gone],
    origin: { cause: { kind: 'replacement', reason: expect.stringContaining('the fault power failure since') } },
  });
  const left = (await dataOf('group.member.left')).filter(({ id }) => id === done['id']);
  expect(left).toMatchObject([{ member: gone, reason: 'replacement' }]);
}
