/** A RabbitMQ for the conformance suites. Each test has its own prefix for all names. */
import { opener } from '@anneal/bus/conformance/open.ts';
import { openRabbitmqBroker } from '@anneal/bus/rabbitmq/open.ts';
import { connect } from 'amqplib';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { findRabbitmq, type RabbitmqServer } from '../backends/rabbitmq.ts';
import { reportSkipped } from '../backends/missing.ts';

const found = await findRabbitmq();
const missing = 'missing' in found ? found.missing : undefined;
reportSkipped('the bus on RabbitMQ', missing);
const server = found as RabbitmqServer;

/** Names that only one test uses. */
export interface RabbitmqPlace {
  readonly url: string;
  readonly storeUrl: string;
  dispose(): Promise<void>;
}

const open = opener(openRabbitmqBroker);

async function fresh(): Promise<RabbitmqPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-bus-'));
  const prefix = `${randomUUID().slice(0, 8)}.`;
  const url = `${server.url}${server.url.includes('?') ? '&' : '?'}prefix=${prefix}`;
  const storeUrl = `sqlite:${join(folder, 'store.db')}`;
  return {
    url,
    storeUrl,
    async dispose() {
      const { bus } = await open({ url, storeUrl });
      // The broker counts a consumer for a moment after its channel has ended.
      await vi.waitFor(async () => {
        for (const { name } of await bus.queues.list()) await bus.queues.remove(name);
      });
      await bus.close();
      const link = await connect(server.url);
      const channel = await link.createChannel();
      await channel.deleteQueue(`${prefix}anneal.rejected`);
      await link.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** `missing` is the reason why there is none; then the rest does not work. */
export const rabbitmqForTests = { missing, server, harness: { fresh, open } };
