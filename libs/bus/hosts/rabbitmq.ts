/**
 * The door on RabbitMQ. A host consumes from its own queue and publishes to its own exchange, whose messages all go to one
 * queue with one active consumer, so that the messages of a host stay in order.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { connectionReason, RabbitConnection, type ConnectionUser } from '../rabbitmq/connection.ts';
import { closeAmqp } from '../rabbitmq/close.ts';
import { parseUrl, type BrokerEndpoint } from '../rabbitmq/url.ts';
import { doorAway, withoutUser, type BrokerAccess, type HostDoor, type HostDoorOptions } from './door.ts';
import { RabbitAdmin } from './rabbitmq-admin.ts';
import { brokerUserOf, hostOfExchange, rabbitAnswers, rabbitLimits, rabbitPlaces, rabbitRights } from './rights.ts';

const reopenMs = 500;
/** The pause before a message that could not be handled is handled again. */
const againMs = 1_000;
/** The longest time in which a deleted host can take its last message, before its credentials end. */
const lastMessageMs = 1_000;
const lastMessageStepMs = 20;
/** Messages of hosts in work at the same time. */
const prefetch = 64;
/** Room for the messages of all hosts while no process takes them. A full queue refuses, and the hosts repeat. */
const mostBytes = 256 * 1024 * 1024;

/** @throws AnnealError InvalidRequest for a wrong or missing setting */
export function openRabbitHostDoor(options: HostDoorOptions): HostDoor {
  if (options.adminUrl === undefined) {
    throw new AnnealError(
      'InvalidRequest',
      'A RabbitMQ for hosts needs the URL of its management API: set ANNEAL_CONFIGURATION_HOST_BROKER_ADMIN_URL.',
    );
  }
  return new RabbitHostDoor(options, parseUrl(options.url), new RabbitAdmin(options.adminUrl));
}

class RabbitHostDoor implements HostDoor, ConnectionUser {
  readonly #options: HostDoorOptions;
  readonly #endpoint: BrokerEndpoint;
  readonly #admin: RabbitAdmin;
  readonly #stopping = new AbortController();
  #connection: RabbitConnection | undefined;
  #channel: Channel | undefined;
  #trouble = 'not connected yet';

  constructor(options: HostDoorOptions, endpoint: BrokerEndpoint, admin: RabbitAdmin) {
    this.#options = options;
    this.#endpoint = endpoint;
    this.#admin = admin;
    void this.#connect();
  }

  async grant(host: string, password: string): Promise<BrokerAccess> {
    const user = brokerUserOf(host);
    const places = rabbitPlaces(this.#endpoint.prefix, host);
    await this.#admin.removeUser(user);
    await this.#configure(`Cannot create the queue of host ${host}`, async (channel) => {
      // The service keeps the requests, and sends the first one again. So one message is enough, and none need be stored.
      const only = { 'x-queue-type': 'classic', 'x-max-length': 1 };
      await channel.assertQueue(places.requests, { durable: true, arguments: only });
      await channel.assertExchange(places.responses, 'fanout', { durable: true });
      await channel.bindQueue(rabbitAnswers(this.#endpoint.prefix), places.responses, '');
    });
    const rights = rabbitRights(places);
    await this.#admin.createUser({ name: user, password, vhost: this.#vhost, rights, limits: rabbitLimits });
    const url = this.#options.address ?? withoutUser(this.#options.url);
    return { broker: 'rabbitmq', url, user, requests: places.requests, responses: places.responses };
  }

  async revoke(host: string, last?: string): Promise<void> {
    const places = rabbitPlaces(this.#endpoint.prefix, host);
    if (last !== undefined) await this.#sendLast(places.requests, last);
    await this.#admin.removeUser(brokerUserOf(host));
    await this.#configure(`Cannot remove the queue of host ${host}`, async (channel) => {
      await channel.deleteQueue(places.requests);
      await channel.deleteExchange(places.responses);
    });
  }

