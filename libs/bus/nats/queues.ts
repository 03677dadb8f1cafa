/** The operators' view of the queues, and their actions on them. */
import type { ConsumerInfo, StoredMsg } from '@nats-io/jetstream';
import type { BusMembers } from '../active/members.ts';
import type { BrokerQueues } from '../broker.ts';
import type { QueueMeasure } from '../port.ts';
import { isAbsent, type JetStreamConnection } from './connection.ts';
import { isGroupQueue, nameOfSubject, type Address } from './names.ts';
import type { NatsRetries } from './consume/retries.ts';
import { filtersOf, type Topology } from './topology.ts';

const deletesAtOnce = 64;

/** A place to read from: the messages of the stream on these subjects from this number on. */
type Start = readonly [filter: string, seq: number];

/** The operators' view of the queues. A failure names what was attempted on which queue. */
export class NatsQueues implements BrokerQueues {
  readonly #connection: JetStreamConnection;
  readonly #topology: Topology;
  readonly #members: BusMembers;
  readonly #retries: NatsRetries;
  readonly #now: () => Date;

  constructor(parameters: {
    connection: JetStreamConnection;
    topology: Topology;
    members: BusMembers;
    retries: NatsRetries;
    now: () => Date;
  }) {
    this.#connection = parameters.connection;
    this.#topology = parameters.topology;
    this.#members = parameters.members;
    this.#retries = parameters.retries;
    this.#now = parameters.now;
  }

  declare(queue: string): Promise<void> {
    return this.#connection.asked(`Cannot declare ${queue}`, () => this.#topology.ensure(this.#address(queue)));
  }

