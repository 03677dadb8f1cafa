/**
 * The bus on NATS JetStream: one work-queue stream for requests and one for responses, with a subject and a durable
 * pull consumer per queue. A third stream keeps events until every group has received them.
 *
 * J1 The durable consumer of a queue exists before the first message is sent to it; that of a group exists before
 *    `subscribe` resolves.
 * J2 The active consumer of a group handles different subjects concurrently.
 * J3 Pulls, which a restart of the server forgets, are made again when the connection is back.
 */
import { ceHeaders } from '@anneal/contracts/event-headers.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Msg } from '@nats-io/transport-node';
import type { Store } from '@anneal/store/port.ts';
import { headers, NoRespondersError, RequestError } from '@nats-io/transport-node';
import { BusMembers } from '../active/members.ts';
import {
  contentType,
  groupQueue,
  type Broker,
  type BrokerConsumer,
  type BrokerDeadLetters,
  type BrokerQueues,
  type BrokerIntake,
  type BrokerOutage,
  type Packet,
} from '../broker.ts';
import type { BusLog } from '../bus-log.ts';
import { matcherOf } from '../pattern.ts';
import { nameProcess } from '../connect/process-name.ts';
import { answerWithin } from '../connect/within.ts';
import { bringForward } from '../topology.ts';
import { consumeAdvisories } from './consume/advisories.ts';
import { Consumption } from './consume/consumer.ts';
import { contentTypeHeader, subjectHeader, ttlHeader } from './consume/delivery.ts';
import type { ConsumptionParts } from './consume/settle.ts';
import { filtersFor } from './filters.ts';
import { NatsDeadLetters } from './consume/dead-letters.ts';
import { JetStreamConnection, unavailable } from './connection.ts';
import { NatsListener } from './listener.ts';
import type { Address } from './names.ts';
import { NatsPublisher } from './publisher.ts';
import { NatsQueues } from './queues.ts';
import { NatsRetries } from './consume/retries.ts';
import { ackWaitMs, Topology, natsTopologySteps } from './topology.ts';

const tickMs = 1_000;
const checkMs = 3_000;
const aliveMs = 1_000;
const reachMs = 10_000;
const structured = { [contentTypeHeader]: contentType };
const inboxRoot = '_INBOX.anneal.replies.';

/** The broker on NATS JetStream. */
export class NatsBroker implements Broker {
  readonly inbox: string;
  readonly members: BusMembers;
  readonly queues: BrokerQueues;
  readonly deadLetters: BrokerDeadLetters;
  readonly #connection: JetStreamConnection;
  readonly #publisher: NatsPublisher;
  readonly #parts: ConsumptionParts;
  readonly #consumptions = new Set<Consumption>();
  readonly #timer: NodeJS.Timeout;
  #takeAnswer: (bytes: Uint8Array) => void = () => undefined;
  #lostAt: number | undefined;

