/** The operators' view of the queues, and their actions on them. */
import type { ConsumerInfo } from '@nats-io/jetstream';
import type { BusMembers } from '../active/members.ts';
import type { Broker } from '../broker.ts';
import type { QueueMeasure } from '../port.ts';
import { isAbsent, type JetStreamConnection } from './connection.ts';
import { isGroupQueue, nameOfSubject, type Address } from './names.ts';
import type { NatsRetries } from './retries.ts';
import { filtersOf, type Topology } from './topology.ts';

const deletesAtOnce = 64;

/** The operators' view of the queues. */
export function createNatsQueues(parameters: {
  connection: JetStreamConnection;
  topology: Topology;
  members: BusMembers;
  retries: NatsRetries;
  now: () => Date;
}): Broker['queues'] {
  const { connection, topology, members, retries, now } = parameters;
  const { names, jsm } = connection;

  /** The first sequence number of the queue's own messages, by subject. */
  const startsOf = (address: Address, info: ConsumerInfo | undefined): [filter: string, seq: number][] =>
    isGroupQueue(address.queue)
      ? (info ? filtersOf(info) : []).map((filter) => [filter, (info?.ack_floor.stream_seq ?? 0) + 1])
      : [[address.subject, 1]];

  const firsts = async (address: Address, info: ConsumerInfo | undefined, limit: number) => {
    const found = await Promise.all(
      startsOf(address, info).map(async ([filter, from]) => {
        const messages = [];
        let seq = from;
        while (messages.length < limit) {
          const message = await connection.next(address.stream, filter, seq);
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
  };

  const measured = async (address: Address, info: ConsumerInfo | undefined): Promise<QueueMeasure> => {
    const consumers = members.consumersOf(address.queue);
    const unsettled = info?.num_ack_pending ?? 0;
    let depth = info?.num_pending ?? 0;
    if (!info && !isGroupQueue(address.queue)) {
      depth = (await connection.subjects(address.stream, address.subject)).get(address.subject) ?? 0;
    }
    // A message that no consumer has in hand only waits until the broker notices that.
    const waiting =
      unsettled === 0 ? 0 : consumers === 0 ? unsettled : Math.min(unsettled, (await retries.waiting(address)).size);
    const inFlight = unsettled - waiting;
    depth += waiting;
    const [oldest] = depth + inFlight > 0 ? await firsts(address, info, 1) : [];
    const oldestAgeMs = oldest && depth > 0 ? Math.max(0, now().getTime() - oldest.time.getTime()) : null;
    return { name: address.queue, depth, inFlight, consumers, oldestAgeMs };
  };

  const forgetRecords = async (address: Address): Promise<void> => {
    await jsm.streams.purge(names.stream.retries, { filter: names.retries(address.durable) });
  };

  const purgeQueue = async (address: Address): Promise<number> => {
    const info = await topology.info(address);
    const { stream, subject } = address;
    const waiting = info ? await retries.waiting(address) : new Map<number, number>();
    const busy = info && info.num_ack_pending > waiting.size && members.consumersOf(address.queue) > 0;
    if (!busy) {
      const { purged } = await jsm.streams.purge(stream, { filter: subject });
      await forgetRecords(address);
      return purged;
    }
    // Messages in hand stay, so the rest is removed one by one.
    const doomed: number[] = [];
    let seq = info.ack_floor.stream_seq + 1;
    for (;;) {
      const message = await connection.next(stream, subject, seq);
      if (!message) break;
      if (message.seq > info.delivered.stream_seq || waiting.has(message.seq)) doomed.push(message.seq);
      seq = message.seq + 1;
    }
    let purged = 0;
    for (let from = 0; from < doomed.length; from += deletesAtOnce) {
      const gone = await Promise.all(
        doomed.slice(from, from + deletesAtOnce).map((each) => connection.forget(stream, each)),
      );
      purged += gone.filter(Boolean).length;
    }
    return purged;
  };

  /** The events belong to all groups, so this group only moves past them. */
  const purgeGroup = async (address: Address): Promise<number> => {
    const info = await topology.info(address);
    if (!info) return 0;
    const { depth } = await measured(address, info);
    const subjects = filtersOf(info).filter((filter) => filter !== address.subject);
    await jsm.consumers.delete(address.stream, address.durable);
    await topology.ensureGroup(address, subjects);
    await forgetRecords(address);
    return depth;
  };

  return {
    declare: (queue) => connection.asked(`Cannot declare ${queue}`, () => topology.ensure(names.address(queue))),
    list: (prefix = '') =>
      connection.asked('Cannot list the queues', async () => {
        const infos = new Map<string, ConsumerInfo | undefined>();
        const streams = [names.stream.requests, names.stream.responses];
        for (const stream of streams) {
          for (const subject of (await connection.subjects(stream, '>')).keys()) {
            const queue = names.queueOfSubject(subject);
            if (queue !== undefined) infos.set(queue, undefined);
          }
        }
        for (const stream of [...streams, names.stream.events]) {
          for await (const info of jsm.consumers.list(stream)) infos.set(nameOfSubject(info.name), info);
        }
        const wanted = [...infos.keys()].filter((queue) => queue.startsWith(prefix)).sort();
        const rows: QueueMeasure[] = [];
        for (const queue of wanted) rows.push(await measured(names.address(queue), infos.get(queue)));
        return rows;
      }),
    measure: (queue) =>
      connection.asked(`Cannot measure ${queue}`, async () => {
        const address = names.address(queue);
        return measured(address, await topology.info(address));
      }),
    peek: (queue, limit) =>
      connection.asked(`Cannot read ${queue}`, async () => {
        const address = names.address(queue);
        const info = isGroupQueue(queue) ? await topology.info(address) : undefined;
        return (await firsts(address, info, Math.max(0, Math.trunc(limit)))).map(({ data }) => data);
      }),
    purge: (queue) =>
      connection.asked(`Cannot purge ${queue}`, async () => {
        const address = names.address(queue);
        return isGroupQueue(queue) ? purgeGroup(address) : purgeQueue(address);
      }),
    remove: (queue) =>
      connection.asked(`Cannot remove ${queue}`, async () => {
        const address = names.address(queue);
        topology.forget(queue);
        try {
          await jsm.consumers.delete(address.stream, address.durable);
        } catch (error) {
          if (!isAbsent(error)) throw error;
        }
        if (!isGroupQueue(queue)) await jsm.streams.purge(address.stream, { filter: address.subject });
        await forgetRecords(address);
      }),
  };
}
