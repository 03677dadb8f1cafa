/** The bus on NATS JetStream when strangers meddle. */
import { mint, silent, work } from '@anneal/bus/conformance/messages.ts';
import { openTestBus } from '@anneal/bus/conformance/open.ts';
import { Link } from '@anneal/bus/nats/connection.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { openStore } from '@anneal/store/open.ts';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findNats } from '../backends/nats.ts';

const found = await findNats();
const server = 'missing' in found || !found.mayBeKilled ? undefined : found;
if ('missing' in found) process.stderr.write(`${found.missing}\n`);

const q = 'test.q';
const soon = { timeout: 20_000, interval: 20 };

describe.skipIf(server === undefined)('a bus on a NATS server of its own', () => {
  let url: string;
  let storeUrl: string;
  let folder: string;
  let opened: { close(): Promise<void> }[] = [];

  const open = async (): Promise<Bus> => {
    const store = await openStore({ url: storeUrl });
    const bus = await openTestBus({ url, store });
    opened.push({
      async close() {
        await bus.close();
        await store.close();
      },
    });
    return bus;
  };
  const todo = (n: number) => mint(work, { data: { n } });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-nats-strangers-'));
    storeUrl = `sqlite:${join(folder, 'store.db')}`;
    url = `${server?.url}?prefix=test-${randomUUID().slice(0, 8)}`;
  });
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()));
    opened = [];
    await rm(folder, { recursive: true, force: true });
  });
  afterAll(() => server?.stop());

  it('what a foreign consumer terminates, or the server gives up, is a dead letter', async () => {
    const bus = await open();
    await bus.send({ queue: q, messages: [todo(1)] });
    const link = await Link.open({ url, name: 'stranger', id: 'stranger', log: silent });
    const address = link.names.address(q);
    const message = await link.nc.request(`$JS.API.CONSUMER.MSG.NEXT.${address.stream}.${address.durable}`, '', {
      timeout: 5000,
      noMux: true,
    });
    link.nc.publish(message.reply ?? '', '+TERM not for me');
    await vi.waitFor(
      async () =>
        expect(await bus.deadLetters.list({ limit: 5 })).toMatchObject([
          { queue: q, failure: { message: expect.stringContaining('not for me') as string } },
        ]),
      soon,
    );
    await link.close();
  });
});
