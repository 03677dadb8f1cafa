/** A NATS server for the conformance suites. Each test has its own prefix for all names. */
import { silent } from '@anneal/bus/conformance/messages.ts';
import { opener } from '@anneal/bus/conformance/open.ts';
import { dropNatsPrefix } from '@anneal/bus/nats/drop.ts';
import { openNatsBroker } from '@anneal/bus/nats/open.ts';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findNats } from '../backends/nats.ts';
import { reportSkipped } from '../backends/missing.ts';

const found = await findNats();
const server = 'missing' in found ? undefined : found;
if ('missing' in found) reportSkipped('the bus on NATS', found.missing);

const fresh = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-nats-store-'));
  const prefix = `test-${randomUUID().slice(0, 8)}`;
  const url = `${server?.url}${server?.url.includes('?') ? '&' : '?'}prefix=${prefix}`;
  return {
    url,
    storeUrl: `sqlite:${join(folder, 'store.db')}`,
    dispose: async (): Promise<void> => {
      await dropNatsPrefix({ url, log: silent });
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const open = opener(openNatsBroker);

/** `server` is undefined when there is none; the reason is on standard error. */
export const natsForTests = { server, harness: { fresh, open } };
