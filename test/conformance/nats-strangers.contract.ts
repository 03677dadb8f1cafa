/** The bus on NATS JetStream when other programs change its messages or consumers. */
import { mintTestMessage, silent, sum, work } from '@anneal/bus/conformance/messages.ts';
import { openTestBus } from '@anneal/bus/conformance/open.ts';
import { JetStreamConnection } from '@anneal/bus/nats/connection.ts';
import type { Address } from '@anneal/bus/nats/names.ts';
import type { Bus, Death } from '@anneal/bus/port.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
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
  const todo = (n: number) => mintTestMessage(work, { data: { n } });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-nats-strangers-'));
    storeUrl = `sqlite:${join(folder, 'store.db')}`;
    url = `${server?.url}?prefix=test-${randomUUID().slice(0, 8)}`;
  });
  afterEach(async () => {
    await Promise.all([...opened, ...strangers.splice(0)].map((each) => each.close()));
    opened = [];
    await rm(folder, { recursive: true, force: true });
  });
  afterAll(() => server?.stop());

  const strangers: { close(): Promise<void> }[] = [];
  const stranger = async (): Promise<JetStreamConnection> => {
    const link = await JetStreamConnection.open({ url, name: 'stranger', id: 'stranger', log: silent });
    strangers.push(link);
    return link;
  };
  const takeFrom = async (link: JetStreamConnection, { stream, durable }: Address): Promise<string> => {
    const api = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`;
    return (await link.nc.request(api, '', { timeout: 5_000, noMux: true })).reply ?? '';
  };
  const giveUp: Record<string, (link: JetStreamConnection, address: Address) => Promise<void>> = {
    async 'terminated by a foreign consumer'(link, address) {
      link.nc.publish(await takeFrom(link, address), '+TERM not for me');
    },
    async 'delivered as often as the server allows'(link, address) {
      await link.jsm.consumers.update(address.stream, address.durable, { max_deliver: 2 });
      link.nc.publish(await takeFrom(link, address), '-NAK');
      link.nc.publish(await takeFrom(link, address), '-NAK');
      // The server reports it when a consumer asks for more. That may bring the message back already.
      link.nc.publish(await takeFrom(link, address).catch(() => 'nowhere'), '-NAK');
    },
  };
  const reasons: Record<string, string> = {
    'terminated by a foreign consumer': 'not for me',
    'delivered as often as the server allows': 'after 2 deliveries',
  };

  it.each(Object.keys(giveUp))(
    'B7: the requester of a message %s is notified, and then it is a dead letter',
    async (how) => {
      const [service, requester] = [await open(), await open()];
      const notices: Envelope[] = [];
      await requester.consume('asker', async ({ message }) => void notices.push(message));
      const request = mintTestMessage(work, { data: { n: 1 }, subject: 's', replyto: 'asker' });
      await requester.send({ queue: q, messages: [request] });
      const link = await stranger();
      await giveUp[how]?.(link, link.names.address(q));
      const deaths: Death[] = [];
      const handled: unknown[] = [];
      await service.consume(q, async ({ message }) => void handled.push(message), {
        onDeath: async (death) => void deaths.push(death),
      });
      await vi.waitFor(() => expect(notices).toHaveLength(1), soon);
      const letters = await vi.waitFor(async () => {
        const list = await service.deadLetters.list({ limit: 5 });
        expect(list).toHaveLength(1);
        return list;
      }, soon);
      const [letter] = letters;
      expect(letter).toMatchObject({
        queue: q,
        attempts: how.startsWith('delivered') ? 2 : 1,
        failure: { code: 'Defect', message: expect.stringContaining(reasons[how] ?? '?') as string },
      });
      expect(JSON.parse(letter?.bytes ?? '')).toEqual(request);
      expect(notices[0]).toMatchObject({
        type: 'request.died',
        subject: 's',
        data: { dead_letter: letter?.id, queue: q, request: { id: request.id, type: 'test.work' } },
      });
      expect(deaths).toMatchObject([{ letter: letter?.id, queue: q, message: { id: request.id } }]);
      expect(handled).toEqual([]);
      expect(await service.queues.measure(q)).toMatchObject({ depth: 0, inFlight: 0 });

      expect(await service.deadLetters.replay(letter?.id ?? '')).toBe(true);
      await vi.waitFor(() => expect(handled).toMatchObject([{ id: request.id }]), soon);
    },
  );

  it('B7: a question that a foreign consumer terminates is answered with the failure', async () => {
    const [service, requester] = [await open(), await open()];
    await service.queues.declare(q);
    const question = requester.request({
      queue: q,
      call: sum,
      message: mintTestMessage(sum, { data: { a: 1, b: 2 } }),
    });
    const refused = expect(question).rejects.toMatchObject({ code: 'Defect', details: { queue: q } });
    const link = await stranger();
    await vi.waitFor(async () => expect(await service.queues.measure(q)).toMatchObject({ depth: 1 }), soon);
    await giveUp['terminated by a foreign consumer']?.(link, link.names.address(q));
    await service.consume(q, async () => undefined);
    await refused;
  });

  it('restores a consumer that an operator has changed', async () => {
    const before = await open();
    await before.send({ queue: q, messages: [todo(1)] });
    const link = await stranger();
    const { stream, durable } = link.names.address(q);
    const { config } = await link.jsm.consumers.info(stream, durable);
    await link.jsm.consumers.update(stream, durable, { max_deliver: 2 });
    const handled: unknown[] = [];
    await (await open()).consume(q, async ({ message }) => void handled.push(message));
    await vi.waitFor(() => expect(handled).toHaveLength(1), soon);
    expect((await link.jsm.consumers.info(stream, durable)).config.max_deliver).toBe(config.max_deliver);
  });

  /** The streams as the version before the copies declared them. */
  const withoutCopies = async (): Promise<void> => {
    await open();
    const { jsm, names } = await stranger();
    for (const name of [names.stream.requests, names.stream.responses]) {
      const { republish: _copied, ...config } = (await jsm.streams.info(name)).config;
      await jsm.streams.update(name, { ...config, republish: undefined } as never);
    }
    await jsm.streams.delete(names.stream.copies);
  };
  const terminated = async (): Promise<void> => {
    const link = await stranger();
    await giveUp['terminated by a foreign consumer']?.(link, link.names.address(q));
  };
  const theLetter = async (bus: Bus) =>
    vi.waitFor(async () => {
      const [letter] = await bus.deadLetters.list({ limit: 5 });
      expect(letter).toBeDefined();
      return letter;
    }, soon);

  it.each([
    ['', async () => undefined],
    [' in streams of an older version', withoutCopies],
  ])(
    'B7: the requester of a terminated message is notified after a restart of its sender%s',
    async (_where, before) => {
      await before();
      const sender = await open();
      const request = mintTestMessage(work, { data: { n: 2 }, subject: 's', replyto: 'asker' });
      await sender.send({ queue: q, messages: [todo(1), request, todo(3)] });
      await sender.send({ queue: 'other.q', messages: [todo(4)] });
      await sender.close();
      const link = await stranger();
      const untouched = await takeFrom(link, link.names.address(q));
      await terminated();
      link.nc.publish(untouched, '-NAK');
      const bus = await open();
      const notices: Envelope[] = [];
      await bus.consume('asker', async ({ message }) => void notices.push(message));
      const handled: unknown[] = [];
      await bus.consume(q, async ({ message }) => void handled.push(message.data));
      const letter = await theLetter(bus);
      expect(letter).toMatchObject({ queue: q, failure: { message: expect.stringContaining('not for me') as string } });
      expect(JSON.parse(letter?.bytes ?? '')).toEqual(request);
      await vi.waitFor(() => expect(notices).toMatchObject([{ type: 'request.died', subject: 's' }]), soon);
      await vi.waitFor(() => expect(handled).toHaveLength(2), soon);
      expect(handled).toEqual(expect.arrayContaining([{ n: 1 }, { n: 3 }]));
    },
  );

  it('keeps a dead letter with the reason of a terminated message that has no copy', async () => {
    await (await open()).send({ queue: q, messages: [todo(1)] });
    const { jsm, names } = await stranger();
    await jsm.streams.purge(names.stream.copies);
    await terminated();
    expect(await theLetter(await open())).toMatchObject({
      queue: q,
      bytes: '',
      failure: { message: expect.stringContaining('not for me') as string },
    });
  });
});
