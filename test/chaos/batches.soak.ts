/**
 * A gateway, a configuration service or the broker dies while hosts hold batches of claimed configs. `CHAOS_SEED`
 * repeats an earlier run.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { brokers, findBackends, startDistributed, type Distributed } from '../e2e/soak/distributed.ts';
import { survivesWithBatches } from './batches.ts';
import { randomOf, seedOf } from './random.ts';

const seed = seedOf(Date.now() % 1_000_000);

for (const { name, find } of brokers) {
  const backends = await findBackends(find);
  describe.skipIf(!backends)(`hosts with batches of configs, on ${name} and MongoDB`, () => {
    let server: Distributed;
    beforeAll(async () => {
      server = await startDistributed({ ...backends!, lab: 0 });
    });
    afterAll(() => server?.dispose(), 60_000);

    /** Kills the processes of a service in turn. The supervisor starts each again. */
    const killEach =
      (service: string) =>
      async (round: number): Promise<void> => {
        const processes = (await server.processes()).filter((each) => each.service === service);
        const victim = processes[round % processes.length];
        if (!victim) throw new Error(`There is no process of ${service}.`);
        process.kill(victim.pid, 'SIGKILL');
        await eventually(
          async () => {
            const now = (await server.processes()).find((each) => each.name === victim.name);
            return now && now.pid !== victim.pid ? true : undefined;
          },
          { what: `${victim.name} being started again` },
        );
      };

    it.each([
      { victim: 'gateway', kills: 5, harm: killEach('gateway') },
      { victim: 'configuration', kills: 5, harm: killEach('configuration') },
      {
        victim: 'broker',
        // RabbitMQ takes a minute to start on a busy machine.
        kills: 3,
        async harm() {
          await server.broker.kill();
          await server.broker.start();
        },
      },
    ])(
      `kill -9 of the $victim loses no config, and runs none twice or out of order (seed ${seed})`,
      { timeout: 900_000 },
      async ({ victim, kills, harm }) => {
        await survivesWithBatches({ server, name: victim, kills, random: randomOf(seed), harm });
        expect(await server.client.deadLetters.list()).toEqual([]);
      },
    );
  });
}
