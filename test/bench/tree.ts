/** Trees like an overcloud with the real server, with and without hidden parameters, and every value checked. */
import { eventually } from '@anneal/runtime/testing.ts';
import { deleted, repository, startServer, type TestServer } from '../e2e/server.ts';
import { compare } from '../tree/compare.ts';
import { depthOf, resourcesIn } from '../tree/expected.ts';
import { clientReader, treeRequest, treeSettings } from '../tree/over-http.ts';
import { overcloud, type Tree } from '../tree/overcloud.ts';
import { huge, large, small, stateOf, type Size } from '../tree/state.ts';
import { percentiles, rowLine, type Bench, type BenchOptions, type Row } from './report.ts';
import { settingsNote, settingsOf } from './server-settings.ts';
import { timed, useOf, type Step } from './server-use.ts';

const limitMs = 1_800_000;
const stack = 'tree';

/** Waits for the end of an action without reading the outputs, which a worker evaluates at each read. */
const ended = ({ client }: TestServer) =>
  eventually(
    async () => {
      const found = await client.stacks.show({ stack, outputs: false });
      return found.stack_status.endsWith('IN_PROGRESS') ? undefined : found;
    },
    { within: limitMs, what: 'the tree being settled' },
  );

const actions = ['create', 'update with the same', 'update with another parameter', 'delete'] as const;

/** The measurements of one life of a tree. An earlier revision may end it early. */
type Steps = { [action in (typeof actions)[number]]?: Step } & { peak?: number };

interface Life {
  readonly before: Tree;
  readonly after: Tree;
  readonly masks: boolean;
}

async function measure({ before, after, masks }: Life, { server: sources, say }: BenchOptions): Promise<Steps> {
  const isEarlier = sources !== repository;
  const server = await startServer({ lab: 0, env: await settingsOf(sources, treeSettings), sources });
  const found: Steps = {};
  const step = async (action: (typeof actions)[number], act: () => Promise<unknown>): Promise<void> => {
    found[action] = await timed(server, async () => {
      await act();
      if (action === 'delete') return deleted(server, stack, limitMs);
      const wanted = action === 'create' ? 'CREATE_COMPLETE' : 'UPDATE_COMPLETE';
      const { stack_status: reached, stack_status_reason: reason } = await ended(server);
      if (reached !== wanted) throw new Error(`The tree is ${reached}, not ${wanted}: ${reason}`);
    });
  };
  const check = async ({ expected }: Tree): Promise<void> => {
    const { id } = await server.client.stacks.show({ stack, outputs: false });
    const { faults } = await compare(
      clientReader(() => server.client),
      id,
      { expected, masks },
    );
    if (faults.length === 0) return;
    if (!isEarlier) throw new Error(`The tree has wrong values:\n${faults.join('\n')}`);
    say(`  the tree has ${faults.length} wrong values, the first: ${faults[0]}`);
  };
  try {
    const { stacks } = server.client;
    await step('create', () => stacks.create({ name: stack, ...treeRequest(before) }));
    await check(before);
    await step('update with the same', () => stacks.update({ stack, ...treeRequest(before) }));
    await step('update with another parameter', () => stacks.update({ stack, ...treeRequest(after) }));
    await check(after);
    await step('delete', () => stacks.delete({ stack }));
    found.peak = useOf(server).peakMebibytes;
  } catch (error) {
    if (!isEarlier) throw error;
    say(`  left out: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await server.dispose();
  }
  return found;
}

function rowsOf(name: string, n: number, rounds: readonly Steps[]): Row[] {
  const row = { bench: 'tree', case: name, backend: 'embedded', n };
  const metric = (what: string, unit: string, of: (round: Steps) => number | undefined): Row[] => {
    const samples = rounds.flatMap((round) => of(round) ?? []);
    if (samples.length === 0) return [];
    const shares = percentiles(samples);
    return [{ ...row, metric: what, unit, value: shares.p50, ...shares }];
  };
  return [
    ...actions.flatMap((action) => [
      ...metric(`${action}, time`, 's', (round) => round[action]?.wall),
      ...metric(`${action}, processor`, 's', (round) => round[action]?.cpu),
    ]),
    ...metric('peak memory', 'MiB', ({ peak }) => peak),
  ];
}

export const treeBench: Bench = {
  name: 'tree',
  measures: 'server',
  notes: [
    'The server is a process of its own on the embedded backends, started again for each round; the tree is that of test/tree.',
    settingsNote(treeSettings),
    'hidden: the passwords are hidden parameters, so most values that the roles share are sealed. The sides alternate.',
    'time: from the client’s request to the settled stack. processor, peak memory: of the server’s process with its workers.',
    'The values of the tree are checked after the create and after the update, outside the measured times.',
  ],
  backends: ['embedded'],
  async run(options) {
    const { quick, say } = options;
    const sizes: readonly { size: Size; rounds: number }[] = quick
      ? [{ size: small, rounds: 1 }]
      : [
          { size: large, rounds: 3 },
          { size: huge, rounds: 1 },
        ];
    const rows: Row[] = [];
    for (const { size, ...chosen } of sizes) {
      const rounds = options.rounds ?? chosen.rounds;
      const sides = [true, false].map((hidden) => {
        const state = stateOf(size, { hidden });
        const [before, after] = [overcloud(state), overcloud({ ...state, domain: 'example.net' })];
        return { name: hidden ? 'hidden' : 'nothing hidden', masks: hidden, before, after, found: [] as Steps[] };
      });
      const [
        {
          before: { expected },
        },
      ] = sides as [(typeof sides)[number]];
      const n = resourcesIn(expected);
      say(`${n} resources, ${depthOf(expected)} levels of nested stacks`);
      for (let round = 0; round < rounds; round += 1) {
        for (const side of round % 2 === 0 ? sides : sides.toReversed()) side.found.push(await measure(side, options));
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
