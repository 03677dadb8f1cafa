/** The bus on NATS JetStream when other programs change its messages or consumers. */
import { mintTestMessage, silent, work } from '@anneal/bus/conformance/messages.ts';
import { JetStreamConnection } from '@anneal/bus/nats/connection.ts';
import type { Address } from '@anneal/bus/nats/names.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findNats } from '../../backends/nats.ts';
import { BusesOn, onlyLetter, q, refusedMessages } from '../strangers.ts';

const found = await findNats();
const server = 'missing' in found || !found.mayBeKilled ? undefined : found;
if ('missing' in found) process.stderr.write(`${found.missing}\n`);

describe.skipIf(server === undefined)('a bus on a NATS server of its own', () => {
  let url: string;
  let buses: BusesOn;
  const strangers: { close(): Promise<void> }[] = [];
  const open = () => buses.open();
  const todo = (n: number) => mintTestMessage(work, { data: { n } });

  beforeEach(async () => {
    url = `${server?.url}?prefix=test-${randomUUID().slice(0, 8)}`;
    buses = await BusesOn.at(url);
  });
  afterEach(async () => {
    await Promise.all(strangers.splice(0).map((each) => each.close()));
    await buses.close();
  });
  afterAll(() => server?.stop());

  const stranger = async (): Promise<JetStreamConnection> => {
    const link = await JetStreamConnection.open({ url, name: 'stranger', id: 'stranger', log: silent });
    strangers.push(link);
    return link;
  };
  const takeFrom = async (link: JetStreamConnection, { stream, durable }: Address): Promise<string> => {
    const api = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`;
    return (await link.nc.request(api, '', { timeout: 5_000, noMux: true })).reply ?? '';
  };
  const terminate = async (): Promise<void> => {
    const link = await stranger();
    link.nc.publish(await takeFrom(link, link.names.address(q)), '+TERM not for me');
  };
  const deliverTooOften = async (): Promise<void> => {
    const link = await stranger();
    const address = link.names.address(q);
    await link.jsm.consumers.update(address.stream, address.durable, { max_deliver: 2 });
    link.nc.publish(await takeFrom(link, address), '-NAK');
    link.nc.publish(await takeFrom(link, address), '-NAK');
    // The server reports it when a consumer asks for more. That may bring the message back already.
    link.nc.publish(await takeFrom(link, address).catch(() => 'nowhere'), '-NAK');
  };

  refusedMessages(
    [
      { how: 'that a foreign consumer terminates', refuse: terminate, reason: 'not for me', attempts: 1 },
      {
        how: 'that was delivered as often as the server allows',
        refuse: deliverTooOften,
        reason: 'after 2 deliveries',
        attempts: 2,
      },
    ],
    open,
  );

  it('restores a consumer that an operator has changed', async () => {
    const before = await open();
    await before.send({ queue: q, messages: [todo(1)] });
    const link = await stranger();
    const { stream, durable } = link.names.address(q);
    const { config } = await link.jsm.consumers.info(stream, durable);
    await link.jsm.consumers.update(stream, durable, { max_deliver: 2 });
    const handled: unknown[] = [];
    await (await open()).consume(q, async ({ message }) => void handled.push(message));
    await vi.waitFor(() => expect(handled).toHaveLength(1));
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
      await terminate();
      link.nc.publish(untouched, '-NAK');
      const bus = await open();
      const notices: Envelope[] = [];
      await bus.consume('asker', async ({ message }) => void notices.push(message));
      const handled: unknown[] = [];
      await bus.consume(q, async ({ message }) => void handled.push(message.data));
      const letter = await onlyLetter(bus);
      expect(letter).toMatchObject({ queue: q, failure: { message: expect.stringContaining('not for me') as string } });
      expect(JSON.parse(letter?.bytes ?? '')).toEqual(request);
      await vi.waitFor(() => expect(notices).toMatchObject([{ type: 'request.died', subject: 's' }]));
      await vi.waitFor(() => expect(handled).toHaveLength(2));
      expect(handled).toEqual(expect.arrayContaining([{ n: 1 }, { n: 3 }]));
    },
  );

  it('keeps a dead letter with the reason of a terminated message that has no copy', async () => {
    await (await open()).send({ queue: q, messages: [todo(1)] });
    const { jsm, names } = await stranger();
    await jsm.streams.purge(names.stream.copies);
    await terminate();
    expect(await onlyLetter(await open())).toMatchObject({
      queue: q,
      bytes: '',
      failure: { message: expect.stringContaining('not for me') as string },
    });
  });
});
