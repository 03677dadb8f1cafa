/**
 * Workflows with one process per service, while both processes of scheduling are killed. `CHAOS_SEED` repeats the moment
 * of a run.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import {
  eachFormEnds,
  faultsAfterHarm,
  openWorkflowWorld,
  runEachForm,
  workflowServerEnvironment,
  type WorkflowWorld,
} from '../workflow-scenarios.ts';
import { randomOf, seedOf } from '../../chaos/random.ts';
import { brokers, findBackends, startDistributed, type Distributed } from './distributed.ts';

/** For each broker: about a minute on two quiet processors. */
const count = 50;
const seed = seedOf(Date.now() % 1_000_000);
const random = randomOf(seed);

for (const { name, find } of brokers) {
  const backends = await findBackends(find);
  describe.skipIf(!backends)(`workflows on ${name} and MongoDB`, () => {
    let server: Distributed;
    let world: WorkflowWorld;
    beforeAll(async () => {
      server = await startDistributed({ ...backends!, lab: 1, env: workflowServerEnvironment });
      world = await openWorkflowWorld(server, join(server.data, 'trace'));
    });
    afterAll(async () => {
      await world?.listener.close();
      await server?.dispose();
    });

    it('run every form of task', async () => {
      expect(await runEachForm(world)).toEqual(eachFormEnds);
    });

    it(`end after kill -9 of scheduling under ${count} executions, and nothing of them runs twice (seed ${seed})`, async () => {
      const harm = async (): Promise<void> => {
        const before = (await server.processes()).filter(({ service }) => service === 'scheduling');
        expect(before).toHaveLength(2);
        for (const { pid } of before) process.kill(pid, 'SIGKILL');
        const old = new Set(before.map(({ pid }) => pid));
        await eventually(
          async () => ((await server.processes()).every(({ pid }) => !old.has(pid)) ? true : undefined),
          { what: 'scheduling being started again' },
        );
      };
      const at = performance.now();
      const after = 1 + Math.floor(random() * (2 * count - 1));
      expect(await faultsAfterHarm(world, { count, after, harm, within: 600_000 })).toEqual([]);
      const seconds = ((performance.now() - at) / 1000).toFixed(1);
      process.stdout.write(`${count} executions on ${name}, killed after ${after} calls, took ${seconds} s\n`);
    }, 900_000);
  });
}
