/** The conformance of the bus on a real NATS server. */
import { silent } from '@anneal/bus/conformance/messages.ts';
import { opener } from '@anneal/bus/conformance/open.ts';
import { busRestartConformance } from '@anneal/bus/conformance/restart.ts';
import { activeConformance } from '@anneal/bus/conformance/active.ts';
import { topologyConformance } from '@anneal/bus/conformance/topology.ts';
import { busConformance } from '@anneal/bus/conformance/conformance.ts';
import { dropNatsPrefix } from '@anneal/bus/nats/drop.ts';
import { openNatsBroker } from '@anneal/bus/nats/open.ts';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { findNats } from '../backends/nats.ts';
import { lostConnectionConformance } from './lost-connection.ts';

const found = await findNats();
const server = 'missing' in found ? undefined : found;
if ('missing' in found) {
  process.stderr.write(`${found.missing}\n`);
  if (process.env['CI'] === 'true') throw new Error(found.missing);
}

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

describe.skipIf(server === undefined)('the bus on a real NATS server', () => {
  afterAll(() => server?.stop());
  busConformance('NATS JetStream', { fresh, open });
  if (server?.mayBeKilled === true) busRestartConformance('NATS JetStream', { fresh, open }, server);
  lostConnectionConformance('NATS JetStream', { fresh, open });
  activeConformance('NATS JetStream', { fresh, open });
  topologyConformance('NATS JetStream', { fresh, open });
});