  private constructor(parameters: {
    connection: JetStreamConnection;
    members: BusMembers;
    newId: () => string;
    now: () => Date;
  }) {
    const { connection, members, newId, now } = parameters;
    this.#connection = connection;
    this.inbox = inboxRoot + connection.id;
    this.#publisher = new NatsPublisher(connection);
    const topology = new Topology(connection);
    const retries = new NatsRetries(connection, this.#publisher);
    const graveyard = new NatsDeadLetters({ connection, publisher: this.#publisher, topology, newId });
    this.members = members;
    this.#parts = { connection, topology, retries, graveyard, now };
    this.deadLetters = graveyard;
    this.queues = new NatsQueues({ connection, topology, members, retries, now });
    connection.nc.subscribe(this.inbox, {
      callback: (error, message) => {
        if (!error) this.#takeAnswer(message.data);
      },
    });
    connection.onChange((connected) => {
      this.#lostAt = connected ? undefined : performance.now();
      if (!connected) return;
      for (const consumption of this.#consumptions) consumption.reset();
    });
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  static async open(options: {
    url: string;
    source: string;
    store: Store;
    presence: Store;
    newId: () => string;
    now: () => Date;
    log: BusLog;
  }): Promise<NatsBroker> {
    const { connection: name, replica: id } = nameProcess(options.source);
    const connection = await JetStreamConnection.open({ url: options.url, name, id, log: options.log });
    connection.nc.subscribe(connection.names.alive(id), {
      callback: (error, message) => {
        if (!error) message.respond();
      },
    });
    const joined = async (): Promise<BusMembers> => {
      await bringForward({
        store: options.store,
        id: `nats:${connection.names.prefix}`,
        by: id,
        steps: natsTopologySteps.map((step) => () => step(connection)),
        log: options.log,
      });
      return BusMembers.open({
        store: options.presence,
        id,
        isConnected: () => connection.connected,
        reachBroker: () => reach(connection),
        isGone: (other) => isGone(connection, other),
        log: options.log,
      });
    };
    const members = await joined().catch(async (error: unknown) => {
      await connection.close();
      throw error;
    });
    const broker = new NatsBroker({ connection, members, newId: options.newId, now: options.now });
    try {
      await connection.asked('Cannot create the streams', () => broker.#parts.topology.declare());
      broker.#consumptions.add(await consumeAdvisories({ ...broker.#parts, publisher: broker.#publisher }));
    } catch (error) {
      await broker.close();
      throw error;
    }
    return broker;
  }

  async send({ queue, packets }: { queue: string; packets: readonly Packet[] }): Promise<void> {
    const address = this.#connection.names.address(queue);
    await this.#ensured(address);
    await Promise.all(packets.map(({ bytes }) => this.#put(address, bytes, structured)));
  }

  async publish(packets: readonly Packet[]): Promise<void> {
    const { names } = this.#connection;
    await Promise.all(
      packets.map(({ id, type, subject, attributes, bytes }) =>
        this.#publisher.publish({
          ...(id !== undefined && { id }),
          subject: names.eventSubject(type),
          bytes,
          headers: {
            ...ceHeaders(attributes?.() ?? {}),
            ...structured,
            ...(subject !== undefined && { [subjectHeader]: encodeURIComponent(subject) }),
          },
        }),
      ),
    );
  }

  async declareGroup({ patterns, group }: { patterns: readonly string[]; group: string }): Promise<void> {
    matcherOf(patterns);
    this.#refuseClosed();
    const { names } = this.#connection;
    await this.#connection.asked(`Cannot join group ${group}`, () =>
      this.#parts.topology.ensureGroup(names.address(groupQueue(group)), filtersFor(patterns, names.roots.event)),
    );
  }

  async consume(queue: string, intake: BrokerIntake): Promise<BrokerConsumer> {
    const address = this.#connection.names.address(queue);
    await this.#ensured(address);
    const consumption = new Consumption({
      ...this.#parts,
      address,
      intake,
      ensure: () => {
        this.#parts.topology.forget(queue);
        return this.#parts.topology.ensure(address);
      },
      isAlone: () => this.members.isAlone(queue),
    });
    return this.#join(queue, consumption, intake);
  }

  async subscribe(
    { patterns, group }: { patterns: readonly string[]; group: string | undefined },
    intake: BrokerIntake,
  ): Promise<BrokerConsumer> {
    const matches = matcherOf(patterns);
    const { names } = this.#connection;
    const subjects = filtersFor(patterns, names.roots.event);
    const wanted = (message: Msg): boolean => {
      const type = names.eventType(message.subject);
      return type === undefined || matches(type);
    };
    this.#refuseClosed();
    if (group === undefined) {
      const listener = new NatsListener({ connection: this.#connection, intake, subjects, wanted });
      await this.#connection.asked('Cannot start the listener', () => this.#connection.nc.flush());
      return listener;
    }
    const queue = groupQueue(group);
    const address = names.address(queue);
    await this.declareGroup({ patterns, group });
    const ensure = (): Promise<void> => this.#parts.topology.ensureGroup(address, subjects);
    const byKey = (message: Msg): string | undefined => message.headers?.get(subjectHeader) || undefined;
    const isAlone = (): Promise<boolean> => this.members.isAlone(queue);
    const consumption = new Consumption({ ...this.#parts, address, intake, ensure, isAlone, byKey, wanted });
    return this.#join(queue, consumption, intake);
  }

  readonly isInbox = (address: string): boolean => address.startsWith('_INBOX.anneal.');

  onAnswer(take: (bytes: string | Uint8Array) => void): void {
    this.#takeAnswer = take;
  }

  /** Sends through the queue, so that the order of sends holds; the consumer drops it there after its time. */
  async ask({ queue, packet, ttlMs }: { queue: string; packet: Packet; ttlMs: number }): Promise<void> {
    const { names } = this.#connection;
    const address = names.address(queue);
    await this.#ensured(address);
    const named = { ...structured, [ttlHeader]: String(ttlMs) };
    await this.#put(address, packet.bytes, named);
  }

  async answer({ inbox, packet }: { inbox: string; packet: Packet }): Promise<void> {
    this.#refuseClosed();
    const named = headers();
    named.set(contentTypeHeader, contentType);
    this.#connection.nc.publish(inbox, packet.bytes, { headers: named });
    return Promise.resolve();
  }

  outage(): BrokerOutage | undefined {
    const { trouble: reason, closed } = this.#connection;
    if (reason === undefined || closed) return undefined;
    return { reason, forMs: performance.now() - (this.#lostAt ?? performance.now()) };
  }

  async check(): Promise<void> {
    this.#refuseClosed();
    const { trouble } = this.#connection;
    if (trouble !== undefined) throw new AnnealError('Unavailable', `${trouble}.`);
    // A write, because a server whose disk is full, or that has no leader, still answers reads.
    const subject = this.#connection.names.check(this.#connection.id);
    await answerWithin(this.#publisher.publish({ subject, bytes: '' }), checkMs).catch((error: unknown) => {
      throw unavailable('JetStream did not confirm a write', error);
    });
  }

  async close(): Promise<void> {
    if (this.#connection.closed) return;
    clearInterval(this.#timer);
    await Promise.all([...this.#consumptions].map((consumption) => consumption.close()));
    await this.members.close();
    this.#publisher.close();
    await this.#connection.close();
  }

  async #join(queue: string, consumption: Consumption, intake: BrokerIntake): Promise<BrokerConsumer> {
    this.#consumptions.add(consumption);
    const leave = async (): Promise<void> => {
      this.#consumptions.delete(consumption);
      await this.members.left(queue);
    };
    try {
      await this.members.joined(queue);
      await this.#connection.asked(`Cannot consume from ${queue}`, async () => {
        await consumption.activate({ alone: intake.alone === true || (await this.members.isAlone(queue)) });
      });
    } catch (error) {
      await leave();
      throw error;
    }
    return {
      drain: () => consumption.drain(),
      close: async () => {
        await consumption.close();
        await leave();
      },
    };
  }

  async #put(address: Address, bytes: Packet['bytes'], named: Readonly<Record<string, string>>): Promise<void> {
    await this.#publisher.publish({ subject: address.subject, bytes, headers: named });
  }

  async #ensured(address: Address): Promise<void> {
    this.#refuseClosed();
    await this.#connection.asked(`Cannot declare ${address.queue}`, () => this.#parts.topology.ensure(address));
  }

  #tick(): void {
    for (const consumption of this.#consumptions) consumption.tick();
    if (this.#lostAt === undefined || performance.now() - this.#lostAt < ackWaitMs) return;
    // By now the broker has offered the messages in hand to other consumers.
    for (const consumption of this.#consumptions) consumption.lose();
  }

  #refuseClosed(): void {
    if (this.#connection.closed) throw new AnnealError('Unavailable', 'The bus is closed.');
  }
}

async function reach({ nc, trouble }: JetStreamConnection): Promise<void> {
  if (trouble !== undefined) throw new AnnealError('Unavailable', `${trouble}.`);
  await answerWithin(nc.rtt(), reachMs);
}

/** A server that has no subscriber for the name answers so at once. */
async function isGone({ nc, names, connected }: JetStreamConnection, id: string): Promise<boolean> {
  if (!connected) return false;
  try {
    await nc.request(names.alive(id), '', { timeout: aliveMs });
    return false;
  } catch (error) {
    return error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders());
  }
}