  list(prefix = ''): Promise<QueueMeasure[]> {
    return this.#connection.asked('Cannot list the queues', async () => {
      const { infos, stored } = await this.#all();
      const wanted = [...new Set([...infos.keys(), ...stored.keys()])]
        .filter((queue) => queue.startsWith(prefix))
        .sort();
      const rows: QueueMeasure[] = [];
      for (const queue of wanted) {
        rows.push(await this.#measured(this.#address(queue), infos.get(queue), stored.get(queue) ?? 0));
      }
      return rows;
    });
  }

  measure(queue: string): Promise<QueueMeasure> {
    return this.#connection.asked(`Cannot measure ${queue}`, async () => {
      const address = this.#address(queue);
      const [info, stored] = await Promise.all([
        this.#topology.info(address),
        isGroupQueue(queue) ? 0 : this.#stored(address),
      ]);
      return this.#measured(address, info, stored);
    });
  }

  peek(queue: string, limit: number): Promise<Uint8Array[]> {
    return this.#connection.asked(`Cannot read ${queue}`, async () => {
      const address = this.#address(queue);
      const info = isGroupQueue(queue) ? await this.#topology.info(address) : undefined;
      return (await this.#firsts(address, info, Math.max(0, Math.trunc(limit)))).map(({ data }) => data);
    });
  }

  purge(queue: string): Promise<number> {
    return this.#connection.asked(`Cannot purge ${queue}`, () => {
      const address = this.#address(queue);
      return isGroupQueue(queue) ? this.#purgeGroup(address) : this.#purgeQueue(address);
    });
  }

  remove(queue: string): Promise<void> {
    return this.#connection.asked(`Cannot remove ${queue}`, async () => {
      const { jsm } = this.#connection;
      const address = this.#address(queue);
      this.#topology.forget(queue);
      try {
        await jsm.consumers.delete(address.stream, address.durable);
      } catch (error) {
        if (!isAbsent(error)) throw error;
      }
      if (!isGroupQueue(queue)) await jsm.streams.purge(address.stream, { filter: address.subject });
      await this.#forgetRecords(address);
    });
  }

  #address(queue: string): Address {
    return this.#connection.names.address(queue);
  }

  /** The state of every consumer, and the number of stored messages of every queue that has some. */
  async #all(): Promise<{ infos: Map<string, ConsumerInfo>; stored: Map<string, number> }> {
    const { names, jsm } = this.#connection;
    const infos = new Map<string, ConsumerInfo>();
    const stored = new Map<string, number>();
    const streams = [names.stream.requests, names.stream.responses];
    for (const stream of streams) {
      for (const [subject, count] of await this.#connection.subjects(stream, '>')) {
        const queue = names.queueOfSubject(subject);
        if (queue !== undefined) stored.set(queue, count);
      }
    }
    for (const stream of [...streams, names.stream.events]) {
      for await (const info of jsm.consumers.list(stream)) infos.set(nameOfSubject(info.name), info);
    }
    return { infos, stored };
  }

  async #stored({ stream, subject }: Address): Promise<number> {
    return (await this.#connection.subjects(stream, subject)).get(subject) ?? 0;
  }

  /**
   * The server confirms a message before its consumer counts it. A queue is therefore counted in its stream, which also
   * holds the unsettled messages. The stream of a group holds those of other groups too: when its consumer counts none, the
   * stream is searched for one.
   */
  async #measured(address: Address, info: ConsumerInfo | undefined, stored: number): Promise<QueueMeasure> {
    const consumers = this.#members.consumersOf(address.queue);
    const unsettled = info?.num_ack_pending ?? 0;
    // A message that no consumer has in hand only waits until the broker notices that.
    const waiting =
      unsettled === 0
        ? 0
        : consumers === 0
          ? unsettled
          : Math.min(unsettled, (await this.#retries.waiting(address)).size);
    const inFlight = unsettled - waiting;
    const isGroup = isGroupQueue(address.queue);
    const counted = isGroup ? (info?.num_pending ?? 0) : Math.max(0, stored - unsettled);
    const mayHaveSome = counted + unsettled > 0 || (isGroup && info !== undefined);
    const [oldest] = mayHaveSome ? await this.#firsts(address, info, 1) : [];
    const depth = waiting + (counted + unsettled === 0 && oldest ? 1 : counted);
    const oldestAgeMs = oldest && depth > 0 ? Math.max(0, this.#now().getTime() - oldest.time.getTime()) : null;
    return { name: address.queue, depth, inFlight, consumers, oldestAgeMs };
  }

  async #firsts(address: Address, info: ConsumerInfo | undefined, limit: number): Promise<StoredMsg[]> {
    const found = await Promise.all(
      startsOf(address, info).map(async ([filter, from]) => {
        const messages: StoredMsg[] = [];
        let seq = from;
        while (messages.length < limit) {
          const message = await this.#connection.next(address.stream, filter, seq);
          if (!message) break;
          messages.push(message);
          seq = message.seq + 1;
        }
        return messages;
      }),
    );
    return found
      .flat()
      .sort((a, b) => a.seq - b.seq)
      .slice(0, limit);
  }

  async #forgetRecords(address: Address): Promise<void> {
    const { names, jsm } = this.#connection;
    await jsm.streams.purge(names.stream.retries, { filter: names.retries(address.durable) });
  }

  async #purgeQueue(address: Address): Promise<number> {
    const info = await this.#topology.info(address);
    const waiting = info ? await this.#retries.waiting(address) : new Map<number, number>();
    const busy = info && info.num_ack_pending > waiting.size && this.#members.consumersOf(address.queue) > 0;
    if (busy) return this.#purgeAround(address, info, waiting);
    const { purged } = await this.#connection.jsm.streams.purge(address.stream, { filter: address.subject });
    await this.#forgetRecords(address);
    return purged;
  }

  /** Messages in hand stay, so the others are removed one by one. */
  async #purgeAround(address: Address, info: ConsumerInfo, waiting: ReadonlyMap<number, number>): Promise<number> {
    const { stream, subject } = address;
    const doomed: number[] = [];
    let seq = info.ack_floor.stream_seq + 1;
    for (;;) {
      const message = await this.#connection.next(stream, subject, seq);
      if (!message) break;
      if (message.seq > info.delivered.stream_seq || waiting.has(message.seq)) doomed.push(message.seq);
      seq = message.seq + 1;
    }
    let purged = 0;
    for (let from = 0; from < doomed.length; from += deletesAtOnce) {
      const gone = await Promise.all(
        doomed.slice(from, from + deletesAtOnce).map((each) => this.#connection.forget(stream, each)),
      );
      purged += gone.filter(Boolean).length;
    }
    return purged;
  }

  /** The events belong to all groups, so this group only moves past them. */
  async #purgeGroup(address: Address): Promise<number> {
    const info = await this.#topology.info(address);
    if (!info) return 0;
    const { depth } = await this.#measured(address, info, 0);
    const subjects = filtersOf(info).filter((filter) => filter !== address.subject);
    await this.#connection.jsm.consumers.delete(address.stream, address.durable);
    await this.#topology.ensureGroup(address, subjects);
    await this.#forgetRecords(address);
    return depth;
  }
}

/** Where the queue's own messages begin, by subject. */
function startsOf({ queue, subject }: Address, info: ConsumerInfo | undefined): Start[] {
  if (!isGroupQueue(queue)) return [[subject, 1]];
  if (!info) return [];
  // Events stay in the stream until every group has settled them.
  const { stream_seq: before } = info.num_ack_pending === 0 ? info.delivered : info.ack_floor;
  return filtersOf(info).map((filter) => [filter, before + 1]);
}
