/** Credentials of a host on a broker: every other queue, exchange, subject and verb is refused. */
import type { Rig } from '@anneal/configuration/testing/running-service.ts';
import type { HostBrokerAccess } from '@anneal/contracts/calls/hosts.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { connect as connectNats, type NatsConnection } from '@nats-io/transport-node';
import { connect as connectAmqp, type Channel, type ChannelModel } from 'amqplib';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  connectNatsAs,
  createBrokerRig,
  findHostBroker,
  grantTo,
  hostsVhost,
  natsKind,
  natsPassword,
  rabbitKind,
  withUser,
} from './broker-world.ts';

const rabbit = await findHostBroker(rabbitKind);

describe.skipIf(rabbit === undefined)('the credentials of a host on RabbitMQ', () => {
  if (!rabbit) return;
  let rig: Rig;
  let own: HostBrokerAccess;
  let other: HostBrokerAccess;
  let connection: ChannelModel;
  let admin: ChannelModel;
  beforeAll(async () => {
    rig = await createBrokerRig(rabbit);
    own = await grantTo(rig, (await rig.host('own')).id);
    other = await grantTo(rig, (await rig.host('other')).id);
    connection = await connectAmqp(withUser(own));
    admin = await connectAmqp(`${rabbit.server.url}/${hostsVhost}`);
    const channel = await admin.createChannel();
    await channel.assertQueue('anneal.scheduling.shard.0');
    await channel.assertExchange('anneal.events', 'topic');
  });
  afterAll(async () => {
    await connection?.close();
    await admin?.close();
    await rig.dispose();
    await rabbit.server.stop();
  });

  /** Runs an operation on a channel of its own. Resolves with the reason of the broker's refusal. */
  const refusal = async (operate: (channel: Channel) => unknown): Promise<string> => {
    const channel = await connection.createConfirmChannel();
    const closed = new Promise<string>((resolve) => void channel.on('error', (error: Error) => resolve(error.message)));
    try {
      await operate(channel);
      // A publish has no answer of its own; the confirm or the closing of the channel follows.
      const confirmed = channel.waitForConfirms().then(
        () => 'the broker allowed it',
        () => closed,
      );
      return await Promise.race([confirmed, closed]);
    } catch (error) {
      return (error as Error).message;
    } finally {
      await channel.close().catch(() => undefined);
    }
  };

  const queues = (): string[] => [other.requests, 'anneal.hosts.responses', 'anneal.scheduling.shard.0'];
  const exchanges = (): string[] => [
    other.responses,
    'anneal.events',
    'amq.direct',
    'amq.topic',
    'amq.fanout',
    'amq.headers',
    'amq.match',
  ];
  const onQueues: [string, (channel: Channel, queue: string) => unknown][] = [
    ['consume', (channel, queue) => channel.consume(queue, () => undefined)],
    ['get', (channel, queue) => channel.get(queue)],
    ['purge', (channel, queue) => channel.purgeQueue(queue)],
    ['delete', (channel, queue) => channel.deleteQueue(queue)],
    ['bind to its exchange', (channel, queue) => channel.bindQueue(queue, own.responses, '')],
    ['unbind', (channel, queue) => channel.unbindQueue(queue, own.responses, '')],
    ['publish through the default exchange', (channel, queue) => channel.publish('', queue, Buffer.from('{}'))],
  ];
  it.each(onQueues)('may not %s with any other queue', async (_verb, operate) => {
    for (const queue of queues()) {
      expect(await refusal((channel) => operate(channel, queue)), queue).toMatch(/ACCESS.REFUSED/);
    }
  });

  const onExchanges: [string, (channel: Channel, exchange: string) => unknown][] = [
    ['publish', (channel, exchange) => channel.publish(exchange, other.requests, Buffer.from('{}'))],
    ['delete', (channel, exchange) => channel.deleteExchange(exchange)],
    ['bind its queue', (channel, exchange) => channel.bindQueue(own.requests, exchange, '#')],
    ['bind its exchange as the source', (channel, exchange) => channel.bindExchange(exchange, own.responses, '')],
    ['bind its exchange as the target', (channel, exchange) => channel.bindExchange(own.responses, exchange, '#')],
  ];
  it.each(onExchanges)('may not %s with any other exchange', async (_verb, operate) => {
    for (const exchange of exchanges()) {
      expect(await refusal((channel) => operate(channel, exchange)), exchange).toMatch(/ACCESS.REFUSED/);
    }
  });

  const onOwn: [string, (channel: Channel) => unknown][] = [
    ['declare a new queue', (channel) => channel.assertQueue('mine')],
    ['declare a queue that the broker names', (channel) => channel.assertQueue('', { exclusive: true })],
    ['declare a new exchange', (channel) => channel.assertExchange('mine', 'fanout')],
    ['delete its queue', (channel) => channel.deleteQueue(own.requests)],
    ['delete its exchange', (channel) => channel.deleteExchange(own.responses)],
    ['bind its queue to its exchange', (channel) => channel.bindQueue(own.requests, own.responses, '')],
    ['send to its own queue', (channel) => channel.publish('', own.requests, Buffer.from('{}'))],
    ['consume where it answers', (channel) => channel.consume(own.responses, () => undefined)],
    ['use its queue as an exchange', (channel) => channel.publish(own.requests, '', Buffer.from('{}'))],
  ];
  it.each(onOwn)('may not %s', async (_verb, operate) => {
    expect(await refusal(operate)).toMatch(/ACCESS.REFUSED|NOT.FOUND/);
  });

  it('reaches no other queue with the headers of a message', async () => {
    const keys = [other.requests, 'anneal.scheduling.shard.0'];
    const confirm = await connection.createConfirmChannel();
    confirm.publish(own.responses, other.requests, Buffer.from('{"hello":true}'), {
      CC: keys,
      BCC: keys,
      replyTo: other.requests,
    });
    await confirm.waitForConfirms();
    const id = own.user.replace('anneal.host.', '');
    await rig.event('host.up', id);
    const channel = await admin.createChannel();
    for (const queue of keys) expect((await channel.checkQueue(queue)).messageCount, queue).toBe(0);
    await confirm.close();
  });

  it('opens no other virtual host and no management', async () => {
    await expect(connectAmqp(withUser({ ...own, url: own.url.replace(`/${hostsVhost}`, '') }))).rejects.toThrow(
      /ConnectionClose|ACCESS.REFUSED|NOT.ALLOWED/,
    );
    const root = new URL(rabbit.environment['ANNEAL_CONFIGURATION_HOST_BROKER_ADMIN_URL'] ?? '').origin;
    const authorization = `Basic ${Buffer.from(`${own.user}:${own.password}`).toString('base64')}`;
    const answer = await fetch(`${root}/api/queues`, { headers: { authorization } });
    expect(answer.status).toBe(401);
  });

  it('opens at most four connections', async () => {
    const more = await Promise.all([1, 2, 3].map(() => connectAmqp(withUser(own))));
    onTestFinished(async () => void (await Promise.all(more.map((each) => each.close()))));
    await expect(connectAmqp(withUser(own))).rejects.toThrow(/ConnectionClose|NOT.ALLOWED/);
  });
});

