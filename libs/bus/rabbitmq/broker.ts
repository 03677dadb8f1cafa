/**
 * RabbitMQ behind the port. One connection sends and one consumes, so that a broker that stops taking messages still
 * takes acknowledgements. Queues are quorum queues; the store holds dead letters, notes on attempts and the list of
 * queues.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Store } from '@anneal/store/port.ts';
import type { Channel } from 'amqplib';
import { BusMembers } from '../active/members.ts';
import {
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
import { bringForward } from '../topology.ts';
import { createAfterlife } from './consume/settle.ts';
import { QuestionChannel, isMissing } from './channel.ts';
import { Declarer } from './declare.ts';
import { RabbitDeadLetters } from './consume/dead-letters.ts';
import { DeliveryInbox } from './inbox.ts';
import { Letters } from './publish/outgoing.ts';
import { RabbitConnection } from './connection.ts';
import { createPeek } from './peek.ts';
import { RabbitNames, rabbitTopologySteps } from './names.ts';
import { Notes } from './consume/attempt-log.ts';
import { RabbitPublisher } from './publish/publisher.ts';
import { RabbitQueues } from './queues.ts';
import { QueueRegistry } from './registry.ts';
import { Rejected } from './consume/rejected.ts';
import { RabbitRetries } from './consume/retries.ts';
import { Taker } from './consume/consumer.ts';
import type { BrokerEndpoint } from './url.ts';
import { Written } from './durable-queues.ts';

interface Parts {
  readonly endpoint: BrokerEndpoint;
  readonly names: RabbitNames;
  readonly replica: string;
  readonly sending: RabbitConnection;
  readonly consuming: RabbitConnection;
  readonly registry: QueueRegistry;
  readonly notes: Notes;
  readonly written: Written;
  readonly store: Store;
  readonly newId: () => string;
  readonly now: () => Date;
  readonly log: BusLog;
}

const checkMs = 5000;
const reachMs = 10_000;
const notesKeptMs = 14 * 24 * 3600_000;

/** The broker on RabbitMQ. */
export class RabbitmqBroker implements Broker {
  readonly members: BusMembers;
  readonly queues: BrokerQueues;
  readonly deadLetters: BrokerDeadLetters;
  readonly #parts: Parts;
  readonly #publisher: RabbitPublisher;
  readonly #asker: QuestionChannel;
  readonly #declarer: Declarer;
  readonly #letters: Letters;
  readonly #inbox: DeliveryInbox;
  readonly #retries: RabbitRetries;
  readonly #graveyard: RabbitDeadLetters;
  readonly #rejected: Rejected;
  readonly #takers = new Set<Taker>();
  #closed = false;

