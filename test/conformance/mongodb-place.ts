/** A MongoDB for the conformance suites. Each test has its own database. */
import { dropDatabase } from '@anneal/store/mongodb/drop.ts';
import { randomBytes } from 'node:crypto';
import { databaseUrl, findMongodb } from '../backends/mongodb.ts';
import { reportSkipped } from '../backends/missing.ts';

const found = await findMongodb();
const missing = 'missing' in found ? found.missing : undefined;
reportSkipped('the store on MongoDB', missing);
const server = 'missing' in found ? undefined : found;

const fresh = async () => {
  const url = databaseUrl(server?.url ?? '', `anneal_test_${randomBytes(6).toString('hex')}`);
  return { url, dispose: () => dropDatabase(url) };
};

/** `server` is undefined when there is none; the reason is on standard error. */
export const mongodbForTests = { server, fresh };