const nats = await findHostBroker(natsKind);

describe.skipIf(nats === undefined)('the credentials of a host on NATS', () => {
  if (!nats) return;
  let rig: Rig;
  let own: HostBrokerAccess;
  let other: HostBrokerAccess;
  let connection: NatsConnection;
  const refused: string[] = [];
  /** Another name of the broker than Anneal uses. */
  const address = `nats://localhost:${new URL(nats.server.url).port}`;
  beforeAll(async () => {
    const environment = { ...nats.environment, ANNEAL_CONFIGURATION_HOST_BROKER_ADDRESS: address };
    rig = await createBrokerRig({ ...nats, environment });
    own = await grantTo(rig, (await rig.host('own')).id);
    other = await grantTo(rig, (await rig.host('other')).id);
    connection = await connectNatsAs(own);
    void (async () => {
      for await (const status of connection.status()) if (status.type === 'error') refused.push(status.error.message);
    })();
  });
  afterAll(async () => {
    await connection?.close();
    await rig.dispose();
    await nats.server.stop();
  });

  /** Resolves when the server has reported a violation that names the subject. */
  const isRefused = (verb: 'Publish' | 'Subscription', subject: string) =>
    eventually(() => refused.some((text) => text.includes(verb) && text.includes(`"${subject}"`)) || undefined, {
      what: `the refusal of ${verb} ${subject}`,
      last: () => refused,
    });

  it('are for the address that the operator names', () => {
    expect(own.url).toBe(address);
  });

  it('publish on no other subject', async () => {
    const subjects = [
      other.requests,
      other.responses,
      own.requests,
      `${other.inbox}.1`,
      `${own.inbox}.1`,
      '_INBOX.1',
      'anneal.q.anneal.scheduling.requests',
      'anneal.hosts.x.responses',
      '$JS.API.INFO',
      '$JS.API.STREAM.LIST',
      '$JS.API.STREAM.CREATE.x',
      '$JS.API.CONSUMER.CREATE.x',
      '$JS.ACK.x.y.1.1.1.1.1',
      '$KV.bucket.key',
      '$O.bucket.C.x',
      '$SYS.REQ.USER.AUTH',
      '$SYS.REQ.SERVER.PING',
      '$SYS.REQ.SERVER.PING.CONNZ',
      '$SYS.ACCOUNT.HOSTS.CONNECT',
    ];
    for (const subject of subjects) {
      connection.publish(subject, '{}');
      await isRefused('Publish', subject);
    }
  });

  it('subscribe to no other subject', async () => {
    const subjects = [
      '>',
      'anneal.>',
      'anneal.hosts.>',
      'anneal.hosts.*.requests',
      'anneal.hosts.*.responses',
      own.responses,
      other.requests,
      other.responses,
      `${other.inbox}.>`,
      '_INBOX.>',
      '_INBOX.*.*',
      '$JS.>',
      '$SYS.>',
      '$SYS.REQ.USER.AUTH',
      '$SYS.ACCOUNT.*.>',
    ];
    for (const subject of subjects) {
      connection.subscribe(subject, { callback: () => undefined });
      await isRefused('Subscription', subject);
    }
    connection.subscribe('anneal.hosts.*.requests', { queue: 'anneal', callback: () => undefined });
    connection.subscribe('$SYS.REQ.USER.AUTH', { queue: 'anneal', callback: () => undefined });
    await eventually(() => refused.filter((text) => text.includes('"$SYS.REQ.USER.AUTH"')).length >= 3);
  });

  it('make Anneal reply to no subject of another host', async () => {
    const victim = await connectNatsAs(other);
    onTestFinished(() => victim.close());
    const got: string[] = [];
    for (const subject of [other.requests, `${other.inbox}.>`]) {
      victim.subscribe(subject, { callback: (_, message) => void got.push(message.string()) });
    }
    await victim.flush();
    for (const reply of [other.requests, `${other.inbox}.1`, `${own.inbox}.>`, '$SYS.REQ.USER.AUTH']) {
      connection.publish(own.responses, '{"wrong": true}', { reply });
    }
    // The replies to a host come in the order of its messages.
    const last = await connection.request(own.responses, '{"hello": true}', { timeout: 10_000 });
    expect(last.json()).toEqual({ accepted: true });
    await victim.request(other.responses, '{"hello": true}', { timeout: 10_000 });
    expect(got.filter((text) => !text.includes('accepted":true'))).toEqual([]);
  });

  it.each([
    ['another user of the server', 'anneal'],
    ['the user of another host', undefined],
  ])('do not open the connection of %s', async (_what, user) => {
    const wrong = { servers: own.url, user: user ?? other.user, pass: own.password, reconnect: false };
    await expect(connectNats(wrong)).rejects.toThrow(/Authorization Violation/i);
  });

  it('and no other credentials open a connection', async () => {
    const attempts = [
      {},
      { user: own.user, pass: '' },
      { user: own.user, pass: natsPassword },
      { user: 'anneal.host.>', pass: own.password },
      { user: 'stranger', pass: own.password },
      { token: own.password },
    ];
    for (const attempt of attempts) {
      await expect(connectNats({ servers: own.url, reconnect: false, ...attempt })).rejects.toThrow(/Authorization/i);
    }
  });
});
