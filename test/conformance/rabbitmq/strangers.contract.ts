/** The bus on RabbitMQ when other programs consume from its queues, or have declared them. */
import { closeAmqp } from '@anneal/bus/rabbitmq/close.ts';
import { mintTestMessage, sum, work } from '@anneal/bus/conformance/messages.ts';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findRabbitmq } from '../../backends/rabbitmq.ts';
import { BusesOn, onlyLetter, q, refusedMessages } from '../strangers.ts';

const found = await findRabbitmq();
const server = 'missing' in found || !found.mayBeKilled ? undefined : found;
if ('missing' in found) process.stderr.write(`${found.missing}\n`);

describe.skipIf(server === undefined)('a bus on a RabbitMQ of its own', () => {
  let prefix: string;
  let buses: BusesOn;
  let stranger: ChannelModel;
  let channel: Channel;
  const open = () => buses.open();

  beforeEach(async () => {
    prefix = `${randomUUID().slice(0, 8)}.`;
    buses = await BusesOn.at(`${server?.url}?prefix=${prefix}`);
    stranger = await connect(server?.url ?? '');
    channel = await stranger.createChannel();
  });
  afterEach(async () => {
    await stranger.close();
    await buses.close();
  });
  afterAll(() => server?.stop());

  it('closes a channel and a connection whose network ends before the broker has answered', async () => {
    for (const kind of ['channel', 'connection']) {
      const lost = await connect(server?.url ?? '');
      lost.on('error', () => undefined);
      const closing = closeAmqp(kind === 'channel' ? await lost.createChannel() : lost);
      (lost.connection as unknown as { stream: Socket }).stream.destroy(new Error('the network is gone'));
      await closing;
    }
    await closeAmqp(channel);
    await closeAmqp(channel);
  });

  it('closes a channel that closes while its connection closes', async () => {
    const ending = await connect(server?.url ?? '');
    const closing = closeAmqp(await ending.createChannel());
    await Promise.all([closeAmqp(ending), closing]);
  });

  const rejectOne = (): Promise<void> =>
    vi.waitFor(async () => {
      const message = await channel.get(prefix + q);
      if (message === false) throw new Error('the queue is empty');
      channel.nack(message, false, false);
    });
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

  const rejected = { refuse: rejectOne, reason: 'A consumer rejected it', attempts: 1 };
  refusedMessages(
    [
      { ...rejected, how: 'that a foreign consumer rejects' },
      {
        ...rejected,
        how: 'that a foreign consumer rejects from a queue of an earlier version with a policy',
        prepare: oldQueueWithPolicy,
      },
    ],
    open,
  );

  it('drops a question that expires without a consumer', async () => {
    const bus = await open();
    await bus.queues.declare(q);
    const message = mintTestMessage(sum, { data: { a: 1, b: 2 } });
    await expect(bus.request({ queue: q, call: sum, message, timeoutMs: 50 })).rejects.toMatchObject({
      code: 'TimedOut',
    });
    await vi.waitFor(async () => expect(await bus.queues.measure(q)).toMatchObject({ depth: 0 }));
    // The expired question left its queue before this message arrives.
    await bus.send({ queue: q, messages: [mintTestMessage(work, { data: { n: 1 } })] });
    await rejectOne();
    const handled: unknown[] = [];
    await bus.consume(q, async (delivery) => void handled.push(delivery));
    expect(await onlyLetter(bus)).toMatchObject({ bytes: expect.stringContaining('test.work') as string });
    expect(handled).toEqual([]);
  });

  it('keeps a dead letter of a message that a foreign consumer rejects whenever it returns', async () => {
    const bus = await open();
    const request = mintTestMessage(work, { data: { n: 1 } });
    await bus.send({ queue: q, messages: [request] });
    await channel.consume(prefix + q, (message) => message && channel.nack(message, false, false));
    const letter = await onlyLetter(bus);
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
    await vi.waitFor(() => expect(handled).toEqual([{ n: 1 }, { n: 2 }]));
  });
});