  /** Sends a message to a consumer that is there, and gives the broker a moment to deliver it. */
  async #sendLast(queue: string, text: string): Promise<void> {
    // The broker closes the channel for an absent queue: an earlier attempt of the revocation removed it.
    await this.#configure('Cannot send a last message', async (channel) => {
      if ((await channel.checkQueue(queue)).consumerCount === 0) return;
      channel.publish('', queue, Buffer.from(text), { contentType: 'application/json' });
      const end = Date.now() + lastMessageMs;
      // A host that takes one message at a time and is busy gets it never. It loses its connection.
      while ((await channel.checkQueue(queue)).messageCount > 0 && Date.now() < end)
        await this.#pause(lastMessageStepMs);
    }).catch((error: unknown) => {
      this.#options.log.debug({ err: error, queue }, 'no last message for a host; its credentials are refused');
    });
  }

  async push(host: string, text: string, ttlMs: number): Promise<void> {
    const channel = this.#channel;
    if (!channel) throw doorAway(`Cannot send a request to host ${host}`, this.#trouble);
    // A broker drops it when its claim ends, so that a host that returns later never gets a withdrawn request.
    channel.publish('', rabbitPlaces(this.#endpoint.prefix, host).requests, Buffer.from(text), {
      contentType: 'application/json',
      expiration: String(ttlMs),
    });
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    this.#channel = undefined;
    await this.#connection?.close();
  }

  up(model: ChannelModel): void {
    void this.#open(model);
  }

  down(): void {
    this.#channel = undefined;
    this.#trouble = 'the connection to the broker for hosts is lost; it reconnects';
  }

  get #vhost(): string {
    return decodeURIComponent(this.#endpoint.servers[0]?.vhost ?? '/');
  }

  async #connect(): Promise<void> {
    const { log, name } = this.#options;
    while (!this.#stopping.signal.aborted) {
      try {
        const connection = await RabbitConnection.open({ endpoint: this.#endpoint, name: `${name}/hosts`, log });
        if (this.#stopping.signal.aborted) return await connection.close();
        this.#connection = connection;
        connection.use(this);
        return;
      } catch (error) {
        this.#trouble = connectionReason(error);
        log.warn({ err: error }, 'broker for hosts cannot be reached; retrying. Hosts over HTTP are not affected');
        await this.#pause(againMs);
      }
    }
  }

  /** Opens the channel that takes the messages of hosts, and again whenever it closes. */
  async #open(model: ChannelModel): Promise<void> {
    const queue = rabbitAnswers(this.#endpoint.prefix);
    while (this.#connection?.model === model && !this.#stopping.signal.aborted) {
      try {
        const channel = await model.createChannel();
        const lost = new AbortController();
        channel.on('error', (error) => (this.#trouble = connectionReason(error)));
        channel.on('close', () => {
          lost.abort();
          // Until the channel is in use, this loop opens the next one.
          if (this.#channel !== channel) return;
          this.#channel = undefined;
          void this.#open(model);
        });
        await channel.assertQueue(queue, {
          durable: true,
          arguments: {
            'x-queue-type': 'quorum',
            'x-single-active-consumer': true,
            'x-max-length-bytes': mostBytes,
            'x-overflow': 'reject-publish',
            // The broker must not drop a message by its own count.
            'x-delivery-limit': 1_000_000,
          },
        });
        await channel.prefetch(prefetch);
        await channel.consume(queue, (message) => message && void this.#handle(channel, message, lost.signal));
        if (lost.signal.aborted) throw new Error(this.#trouble);
        this.#channel = channel;
        return;
      } catch (error) {
        this.#trouble = connectionReason(error);
        this.#options.log.warn({ err: error, queue }, 'messages of hosts cannot be received; retrying');
        await this.#pause(reopenMs);
      }
    }
  }

  async #handle(channel: Channel, message: ConsumeMessage, lost: AbortSignal): Promise<void> {
    const { exchange } = message.fields;
    const host = hostOfExchange(this.#endpoint.prefix, exchange);
    if (host !== undefined) await this.#taken(host, message, lost);
    else this.#options.log.warn({ exchange }, 'message dropped: it did not come through the exchange of a host');
    // Without an acknowledgement the broker delivers it to another process.
    if (!lost.aborted && !this.#stopping.signal.aborted) channel.ack(message);
  }

  /** Resolves when the message was handled, or will be handled elsewhere. */
  async #taken(host: string, { content }: ConsumeMessage, lost: AbortSignal): Promise<void> {
    while (!lost.aborted && !this.#stopping.signal.aborted) {
      try {
        await this.#options.take(host, content);
        return;
      } catch (error) {
        this.#options.log.warn({ err: error, host }, 'message of a host not handled; retrying in 1 s');
        await this.#pause(againMs);
      }
    }
  }

  /** Runs on a channel of its own, because a refusal closes the channel. */
  async #configure(what: string, work: (channel: Channel) => Promise<void>): Promise<void> {
    const model = this.#connection?.model;
    if (!model || !this.#channel) throw doorAway(what, this.#trouble);
    let channel: Channel | undefined;
    try {
      channel = await model.createChannel();
      channel.on('error', () => undefined);
      await work(channel);
    } catch (error) {
      throw doorAway(what, connectionReason(error));
    } finally {
      await closeAmqp(channel);
    }
  }

  #pause(ms: number): Promise<void> {
    return wait(ms, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => undefined);
  }
}
