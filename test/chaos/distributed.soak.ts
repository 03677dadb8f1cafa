import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { brokers, findBackends, startDistributed, type Distributed } from '../e2e/distributed.ts';
import { bundle, deleted, settled } from '../e2e/server.ts';
import { faultsOfTrace, fleet } from '../e2e/templates.ts';

/** A question to a process that has just died is answered 503, to be asked again; what was done already is well. */
async function patiently(ask: () => Promise<unknown>): Promise<void> {
  let last: unknown;
  await eventually(
    async () => {
      try {
        await ask();
        return true;
      } catch (error) {
        last = error instanceof Error ? error.message : error;
        const code = error instanceof AnnealError ? error.code : '';
        if (code === 'AlreadyExists' || code === 'NotFound') return true;
        if (code === 'Unavailable' || code === 'TimedOut') return undefined;
        throw error;
      }
    },
    { within: 60_000, what: 'the question being answered', last: () => last },
  );
}

const shape = { hosts: 6, configsPerHost: 4, work: 'sleep 0.3' };

for (const { name, find, survivesKill } of brokers) {
  const backends = await findBackends(find);
  describe.skipIf(!backends)(`processes of their own on ${name} and MongoDB`, () => {
    let server: Distributed;
    beforeAll(async () => {
      server = await startDistributed({ ...backends!, lab: shape.hosts });
    }, 180_000);
    afterAll(() => server?.dispose());

    /** Creates a fleet, lets something bad happen in the middle of it, and looks whether everything ended right. */
    const survives = async (stack: string, harm: () => Promise<void>): Promise<void> => {
      const trace = join(server.data, `trace-${stack}`);
      await patiently(() => server.client.stacks.create({ name: stack, bundle: bundle(fleet({ ...shape, trace })) }));
      await eventually(async () => ((await readFile(trace, 'utf8').catch(() => '')) === '' ? undefined : true), {
        within: 60_000,
        what: 'the first config having run',
      });
      await harm();
      expect((await settled(server, stack, 150_000)).stack_status).toBe('CREATE_COMPLETE');
      expect(faultsOfTrace(await readFile(trace, 'utf8'), shape)).toEqual([]);
      await patiently(() => server.client.stacks.delete({ stack }));
      await deleted(server, stack, 150_000);
    };

    it('kill -9 of every service process in turn: every script ran exactly once, in order', async () => {
      await survives('services', async () => {
        for (const { name: process_, pid } of await server.processes()) {
          process.kill(pid, 'SIGKILL');
          await eventually(
            async () => {
              const now = (await server.processes()).find((entry) => entry.name === process_);
              return now && now.pid !== pid ? true : undefined;
            },
            { within: 30_000, what: `${process_} being started again` },
          );
        }
      });
    });

    it.runIf(survivesKill)(
      'kill -9 of the broker, and its start on the same data: every script ran exactly once, in order',
      async () => {
        await survives('broker', async () => {
          await server.broker.kill();
          await server.broker.start();
        });
      },
    );

    it('kill -9 of the database, and its start on the same data: every script ran exactly once, in order', async () => {
      await survives('database', async () => {
        await server.database.kill();
        await server.database.start();
      });
    });
  });
}
