/**
 * The example `examples/redistribution` without a fencing program: controllers of machines go dark while their hosts work
 * on. Nothing takes their shares, also after the last attempt to turn them off, and the group still replaces the others.
 */
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { atLab } from './at-lab.ts';
import { settled, startServer, type TestServer } from './server.ts';
import { sharesOf } from './shares.ts';

const machines = Array.from({ length: 6 }, (_, index) => `machine-${index + 1}`);
const withinMs = 120_000;
let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    lab: machines.length,
    env: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '2', ANNEAL_PROVISIONING_BMC_SECONDS: '5' },
  });
});
afterAll(() => server?.dispose());

const makeDark = (machine: string, dark: boolean): Promise<void> =>
  atLab(server, { path: `/lab/v1/machines/${machine}/faults`, body: { dark } });
/** The ids of the servers that the context knows as workers, and those of the group. */
async function membership(): Promise<{ context: number; refs: number }> {
  const { outputs = [] } = await server.client.stacks.show({ stack: 'share', outputs: true });
  const context = outputs.find(({ output_key: key }) => key === 'workers')?.output_value;
  const group = await server.client.stacks.resource({ stack: 'share', resource: 'workers' });
  const { refs } = group.attributes as { refs: unknown[] };
  return { context: (context as unknown[]).length, refs: refs.length };
}
const deletionsThatFailed = async (): Promise<number> => {
  const events = await server.client.events.list({
    group: 'share/workers',
    types: ['resource.delete.failed'],
    limit: 100,
  });
  return new Set(events.map(({ subject }) => subject)).size;
};

const all = Array.from({ length: 12 }, (_, index) => index);
/** Waits until these workers, and no other machine, divide all partitions among them. */
const divided = (workers: number, what: string): Promise<Record<string, number[]>> =>
  eventually(
    async () => {
      const shares = await sharesOf(server, machines);
      const sorted = Object.values(shares)
        .flat()
        .toSorted((a, b) => a - b);
      return Object.keys(shares).length === workers && isDeepStrictEqual(sorted, all) ? shares : undefined;
    },
    { within: withinMs, what, last: () => server.output() },
  );

it('keeps a worker whose machine is not proven to be off, and replaces the next one', async () => {
  const words = ['-P', 'after=1', '-P', 'size=2'];
  await server.anneal('stack', 'create', 'share', '-t', 'examples/redistribution/cluster.yaml', ...words);
  expect((await settled(server, 'share', withinMs)).stack_status).toBe('CREATE_COMPLETE');
  const [first = '', second = ''] = Object.keys(await divided(2, 'the shares of two workers'));

  await makeDark(first, true);
  await eventually(async () => (await deletionsThatFailed()) > 0, {
    within: withinMs,
    what: 'the failed deletion of the first worker',
    last: () => server.output(),
  });
  // The old worker works on, so it has a share, and the new one has another.
  await divided(3, 'the shares with one worker that leaves');
  expect(await membership()).toEqual({ context: 3, refs: 3 });

  await makeDark(second, true);
  const shares = await divided(4, 'the shares with two workers that leave');
  expect(Object.keys(shares)).toEqual(expect.arrayContaining([first, second]));
  expect(await membership()).toEqual({ context: 4, refs: 4 });

  for (const machine of [first, second]) await makeDark(machine, false);
  await server.anneal('stack', 'update', 'share', '--existing', '--wait');
  await eventually(async () => isDeepStrictEqual(await membership(), { context: 2, refs: 2 }), {
    within: withinMs,
    what: 'the end of the workers that are proven to be off',
    last: async () => JSON.stringify(await membership()),
  });
});
