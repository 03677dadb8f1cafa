/**
 * Refuses the messages that dead consumers had in hand, first and in order, so that the broker need not miss them.
 * These refusals have no delay. They cannot spin, because they are made once, before the first pull of a consumer, and
 * after each return of the connection.
 */
import { ackSubject } from './delivery.ts';
import type { JetStreamConnection } from '../connection.ts';
import type { Address } from '../names.ts';
import type { NatsRetries } from './retries.ts';
import { filtersOf, type Topology } from '../topology.ts';

const mostRescued = 5_000;
const refusedMs = 2_000;

/** The messages that the server delivers again. */
export interface Rescued {
  readonly count: number;
  /** No message with a higher number in the stream was delivered before. */
  readonly upTo: number;
}

/**
 * Refuses the messages that dead consumers had, or that a lost connection did not bring, so that the server delivers
 * them again at once, before any other. In a queue, those that wait for a retry wait on; in a group they are delivered
 * again too, because later events of their subject wait behind them.
 *
 * @param inHand gives the numbers of the messages that this consumer has; they are not refused
 */
export async function rescue(
  { connection, topology, retries }: { connection: JetStreamConnection; topology: Topology; retries: NatsRetries },
  address: Address,
  { isGroup, inHand }: { isGroup: boolean; inHand: () => ReadonlySet<number> },
): Promise<Rescued> {
  const { queue, stream, durable } = address;
  const info = await topology.info(address);
  // Read after the question: what is in hand now was in flight then.
  const ours = inHand();
  if (!info || info.num_ack_pending <= ours.size) return { count: 0, upTo: 0 };
  const waiting = isGroup ? new Set<number>() : await retries.waiting(address);
  const found = new Set<number>();
  for (const filter of filtersOf(info)) {
    let seq = info.ack_floor.stream_seq + 1;
    while (seq <= info.delivered.stream_seq && found.size < mostRescued) {
      const message = await connection.next(stream, filter, seq);
      if (!message || message.seq > info.delivered.stream_seq) break;
      if (!waiting.has(message.seq) && !ours.has(message.seq)) found.add(message.seq);
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
  connection.log.info({ queue, messages: again.length }, 'messages in flight that no consumer has are offered again');
  return { count: Math.max(0, info.num_ack_pending - waiting.size - ours.size), upTo: info.delivered.stream_seq };
}
