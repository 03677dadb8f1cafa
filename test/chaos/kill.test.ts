import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { bundle, deleted, settled, startServer, type TestServer } from '../e2e/server.ts';
import { faultsOfTrace, fleet } from '../e2e/templates.ts';
import { randomOf } from './random.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 4 });
});
afterAll(() => server?.dispose());

describe('kill -9 of the server', () => {
  it('repeated at starts and during create, update and delete loses nothing and runs nothing twice', async () => {
    const seed = process.env['CHAOS_SEED'] ? Number(process.env['CHAOS_SEED']) : Date.now() % 1_000_000;
    const random = randomOf(seed);
    const shape = { hosts: 3, configsPerHost: 3, trace: join(server.data, 'trace-harsh'), work: 'sleep 0.3' };
    const again = { ...shape, trace: join(server.data, 'trace-harsh-again') };
    const bounce = async (): Promise<void> => {
      await server.kill();
      for (let count = 0; count < 6; count += 1) await server.startAndKill(300 + random() * 3000);
      await server.start();
    };
    const context = { seed };
    await server.client.stacks.create({ name: 'harsh', bundle: bundle(fleet(shape)) });
    await bounce();
    expect({ ...context, status: (await settled(server, 'harsh', 120_000)).stack_status }).toEqual({
      ...context,
      status: 'CREATE_COMPLETE',
    });
    expect({ ...context, faults: faultsOfTrace(await readFile(shape.trace, 'utf8'), shape) }).toEqual({
      ...context,
      faults: [],
    });

    await server.client.stacks.update({ stack: 'harsh', bundle: bundle(fleet(again)) });
    await bounce();
    expect({ ...context, status: (await settled(server, 'harsh', 120_000)).stack_status }).toEqual({
      ...context,
      status: 'UPDATE_COMPLETE',
    });
    expect({ ...context, faults: faultsOfTrace(await readFile(again.trace, 'utf8'), again) }).toEqual({
      ...context,
      faults: [],
    });

    await server.client.stacks.delete({ stack: 'harsh' });
    await bounce();
    await deleted(server, 'harsh', 120_000);
  });

  const seeds = process.env['CHAOS_SEED']
    ? [Number(process.env['CHAOS_SEED'])]
    : [1, 2, 3].map((base) => base + Math.floor(Date.now() / 1000));
  for (const seed of seeds) {
    it(`at random moments of creating and deleting a fleet runs every script exactly once, in order (seed ${seed})`, async () => {
      const random = randomOf(seed);
      const shape = { hosts: 4, configsPerHost: 4, trace: join(server.data, `trace-${seed}`), work: 'sleep 0.2' };
      const name = `fleet-${seed}`;
      const killing = async (times: number): Promise<void> => {
        for (let count = 0; count < times; count += 1) {
          await new Promise((resolve) => setTimeout(resolve, 100 + random() * 2500));
          await server.kill();
          await server.start();
        }
      };
      await server.client.stacks.create({ name, bundle: bundle(fleet(shape)) });
      await killing(3);
      expect((await settled(server, name, 120_000)).stack_status).toBe('CREATE_COMPLETE');
      expect(faultsOfTrace(await readFile(shape.trace, 'utf8'), shape)).toEqual([]);
      await server.client.stacks.delete({ stack: name });
      await killing(2);
      await deleted(server, name, 120_000);
      await eventually(
        async () =>
          (await server.client.nodes.list()).every(
            (node) => node.provision_state === 'available' && node.power_state === 'power off',
          )
            ? true
            : undefined,
        { what: 'all nodes being available and off' },
      );
    });
  }
});
