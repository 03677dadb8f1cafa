/** The embedded server dies while hosts hold batches of claimed configs. `CHAOS_SEED` repeats an earlier run. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../e2e/server.ts';
import { survivesWithBatches } from './batches.ts';
import { randomOf, seedOf } from './random.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 0 });
});
afterAll(() => server?.dispose());

const seed = seedOf(Date.now() % 1_000_000);
it(`kill -9 of the server while hosts hold batches loses no config, and runs none twice or out of order (seed ${seed})`, async () => {
  await survivesWithBatches({
    server,
    name: 'batch',
    kills: 5,
    random: randomOf(seed),
    async harm() {
      await server.kill();
      await server.start();
    },
  });
  expect(await server.client.deadLetters.list()).toEqual([]);
});