  private constructor(
    parts: Parts,
    made: {
      publisher: RabbitPublisher;
      graveyard: RabbitDeadLetters;
      inbox: DeliveryInbox;
      asker: QuestionChannel;
      members: BusMembers;
    },
  ) {
    const { names, registry, notes, newId, now, consuming } = parts;
    this.#parts = parts;
    this.#publisher = made.publisher;
    this.#graveyard = made.graveyard;
    this.#inbox = made.inbox;
    this.#asker = made.asker;
    this.members = made.members;
    this.#declarer = new Declarer({ ...parts, connection: consuming, asker: this.#asker });
    this.#retries = new RabbitRetries({
      names,
      declarer: this.#declarer,
      publisher: made.publisher,
      registry,
      newId,
      now,
    });
    this.#letters = new Letters({ names, now, declare: (queue) => this.#declare(queue) });
    this.#rejected = new Rejected({
      ...parts,
      connection: consuming,
      declarer: this.#declarer,
      publisher: made.publisher,
      letters: this.#letters,
      graveyard: made.graveyard,
    });
    this.deadLetters = made.graveyard;
    this.queues = new RabbitQueues({
      names,
      asker: this.#asker,
      look: createPeek({ connection: consuming, names, notes, now }),
      registry,
      retries: this.#retries,
      takers: this.#takers,
      declare: (queue) => this.#declare(queue),
      forget: (queue) => this.#publisher.forget(names.queue(queue)),
      now,
    });
  }

  static async open(options: {
    endpoint: BrokerEndpoint;
    source: string;
    store: Store;
    presence: Store;
    newId: () => string;
    now: () => Date;
    log: BusLog;
  }): Promise<RabbitmqBroker> {
    const { endpoint, source, store, newId, now, log } = options;
    const { connection: base, replica } = nameProcess(source);
    const names = new RabbitNames(endpoint);
    const system = `rabbitmq:${endpoint.prefix}`;
    await bringForward({ store, id: system, by: newId(), steps: rabbitTopologySteps, log });
    const registry = await QueueRegistry.open({ store, log });
    const notes = await Notes.open({ store, log });
    const written = await Written.open({ store, log });
    await notes.sweep(new Date(now().getTime() - notesKeptMs).toISOString());
    const sending = await RabbitConnection.open({ endpoint, name: `${base} sends`, log });
    const connections = [sending];
    try {
      const consuming = await RabbitConnection.open({ endpoint, name: `${base} consumes`, log });
      connections.push(consuming);
      const parts = { endpoint, names, replica, sending, consuming, registry, notes, written, store, newId, now, log };
      return await RabbitmqBroker.#join(parts, options.presence);
    } catch (error) {
      await Promise.all(connections.map((connection) => connection.close()));
      throw error;
    }
  }

  static async #join(parts: Parts, presence: Store): Promise<RabbitmqBroker> {
    const { endpoint, names, sending, consuming, store, now, log } = parts;
    const publisher = new RabbitPublisher({
      connection: sending,
      timeoutMs: endpoint.sendTimeoutMs,
      prepare: (channel) => channel.assertExchange(names.events, 'topic', { durable: true }),
    });
    const inbox = new DeliveryInbox({ connection: consuming, name: names.replies(parts.replica) });
    await inbox.ready;
    const graveyard = await RabbitDeadLetters.open({
      store,
      now,
      resend: ({ queue, subject, content }) => broker.#resend({ queue, subject, content }),
    });
    const asker = new QuestionChannel(consuming);
    // Not behind the other questions, each of which may take its time.
    const prover = new QuestionChannel(consuming);
    // The inbox is removed with its connection, so the broker knows which processes are still connected.
    const isGone = (id: string): Promise<boolean> =>
      asker
        .ask((channel) => channel.checkQueue(id), checkMs)
        .then(
          () => false,
          (error: unknown) => isMissing(error),
        );
    const members = await BusMembers.open({
      store: presence,
      id: inbox.name,
      isConnected: () => consuming.model !== undefined,
      reachBroker: async () => void (await prover.ask((channel) => channel.checkQueue(inbox.name), reachMs)),
      isGone,
      log,
    });
    const broker = new RabbitmqBroker(parts, { publisher, graveyard, inbox, asker, members });
    await broker.#rejected.ready;
    return broker;
  }

  send({ queue, packets }: { queue: string; packets: readonly Packet[] }): Promise<void> {
    return this.#publisher.send(packets.map((packet) => this.#letters.to(queue, packet)));
  }

  publish(packets: readonly Packet[]): Promise<void> {
    return this.#publisher.send(packets.map((packet) => this.#letters.event(packet)));
  }

  consume(queue: string, intake: BrokerIntake): Promise<BrokerConsumer> {
    return this.#take({
      queue,
      intake,
      ordered: false,
      durable: true,
      prepare: async (channel) => {
        await this.#declare(queue);
        return channel && this.#parts.names.queue(queue);
      },
    });
  }

  async subscribe(
    { patterns, group }: { patterns: readonly string[]; group: string | undefined },
    intake: BrokerIntake,
  ): Promise<BrokerConsumer> {
    matcherOf(patterns);
    const { names, newId } = this.#parts;
    if (group === undefined) {
      const queue = `listener of ${patterns.join(', ')}`;
      const prepare = async (channel: Channel): Promise<string> => {
        await channel.assertExchange(names.events, 'topic', { durable: true });
        const name = names.listener(this.#parts.replica, newId());
        const made = await channel.assertQueue(name, { exclusive: true, durable: false, autoDelete: true });
        for (const pattern of patterns) await channel.bindQueue(made.queue, names.events, pattern);
        return made.queue;
      };
      return this.#take({ queue, intake, ordered: true, durable: false, prepare });
    }
    const prepare = (): Promise<string> => this.#makeGroup({ patterns, group });
    return this.#take({ queue: groupQueue(group), intake, ordered: true, durable: true, prepare });
  }

  async declareGroup(parameters: { patterns: readonly string[]; group: string }): Promise<void> {
    matcherOf(parameters.patterns);
    await this.#makeGroup(parameters);
  }

  async #makeGroup({ patterns, group }: { patterns: readonly string[]; group: string }): Promise<string> {
    const { names, registry } = this.#parts;
    const queue = groupQueue(group);
    const name = names.queue(queue);
    await this.#asker.ask((channel) => channel.assertExchange(names.events, 'topic', { durable: true }));
    await this.#declarer.make(name, names.queueOptions(queue));
    const stale = await registry.addGroup(queue, patterns);
    await this.#asker.ask(async (channel) => {
      for (const pattern of patterns) await channel.bindQueue(name, names.events, pattern);
      for (const pattern of stale) await channel.unbindQueue(name, names.events, pattern);
    });
    return name;
  }

  get inbox(): string {
    return this.#inbox.name;
  }

  isInbox = (address: string): boolean => address.startsWith(this.#parts.names.queue('anneal.replies.'));

  onAnswer(take: (bytes: string | Uint8Array) => void): void {
    this.#inbox.onAnswer(take);
  }

  ask({ queue, packet, ttlMs }: { queue: string; packet: Packet; ttlMs: number }): Promise<void> {
    this.#publisher.post(this.#letters.question(queue, packet, ttlMs));
    return Promise.resolve();
  }

  answer({ inbox, packet }: { inbox: string; packet: Packet }): Promise<void> {
    this.#publisher.post(this.#letters.answer(inbox, packet));
    return Promise.resolve();
  }

  outage(): BrokerOutage | undefined {
    const { sending, consuming } = this.#parts;
    return sending.outage ?? consuming.outage;
  }

  async check(): Promise<void> {
    const { sending, consuming, names } = this.#parts;
    const trouble = sending.trouble ?? consuming.trouble;
    if (trouble !== undefined) throw new AnnealError('Unavailable', `${trouble}.`);
    await this.#asker.ask((channel) => channel.checkExchange(names.events), checkMs);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([...this.#takers].map((taker) => taker.close()));
    await this.#rejected.close();
    await this.members.close();
    await this.#publisher.close();
    await this.#asker.close();
    await Promise.all([this.#parts.sending.close(), this.#parts.consuming.close()]);
  }

  async #take(options: {
    queue: string;
    intake: BrokerIntake;
    ordered: boolean;
    durable: boolean;
    prepare: (channel: Channel) => Promise<string>;
  }): Promise<Taker> {
    if (this.#closed) throw new AnnealError('Unavailable', 'The bus is closed.');
    const { queue, intake, ordered, durable, prepare } = options;
    const { consuming, notes, now, log } = this.#parts;
    const taker: Taker = new Taker({
      connection: consuming,
      queue,
      prepare,
      ordered,
      intake,
      notes: durable ? notes : undefined,
      afterlife: createAfterlife({
        retries: this.#retries,
        graveyard: this.#graveyard,
        durable,
        isOpen: () => !this.#closed,
        log,
      }),
      now,
      log,
      onEnd: () => this.#takers.delete(taker),
    });
    this.#takers.add(taker);
    await taker.start();
    return taker;
  }

  async #declare(queue: string): Promise<void> {
    const { names, registry } = this.#parts;
    await Promise.all([this.#declarer.make(names.queue(queue), names.queueOptions(queue)), registry.add(queue)]);
  }

  #resend({ queue, subject, content }: { queue: string; subject: string | undefined; content: Buffer }): Promise<void> {
    return this.#publisher.send([this.#letters.to(queue, { bytes: content }, subject)]);
  }
}
