/** The streams of a prefix and the durable consumers of its queues. Whatever is missing is created. */
import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type ConsumerConfig,
  type ConsumerInfo,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { isAbsent, type JetStreamConnection } from './connection.ts';
import { isGroupQueue, type Address } from './names.ts';

/** Steps from one version of this topology to the next; `../topology.ts` runs them before anything is declared. */
export const natsTopologySteps: readonly ((connection: JetStreamConnection) => Promise<void>)[] = [];

/** A message in hand for longer without a sign of life (`consume/consumer.ts` C3) is offered to another consumer. */
export const ackWaitMs = 6_000;
/** Far above the limit of any consumer of ours: only foreign programs ever reach it, and then an advisory is sent. */
const mostDeliveries = 10_000;
const mostInHand = 50_000;
const dedupeMs = 120_000;
const retryRecordsKeptMs = 14 * 24 * 3_600_000;
const checksKeptMs = 3_600_000;
const advisoriesKeptMs = 7 * 24 * 3_600_000;
const copiesKeptMs = advisoriesKeptMs;
const copiesOfQueue = 1_000;
/** The server reserves these bytes. */
const copiesBytes = 64 * 1024 * 1024;
/** The shortest that the server takes. One id belongs to one message, but a replay repeats the id of its dead letter. */
const copiesDedupeMs = 100;
const inUse = 10058;
const alreadyThere = 10148;
/** No room in the account, on the servers of a cluster, or on the server. */
const outOfRoom = new Set([10002, 10005, 10023, 10047]);

/** Creates streams and consumers when they are first used. Repeats and races are harmless. */
export class Topology {
  readonly #connection: JetStreamConnection;
  readonly #ensured = new Map<string, Promise<void>>();

  constructor(connection: JetStreamConnection) {
    this.#connection = connection;
  }

  async declare(): Promise<void> {
    const { stream, roots, prefix } = this.#connection.names;
    await this.#copies();
    await this.#workQueue(stream.requests, `${roots.requests}>`);
    await this.#workQueue(stream.responses, `${roots.responses}>`);
    await this.#stream(stream.events, [`${roots.event}>`, `${roots.group}>`], { retention: RetentionPolicy.Interest });
    await this.#stream(stream.dead, [`${prefix}.dead.>`], {});
    await this.#stream(stream.retries, [`${prefix}.t.>`], { max_age: nanos(retryRecordsKeptMs) });
    await this.#stream(stream.checks, [`${prefix}.check.>`], { max_msgs_per_subject: 1, max_age: nanos(checksKeptMs) });
    const advised = [stream.requests, stream.responses, stream.events].flatMap((name) => [
      `$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.${name}.*`,
      `$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.${name}.*`,
    ]);
    await this.#stream(stream.advisories, advised, {
      retention: RetentionPolicy.Workqueue,
      max_age: nanos(advisoriesKeptMs),
    });
  }

  /** Without them the bus works, so a server without room for them is no error. */
  async #copies(): Promise<void> {
    const { names, log } = this.#connection;
    try {
      await this.#stream(names.stream.copies, [names.copy(`${names.prefix}.>`)], {
        max_msgs_per_subject: copiesOfQueue,
        max_bytes: copiesBytes,
        max_age: nanos(copiesKeptMs),
        duplicate_window: nanos(copiesDedupeMs),
      });
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || !outOfRoom.has(error.code)) throw error;
      log.warn(
        { reason: error.message, bytes: copiesBytes },
        'NATS server has no room for copies of messages; a message that a foreign consumer terminates loses its bytes',
      );
    }
  }

  #workQueue(name: string, subjects: string): Promise<void> {
    return this.#stream(name, [subjects], {
      retention: RetentionPolicy.Workqueue,
      republish: { src: subjects, dest: this.#connection.names.copy(subjects) },
    });
  }

  async #stream(name: string, subjects: string[], rest: Partial<StreamConfig>): Promise<void> {
    const { jsm, replicas } = this.#connection;
    const wanted: Partial<StreamConfig> & { name: string } = {
      name,
      subjects,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      num_replicas: replicas,
      duplicate_window: nanos(dedupeMs),
      // Retry records are replaced, never refused; nothing else has a limit that could discard.
      ...(rest.max_age !== undefined || rest.max_msgs_per_subject !== undefined ? { discard: DiscardPolicy.Old } : {}),
      ...rest,
    };
    try {
      await jsm.streams.add(wanted);
      return;
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== inUse) throw error;
    }
    const { config } = await jsm.streams.info(name);
    const { republish = config.republish } = rest;
    await jsm.streams.update(name, { ...config, subjects, num_replicas: replicas, ...(republish && { republish }) });
  }

  /** Once per process and queue, until `forget`. */
  ensure(address: Address): Promise<void> {
    let ensured = this.#ensured.get(address.queue);
    if (!ensured) {
      ensured = this.#consumer(address).catch((error: unknown) => {
        this.#ensured.delete(address.queue);
        throw error;
      });
      this.#ensured.set(address.queue, ensured);
    }
    return ensured;
  }

  /** Called when the consumer of the queue was removed. */
  forget(queue: string): void {
    this.#ensured.delete(queue);
  }

  forgetAll(): void {
    this.#ensured.clear();
  }

  async #consumer(address: Address): Promise<void> {
    const group = isGroupQueue(address.queue);
    const { stream, subject } = address;
    try {
      await this.#connection.jsm.consumers.add(stream, {
        ...common(address),
        deliver_policy: group ? DeliverPolicy.New : DeliverPolicy.All,
        ...(group ? { filter_subjects: [subject] } : { filter_subject: subject }),
      });
    } catch (error) {
      if (!(error instanceof JetStreamApiError)) throw error;
      // The consumer of an existing group has more filters than the subject for replays.
      if (group && (error.code === alreadyThere || (await this.info(address)))) return;
      if (error.code !== alreadyThere) throw error;
      // An operator has changed the consumer.
      await this.#connection.jsm.consumers.update(stream, address.durable, common(address));
    }
  }

  /** The durable queue of a group. Its latest member decides which events it listens to. */
  async ensureGroup(address: Address, subjects: readonly string[]): Promise<void> {
    const { jsm } = this.#connection;
    const filters = [address.subject, ...subjects];
    const there = await this.info(address);
    if (!there) {
      await jsm.consumers.add(address.stream, {
        ...common(address),
        deliver_policy: DeliverPolicy.New,
        filter_subjects: filters,
      });
    } else if (!sameWords(filtersOf(there), filters)) {
      await jsm.consumers.update(address.stream, address.durable, { filter_subject: '', filter_subjects: filters });
    }
    this.#ensured.set(address.queue, Promise.resolve());
  }

  async info(address: Address): Promise<ConsumerInfo | undefined> {
    try {
      return await this.#connection.jsm.consumers.info(address.stream, address.durable);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }
}

/** The subjects that a consumer takes; none for all. */
export const filtersOf = ({ config }: ConsumerInfo): string[] =>
  config.filter_subjects ?? (config.filter_subject === undefined ? [] : [config.filter_subject]);

const sameWords = (one: readonly string[], two: readonly string[]): boolean =>
  one.length === two.length && one.toSorted().join(' ') === two.toSorted().join(' ');

const common = ({ durable, queue }: Address): Partial<ConsumerConfig> => ({
  durable_name: durable,
  description: queue,
  ack_policy: AckPolicy.Explicit,
  ack_wait: nanos(ackWaitMs),
  max_deliver: mostDeliveries,
  max_ack_pending: mostInHand,
});
