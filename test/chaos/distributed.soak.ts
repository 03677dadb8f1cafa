/**
 * The guarantees of a distributed installation. While stacks of twenty hosts are created and deleted, every service is
 * killed in turn, and the database and the broker are killed and restarted on their data. Every stack ends correctly, and
 * every script has run exactly once, in order.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { brokers, findBackends, isShort, startDistributed, type Fleet } from '../e2e/soak/distributed.ts';
import { startSupervised } from '../e2e/soak/distributed-supervised.ts';
import { bundle, deleted, withClientRetries, settled } from '../e2e/server.ts';
import { faultsOfTrace, fleet } from '../e2e/templates.ts';
import { randomOf, seedOf } from './random.ts';

const shape = isShort
  ? { hosts: 4, configsPerHost: 3, work: 'sleep 1' }
  : { hosts: 20, configsPerHost: 4, work: 'sleep 2' };
const settleMs = 240_000;

type Harm = (fleet: Fleet) => Promise<void>;

/** Kills one process after the other, each as soon as the previous one was started again, ready or not. */
const killServices: Harm = async (server) => {
  for (const { name, pid } of await server.processes()) {
    process.kill(pid, 'SIGKILL');
    await eventually(
      async () => {
        const now = (await server.processes()).find((each) => each.name === name);
        return now && now.pid !== pid ? true : undefined;
      },
      { what: `${name} being started again` },
    );
    await delay(700);
  }
};
const restartDatabase: Harm = async ({ database }) => {
  await database.kill();
  await database.start();
};
const restartBroker: Harm = async ({ broker }) => {
  await broker.kill();
  await broker.start();
};

/** The progress of a stack that does not end. */
async function standing({ client }: Fleet, stack: string): Promise<string> {
  const [resources, queues, letters, deployments, hosts] = await Promise.allSettled([
    client.stacks.resources({ stack, detail: true }),
    client.queues.list(),
    client.deadLetters.list(),
    client.deployments.list(),
    client.hosts.list(),
  ]);
  const waiting =
    resources.status === 'fulfilled'
      ? resources.value.filter(({ resource_status: status }) => !status.endsWith('_COMPLETE'))
      : resources;
  const busy =
    queues.status === 'fulfilled'
      ? queues.value.filter(({ depth, in_flight: held }) => depth + (held ?? 0) > 0)
      : queues;
  const nodes = await client.nodes.list().catch(() => []);
  const states = nodes.map(({ name, provision_state: state, last_error: error }) => ({ name, state, error }));
  const parts = { waiting, nodes: states, letters, busy, hosts, deployments };
  return Object.entries(parts)
    .map(([part, value]) => `${part}: ${JSON.stringify(value).slice(0, 6000)}`)
    .join('\n');
}

for (const { name, find } of brokers) {
  for (const [keeper, start] of [
    ['anneal serve', startDistributed] as const,
    ...(isShort ? [] : [['a supervisor from outside', startSupervised] as const]),
  ]) {
    const backends = await findBackends(find);
    describe.skipIf(!backends)(`processes of their own on ${name} and MongoDB, kept by ${keeper}`, () => {
      let server: Fleet;
      beforeAll(async () => {
        server = await start({ ...backends!, lab: shape.hosts });
      });
      afterAll(() => server?.dispose(), 60_000);

      /** Creates and deletes a fleet, with a fault in the middle of each, and checks the results. */
      const survives = async (stack: string, harm: Harm): Promise<void> => {
        const trace = join(server.data, `trace-${stack}`);
        const ran = (): Promise<string> => readFile(trace, 'utf8').catch(() => '');
        await withClientRetries(() =>
          server.client.stacks.create({ name: stack, bundle: bundle(fleet({ ...shape, trace })) }),
        );
        await eventually(async () => ((await ran()) === '' ? undefined : true), {
          within: 120_000,
          what: 'the first config having run',
          last: () => server.output(),
        });
        await harm(server);
        const created = await settled(server, stack, settleMs).catch(async (error: unknown) => {
          throw new Error(`no progress with ${await standing(server, stack)}`, { cause: error });
        });
        expect({ status: created.stack_status, reason: created.stack_status_reason }).toMatchObject({
          status: 'CREATE_COMPLETE',
        });
        expect(faultsOfTrace(await ran(), shape)).toEqual([]);
        await withClientRetries(() => server.client.stacks.delete({ stack }));
        await harm(server);
        await deleted(server, stack, settleMs);
        expect(faultsOfTrace(await ran(), shape)).toEqual([]);
        await eventually(
          async () => {
            const nodes = await server.client.nodes.list().catch(() => []);
            const free = nodes.filter(({ provision_state }) => provision_state === 'available');
            return free.length === shape.hosts ? true : undefined;
          },
          { what: 'all nodes being available', last: () => server.output() },
        );
      };

      it('survives kill -9 of every service process in turn', () => survives('services', killServices), 600_000);

      it(
        'kill -9 of the database, and its start on the same data',
        () => survives('database', restartDatabase),
        600_000,
      );

      it(
        'survives kill -9 of the broker and a restart on the same data',
        () => survives('broker', restartBroker),
        600_000,
      );

      const seed = seedOf(Math.floor(Date.now() / 1000));
      it(`survives all faults at random moments (seed ${seed})`, { timeout: 900_000 }, async () => {
        const random = randomOf(seed);
        const harms: Harm[] = [
          restartDatabase,
          restartBroker,
          ...Array.from({ length: 4 }, (): Harm => async (fleet_) => {
            const processes = await fleet_.processes();
            const victim = processes[Math.floor(random() * processes.length)];
            // The process may have died and not yet restarted.
            if (victim?.pid) {
              try {
                process.kill(victim.pid, 'SIGKILL');
              } catch {
                // The process has already ended.
              }
            }
          }),
        ];
        await survives('random', async (fleet_) => {
          for (let round = 0; round < 10; round += 1) {
            await delay(random() * 1500);
            await harms[Math.floor(random() * harms.length)]?.(fleet_);
          }
        });
      });
    });
  }
}
