/** The bus on RabbitMQ when other programs consume from its queues, or have declared them. */
import { mintTestMessage, sum, work } from '@anneal/bus/conformance/messages.ts';
import { openTestBus } from '@anneal/bus/conformance/open.ts';
import type { Bus, Death } from '@anneal/bus/port.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { openStore } from '@anneal/store/open.ts';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findRabbitmq } from '../backends/rabbitmq.ts';

const found = await findRabbitmq();
const server = 'missing' in found || !found.mayBeKilled ? undefined : found;
if ('missing' in found) process.stderr.write(`${found.missing}\n`);

const q = 'test.q';
const soon = { timeout: 30_000, interval: 20 };

describe.skipIf(server === undefined)('a bus on a RabbitMQ of its own', () => {
  let prefix: string;
  let folder: string;
  let stranger: ChannelModel;
  let channel: Channel;
  let opened: { close(): Promise<void> }[] = [];

  const open = async (): Promise<Bus> => {
    const store = await openStore({ url: `sqlite:${join(folder, 'store.db')}` });
    const bus = await openTestBus({ url: `${server?.url}?prefix=${prefix}`, store });
    opened.push({
      async close() {
        await bus.close();
        await store.close();
      },
    });
    return bus;
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-rabbitmq-strangers-'));
    prefix = `${randomUUID().slice(0, 8)}.`;
    stranger = await connect(server?.url ?? '');
    channel = await stranger.createChannel();
  });
  afterEach(async () => {
    await stranger.close();
    await Promise.all(opened.splice(0).map((each) => each.close()));
    opened = [];
    await rm(folder, { recursive: true, force: true });
  });
  afterAll(() => server?.stop());

  const rejectOne = (): Promise<void> =>
    vi.waitFor(async () => {
      const message = await channel.get(prefix + q);
      if (message === false) throw new Error('the queue is empty');
      channel.nack(message, false, false);
    }, soon);
  /** As the version before the queue of rejected messages declared it, with the policy of an operator. */
  const oldQueueWithPolicy = async (): Promise<void> => {
    await channel.assertQueue(prefix + q, {
      durable: true,
      arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000 },
    });
    const policy = { 'dead-letter-exchange': '', 'dead-letter-routing-key': `${prefix}anneal.rejected` };
    // The pattern of docs/symptoms/dead-letters-appear.md.
    const pattern = `^${prefix.replaceAll('.', '\\.')}(?!anneal\\.(rejected|retry|replies|listeners)\\b)`;
    await server?.control('set_policy', `${prefix}rejected`, pattern, JSON.stringify(policy), '--apply-to', 'queues');
  };

  it.each([
    ['', async () => undefined],
    [' from a queue of an earlier version with a policy', oldQueueWithPolicy],
  ])('B7: the requester of a message that a foreign consumer rejects%s is notified', async (_from, prepare) => {
    await prepare();
    const [service, requester] = [await open(), await open()];
    const notices: Envelope[] = [];
    await requester.consume('asker', async ({ message }) => void notices.push(message));
    const request = mintTestMessage(work, { data: { n: 1 }, subject: 's', replyto: 'asker' });
    await requester.send({ queue: q, messages: [request] });
    await rejectOne();
    const deaths: Death[] = [];
    const handled: unknown[] = [];
    await service.consume(q, async ({ message }) => void handled.push(message), {
      onDeath: async (death) => void deaths.push(death),
    });
    await vi.waitFor(() => expect(notices).toHaveLength(1), soon);
    const [letter] = await vi.waitFor(async () => {
      const letters = await service.deadLetters.list({ limit: 5 });
      expect(letters).toHaveLength(1);
      return letters;
    }, soon);
    expect(letter).toMatchObject({
      queue: q,
      attempts: 1,
      failure: { code: 'Defect', message: expect.stringContaining('A consumer rejected it') as string },
    });
    expect(JSON.parse(letter?.bytes ?? '')).toEqual(request);
    expect(notices[0]).toMatchObject({
      type: 'request.died',
      subject: 's',
      data: { dead_letter: letter?.id, queue: q, request: { id: request.id, type: 'test.work' } },
    });
    expect(deaths).toMatchObject([{ letter: letter?.id, queue: q, message: { id: request.id } }]);
    expect(handled).toEqual([]);

    expect(await service.deadLetters.replay(letter?.id ?? '')).toBe(true);
    await vi.waitFor(() => expect(handled).toMatchObject([{ id: request.id }]), soon);
  });

  it('B7: a question that a foreign consumer rejects is answered with the failure', async () => {
    const [service, requester] = [await open(), await open()];
    await service.queues.declare(q);
    const question = requester.request({
      queue: q,
      call: sum,
      message: mintTestMessage(sum, { data: { a: 1, b: 2 } }),
    });
    const refused = expect(question).rejects.toMatchObject({ code: 'Defect', details: { queue: q } });
    await rejectOne();
    await service.consume(q, async () => undefined);
    await refused;
  });

  it('drops a question that expires without a consumer', async () => {
    const bus = await open();
    await bus.queues.declare(q);
    const message = mintTestMessage(sum, { data: { a: 1, b: 2 } });
    await expect(bus.request({ queue: q, call: sum, message, timeoutMs: 50 })).rejects.toMatchObject({
      code: 'TimedOut',
    });
    await vi.waitFor(async () => expect(await bus.queues.measure(q)).toMatchObject({ depth: 0 }), soon);
    // The expired question left its queue before this message arrives.
    await bus.send({ queue: q, messages: [mintTestMessage(work, { data: { n: 1 } })] });
    await rejectOne();
    const handled: unknown[] = [];
    await bus.consume(q, async (delivery) => void handled.push(delivery));
    await vi.waitFor(async () => expect(await bus.deadLetters.list({ limit: 5 })).toHaveLength(1), soon);
    expect(await bus.deadLetters.list({ limit: 5 })).toMatchObject([{ bytes: expect.stringContaining('test.work') }]);
    expect(handled).toEqual([]);
  });

  it('keeps a dead letter of a message that a foreign consumer rejects whenever it returns', async () => {
    const bus = await open();
    const request = mintTestMessage(work, { data: { n: 1 } });
    await bus.send({ queue: q, messages: [request] });
    await channel.consume(prefix + q, (message) => message && channel.nack(message, false, false));
    const [letter] = await vi.waitFor(async () => {
      const letters = await bus.deadLetters.list({ limit: 5 });
      expect(letters).toHaveLength(1);
      return letters;
    }, soon);
    expect(JSON.parse(letter?.bytes ?? '')).toEqual(request);
    expect((await channel.checkQueue(`${prefix}anneal.rejected`)).messageCount).toBe(0);
  });

  it('uses a queue of an earlier version as it is', async () => {
    await oldQueueWithPolicy();
    const bus = await open();
    await bus.send({ queue: q, messages: [mintTestMessage(work, { data: { n: 1 } })] });
    await (await open()).send({ queue: q, messages: [mintTestMessage(work, { data: { n: 2 } })] });
    const handled: unknown[] = [];
    await bus.consume(q, async ({ message }) => void handled.push(message.data));
    await vi.waitFor(() => expect(handled).toEqual([{ n: 1 }, { n: 2 }]), soon);
  });
});
