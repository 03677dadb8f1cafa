/** Trees like an overcloud with the real server, with and without hidden parameters, and every value checked. */
import { readFileSync } from 'node:fs';
import { eventually } from '@anneal/runtime/testing.ts';
import { deleted, startServer, type TestServer } from '../e2e/server.ts';
import { compare } from '../tree/compare.ts';
import { depthOf, resourcesIn } from '../tree/expected.ts';
import { clientReader, treeRequest, treeSettings } from '../tree/over-http.ts';
import { overcloud, type Tree } from '../tree/overcloud.ts';
import { huge, large, small, stateOf, type Size } from '../tree/state.ts';
import { percentiles, rowLine, type Bench, type Row } from './report.ts';

const limitMs = 1_800_000;
const stack = 'tree';

/** Use of the processor and memory by the server since its start, which Linux counts in `/proc`. */
function useOf({ pid }: TestServer): { cpuSeconds: number; peakMebibytes: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The fields after the name of the program, which may contain blanks. Ticks are hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100, peakMebibytes: Number(peak) / 1024 };
}

/** Waits for the end of an action without reading the outputs, which a worker evaluates at each read. */
const ended = ({ client }: TestServer) =>
  eventually(
    async () => {
      const found = await client.stacks.show({ stack, outputs: false });
      return found.stack_status.endsWith('IN_PROGRESS') ? undefined : found;
    },
    { within: limitMs, what: 'the tree being settled' },
  );

interface Step {
  readonly wall: number;
  readonly cpu: number;
}

type Steps = { readonly [action in (typeof actions)[number]]: Step } & { readonly peak: number };

const actions = ['create', 'update with the same', 'update with another parameter', 'delete'] as const;

async function measure(before: Tree, after: Tree, masks: boolean): Promise<Steps> {
  const server = await startServer({ lab: 0, env: treeSettings });
  try {
    const timed = async (act: () => Promise<unknown>, status: string | undefined): Promise<Step> => {
      const { cpuSeconds: cpu } = useOf(server);
      const start = performance.now();
      await act();
      if (status === undefined) await deleted(server, stack, limitMs);
      else {
        const { stack_status: reached, stack_status_reason: reason } = await ended(server);
        if (reached !== status) throw new Error(`The tree is ${reached}, not ${status}: ${reason}`);
      }
      return { wall: (performance.now() - start) / 1000, cpu: useOf(server).cpuSeconds - cpu };
    };
    const check = async ({ expected }: Tree): Promise<void> => {
      const { id } = await server.client.stacks.show({ stack, outputs: false });
      const { faults } = await compare(
        clientReader(() => server.client),
        id,
        { expected, masks },
      );
      if (faults.length > 0) throw new Error(`The tree has wrong values:\n${faults.join('\n')}`);
    };
    const { stacks } = server.client;
    const create = await timed(() => stacks.create({ name: stack, ...treeRequest(before) }), 'CREATE_COMPLETE');
    await check(before);
    const same = await timed(() => stacks.update({ stack, ...treeRequest(before) }), 'UPDATE_COMPLETE');
    const other = await timed(() => stacks.update({ stack, ...treeRequest(after) }), 'UPDATE_COMPLETE');
    await check(after);
    const removed = await timed(() => stacks.delete({ stack }), undefined);
    return {
      create,
      'update with the same': same,
      'update with another parameter': other,
      delete: removed,
      peak: useOf(server).peakMebibytes,
    };
  } finally {
    await server.dispose();
  }
}

function rowsOf(name: string, n: number, rounds: readonly Steps[]): Row[] {
  const row = { bench: 'tree', case: name, backend: 'embedded', n };
  const metric = (what: string, unit: string, samples: readonly number[]): Row => {
    const shares = percentiles(samples);
    return { ...row, metric: what, unit, value: shares.p50, ...shares };
  };
  return [
    ...actions.flatMap((action) => [
      metric(
        `${action}, time`,
        's',
        rounds.map((round) => round[action].wall),
      ),
      metric(
        `${action}, processor`,
        's',
        rounds.map((round) => round[action].cpu),
      ),
    ]),
    metric(
      'peak memory',
      'MiB',
      rounds.map(({ peak }) => peak),
    ),
  ];
}

export const treeBench: Bench = {
  name: 'tree',
  notes: [
    'The server is a process of its own on the embedded backends, started again for each round; the tree is that of test/tree.',
    `Settings: ${Object.entries(treeSettings)
      .map(([name, value]) => `${name}=${value}`)
      .join(', ')}.`,
    'hidden: the passwords are hidden parameters, so most values that the roles share are sealed. The sides alternate.',
    'time: from the client’s request to the settled stack. processor, peak memory: of the server’s process with its workers.',
    'The values of the tree are checked after the create and after the update, outside the measured times.',
  ],
  backends: ['embedded'],
  async run({ quick, say }) {
    const sizes: readonly { size: Size; rounds: number }[] = quick
      ? [{ size: small, rounds: 1 }]
      : [
          { size: large, rounds: 3 },
          { size: huge, rounds: 1 },
        ];
    const rows: Row[] = [];
    for (const { size, rounds } of sizes) {
      const sides = [true, false].map((hidden) => {
        const state = stateOf(size, { hidden });
        const [before, after] = [overcloud(state), overcloud({ ...state, domain: 'example.net' })];
        return { name: hidden ? 'hidden' : 'nothing hidden', hidden, before, after, found: [] as Steps[] };
      });
      const [
        {
          before: { expected },
        },
      ] = sides as [(typeof sides)[number]];
      const n = resourcesIn(expected);
      say(`${n} resources, ${depthOf(expected)} levels of nested stacks`);
      for (let round = 0; round < rounds; round += 1) {
        for (const side of round % 2 === 0 ? sides : sides.toReversed())
          side.found.push(await measure(side.before, side.after, side.hidden));
      }
      for (const { name, found } of sides) {
        const measured = rowsOf(name, n, found);
        rows.push(...measured);
        for (const each of measured) say(rowLine(each));
      }
    }
    return rows;
  },
};
