/** Subscriptions whose events go to an exchange of RabbitMQ, or to a subject of NATS, that another program owns. */
import { randomUUID } from 'node:crypto';
import { subscriptionShow } from '@anneal/contracts/calls/subscriptions.ts';
import { atEnd, cleanUpAll, project, startWorld, subscribe } from '@anneal/notification/testing/world.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { connect as connectNats } from '@nats-io/transport-node';
import { connect } from 'amqplib';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { findNats } from '../../backends/nats.ts';
import { findRabbitmq } from '../../backends/rabbitmq.ts';

interface Arrived {
  readonly to: string;
  readonly headers: Record<string, unknown>;
  readonly body: { id?: string; subject?: string; version?: number; data?: { version: number } };
}

/** A place for events that a foreign program reads. */
interface Place {
  /** The address of the sink, without credentials. */
  readonly url: string;
  readonly credentials: string | undefined;
  readonly arrived: Arrived[];
  /** Makes the place. Before that, the broker refuses its messages. */
  make(): Promise<void>;
}

const [foundRabbit, foundNats] = [await findRabbitmq(), await findNats()];
for (const found of [foundRabbit, foundNats]) if ('missing' in found) process.stderr.write(`${found.missing}\n`);
const rabbit = 'missing' in foundRabbit ? undefined : foundRabbit;
const nats = 'missing' in foundNats ? undefined : foundNats;
const credentialsOf = (url: string): string | undefined => {
  const { username, password } = new URL(url);
  return username === '' ? undefined : `${username}:${password}`;
};

async function rabbitPlace(): Promise<Place> {
  const url = new URL(rabbit?.url ?? '');
  const exchange = `sink-${randomUUID().slice(0, 8)}`;
  const model = await connect(rabbit?.url ?? '');
  atEnd(() => model.close());
  const channel = await model.createChannel();
  const arrived: Arrived[] = [];
  return {
    url: `amqp://${url.host}${url.pathname}?exchange=${exchange}&key=out.{type}`,
    credentials: credentialsOf(rabbit?.url ?? ''),
    arrived,
    async make() {
      const { queue } = await channel.assertQueue('', { exclusive: true });
      // RabbitMQ drops what an exchange without a queue gets. So the queue is there before the exchange.
      const early = `${exchange}-early`;
      await channel.assertExchange(early, 'fanout', { autoDelete: true });
      await channel.bindQueue(queue, early, '');
      await channel.assertExchange(exchange, 'topic', { autoDelete: true, alternateExchange: early });
      await channel.bindQueue(queue, exchange, 'out.#');
      await channel.consume(
        queue,
        (message) => {
          if (!message) return;
          const { contentType, messageId, headers } = message.properties;
          arrived.push({
            to: message.fields.routingKey,
            headers: { ...headers, 'content-type': contentType, id: messageId },
            body: JSON.parse(message.content.toString()) as Arrived['body'],
          });
        },
        { noAck: true },
      );
    },
  };
}

async function natsPlace(): Promise<Place> {
  const { host } = new URL(nats?.url ?? '');
  const name = `sink-${randomUUID().slice(0, 8)}`;
  const connection = await connectNats({ servers: host });
  const stream = (verb: string, settings: object) =>
    connection.request(`$JS.API.STREAM.${verb}.${name}`, JSON.stringify(settings));
  atEnd(async () => {
    await stream('DELETE', {});
    await connection.close();
  });
  const arrived: Arrived[] = [];
  connection.subscribe(`${name}.>`, {
    callback: (_error, message) => {
      const headers = Object.fromEntries(
        (message.headers?.keys() ?? []).map((key) => [key, message.headers?.get(key)]),
      );
      arrived.push({
        to: message.subject.slice(name.length + 1),
        headers: { ...headers, id: headers['Nats-Msg-Id'] },
        body: message.json<Arrived['body']>(),
      });
    },
  });
  return {
    url: `nats://${host}?subject=${name}.out.{type}`,
    credentials: credentialsOf(nats?.url ?? ''),
    arrived,
    make: async () => void (await stream('CREATE', { name, subjects: [`${name}.>`] })),
  };
}

const cases = [
  { broker: 'RabbitMQ', server: rabbit, open: rabbitPlace, prefix: 'cloudEvents_', subject: 'größe 1' },
  { broker: 'NATS', server: nats, open: natsPlace, prefix: 'ce-', subject: 'gr%C3%B6%C3%9Fe%201' },
];

for (const { broker, server, open, prefix, subject } of cases) {
  describe.skipIf(server === undefined)(`a subscription to ${broker}`, () => {
    afterEach(cleanUpAll);
    afterAll(() => server?.stop());

    it('sends CloudEvents, structured, in order per subject, once the broker takes them', async () => {
      const world = await startWorld({
        ANNEAL_NOTIFICATION_RETRY_SECONDS: Array.from({ length: 90 }, () => '0.2').join(','),
        ANNEAL_NOTIFICATION_TIMEOUT_MS: '1000',
      });
      const place = await open();
      const { subscription } = await subscribe(world, place.url, {
        ...(place.credentials !== undefined && { credentials: place.credentials }),
      });
      await world.happen('h1', 1);
      // Nothing is there: no exchange, no stream.
      await eventually(async () => {
        const shown = await world.ask(subscriptionShow, { project, id: subscription.id });
        return shown.last_error !== null && shown.next_attempt_at !== null ? true : undefined;
      });
      await place.make();
      for (const version of [2, 3, 4]) for (const host of ['h1', 'h2']) await world.happen(host, version);
      const ids = () => new Set(place.arrived.map(({ body }) => body.id));
      await eventually(() => (ids().size === 7 ? true : undefined), {
        last: () => place.arrived.length,
      });
      const versions = place.arrived.filter(({ body }) => body.subject === 'h1').map(({ body }) => body.data?.version);
      expect([...new Set(versions)]).toEqual([1, 2, 3, 4]);
      expect(versions).toEqual(versions.toSorted((a = 0, b = 0) => a - b));
      const [first] = place.arrived;
      expect(first).toMatchObject({
        to: 'out.host.up',
        headers: { id: first?.body.id, 'content-type': 'application/cloudevents+json; charset=utf-8' },
      });
      expect(JSON.stringify(await world.ask(subscriptionShow, { project, id: subscription.id }))).not.toContain(
        place.credentials ?? 'nothing',
      );
    });

    it('sends the attributes as headers and the data as message in binary mode', async () => {
      const world = await startWorld();
      const place = await open();
      await place.make();
      await subscribe(world, place.url, {
        mode: 'binary',
        ...(place.credentials !== undefined && { credentials: place.credentials }),
      });
      const id = await world.happen('größe 1', 1);
      const [first] = await eventually(() => (place.arrived.length > 0 ? place.arrived : undefined));
      expect(first).toMatchObject({
        headers: {
          'content-type': 'application/json',
          [`${prefix}specversion`]: '1.0',
          [`${prefix}id`]: id,
          [`${prefix}type`]: 'host.up',
          [`${prefix}subject`]: subject,
          [`${prefix}project`]: project,
        },
        body: { host_id: 'größe 1', version: 1 },
      });
    });
  });
}
