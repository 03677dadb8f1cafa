/**
 * Refuses the messages that dead consumers had in hand, first and in order, so that the broker need not miss them.
 * These refusals have no delay. They cannot spin, because they are made once, before the first pull.
 */
import { ackSubject } from './delivery.ts';
import type { JetStreamConnection } from '../connection.ts';
import type { Address } from '../names.ts';
import type { NatsRetries } from './retries.ts';
import { filtersOf, type Topology } from '../topology.ts';

const mostRescued = 5_000;
const refusedMs = 2_000;

/**
 * Refuses the messages that dead consumers had, so that the server delivers them again at once. In a queue, those that
 * wait for a retry wait on; in a group they are delivered again too, because later events of their subject wait behind
 * them.
 * @returns how many messages the server delivers again
 */
export async function rescue(
  { connection, topology, retries }: { connection: JetStreamConnection; topology: Topology; retries: NatsRetries },
  address: Address,
  { isGroup }: { isGroup: boolean },
): Promise<number> {
  const { queue, stream, durable } = address;
  const info = await topology.info(address);
  if (!info || info.num_ack_pending === 0) return 0;
  const waiting = isGroup ? new Set<number>() : await retries.waiting(address);
  const found = new Set<number>();
  for (const filter of filtersOf(info)) {
    let seq = info.ack_floor.stream_seq + 1;
    while (seq <= info.delivered.stream_seq && found.size < mostRescued) {
      const message = await connection.next(stream, filter, seq);
      if (!message || message.seq > info.delivered.stream_seq) break;
      if (!waiting.has(message.seq)) found.add(message.seq);
      seq = message.seq + 1;
    }
  }
  const consumerSeq = info.delivered.consumer_seq;
  const again = [...found].sort((a, b) => a - b);
  await Promise.all(
    again.map((seq) =>
      connection.nc.request(ackSubject({ stream, durable, seq, consumerSeq }), '-NAK', { timeout: refusedMs }),
    ),
  );
  connection.log.info({ queue, messages: again.length }, 'messages in flight at dead consumers are offered again');
  return Math.max(0, info.num_ack_pending - waiting.size);
}
