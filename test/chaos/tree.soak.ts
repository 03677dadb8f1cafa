/**
 * Trees like an overcloud on the embedded store and on a broker with a database, while processes are killed with `kill -9`
 * at random moments. After each action every value must be right. `CHAOS_SEED` repeats an earlier run.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { findRabbitmq } from '../backends/rabbitmq.ts';
import { findBackends, isShort, startDistributed, type Distributed } from '../e2e/soak/distributed.ts';
import { deleted, settled, startServer, withClientRetries, type TestServer } from '../e2e/server.ts';
import { compare } from '../tree/compare.ts';
import { clientReader, treeRequest, treeSettings } from '../tree/over-http.ts';
import { overcloud, type Tree } from '../tree/overcloud.ts';
import { randomTree } from '../tree/random.ts';
import { changes, huge, large, small, stateOf, type Size } from '../tree/state.ts';
import { randomOf, seedOf } from './random.ts';

const seed = seedOf(Date.now() % 1_000_000);
/** The kills of an action follow each other after at most this time, so that they hit it at any moment. */
const longestDelayMs = isShort ? 1500 : 4000;
const settleMs = isShort ? 120_000 : 1_800_000;

/** Ends one process of the server with `kill -9`, and waits until it was started again. */
type Kill = (server: TestServer, random: () => number) => Promise<void>;

const killAll: Kill = async (server) => {
  await server.kill();
  await server.start();
};

const killOne: Kill = async (server, random) => {
  const distributed = server as Distributed;
  const processes = await distributed.processes();
  const victim = processes[Math.floor(random() * processes.length)];
  if (!victim?.pid) return;
  process.kill(victim.pid, 'SIGKILL');
  await eventually(
    async () => {
      const now = (await distributed.processes()).find(({ name }) => name === victim.name);
      return now && now.pid !== victim.pid ? true : undefined;
    },
    { what: `${victim.name} being started again` },
  );
};

interface Story {
  readonly server: TestServer;
  readonly kill: Kill;
  /** How often during each action. */
  readonly kills: number;
  readonly name: string;
  readonly before: Tree;
  readonly after: Tree;
}

/** Creates, updates and deletes a tree, and checks every value in between. */
async function survives({ server, kill, kills, name, before, after }: Story): Promise<void> {
  const random = randomOf(seed);
  const during = async (action: () => Promise<unknown>): Promise<void> => {
    await withClientRetries(action);
    for (let count = 0; count < kills; count += 1) {
      await delay(random() * longestDelayMs);
      await kill(server, random);
    }
  };
  const check = async (status: string, { expected }: Tree): Promise<void> => {
    const stack = await settled(server, name, settleMs);
    expect({ seed, status: stack.stack_status, reason: stack.stack_status_reason }).toMatchObject({ seed, status });
    const reader = clientReader(() => server.client);
    const { faults } = await compare(reader, stack.id, { expected, masks: true });
    expect({ seed, faults }).toEqual({ seed, faults: [] });
  };
  await during(() => server.client.stacks.create({ name, ...treeRequest(before) }));
  await check('CREATE_COMPLETE', before);
  await during(() => server.client.stacks.update({ stack: name, ...treeRequest(before) }));
  await check('UPDATE_COMPLETE', before);
  await during(() => server.client.stacks.update({ stack: name, ...treeRequest(after) }));
  await check('UPDATE_COMPLETE', after);
  await during(() => server.client.stacks.delete({ stack: name }));
  await deleted(server, name, settleMs);
}

const overclouds = (size: Size): Pick<Story, 'before' | 'after'> => {
  const state = stateOf(size);
  return { before: overcloud(state), after: overcloud(changes.reduce((now, { change }) => change(now), state)) };
};

const randoms = (number: number): Pick<Story, 'before' | 'after'> => {
  const drawn = { seed: number, levels: 3, width: 4, text: 'text', secret: 'hush', deep: 'first' };
  return { before: randomTree(drawn), after: randomTree({ ...drawn, text: 'other', secret: 'quiet', deep: 'second' }) };
};

const cases: readonly { size: string; shape: Size; kills: number }[] = isShort
  ? [{ size: 'small', shape: small, kills: 1 }]
  : [
      { size: '1,000', shape: large, kills: 5 },
      { size: '3,000', shape: huge, kills: 0 },
      { size: '3,000', shape: huge, kills: 8 },
    ];
const randomSeeds = Array.from({ length: isShort ? 0 : 20 }, (_, index) => seed + index);

const backends = await findBackends(findRabbitmq);
for (const { store, start, kill } of [
  { store: 'the embedded store', start: () => startServer({ lab: 0, flags: [], env: treeSettings }), kill: killAll },
  {
    store: 'RabbitMQ and MongoDB',
    start: backends && (() => startDistributed({ ...backends, lab: 0, env: treeSettings })),
    kill: killOne,
  },
]) {
  describe.skipIf(!start)(`a tree on ${store}`, () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await start!();
    });
    afterAll(() => server?.dispose(), 60_000);

    it.each(cases)(
      `of $size resources has every value right with $kills kills in each action (seed ${seed})`,
      { timeout: 4 * settleMs },
      ({ size, shape, kills }) =>
        survives({ server, kill, kills, name: `tree-${size.replace(',', '')}-${kills}`, ...overclouds(shape) }),
    );

    it.each(randomSeeds)(
      'that the seed %i draws has every value right with a kill in each action',
      { timeout: 4 * settleMs },
      (number) => survives({ server, kill, kills: 1, name: `random-${number}`, ...randoms(number) }),
    );
  });
}
