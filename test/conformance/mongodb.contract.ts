import { randomBytes } from 'node:crypto';
import { storeConformance } from '@anneal/store/conformance.ts';
import { dropDatabase } from '@anneal/store/mongodb/drop.ts';
import { afterAll, expect, it } from 'vitest';
import type { BackendServer } from '../backends/backend.ts';
import { databaseUrl, findMongodb } from '../backends/mongodb.ts';

const server = await findMongodb();
const missing = 'missing' in server ? server.missing : '';

const required = process.env['CI'] === 'true';
it.skipIf(missing !== '' && !required)('has a MongoDB to run on', () => expect(missing).toBe(''));
if ('missing' in server) process.stderr.write(`${missing}\n`);
else runOn(server);

function runOn(started: BackendServer): void {
  afterAll(() => started.stop());
  storeConformance('MongoDB', {
    async fresh() {
      const own = databaseUrl(started.url, `anneal_test_${randomBytes(6).toString('hex')}`);
      return { url: own, dispose: () => dropDatabase(own) };
    },
  });
}
