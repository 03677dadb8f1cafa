/**
 * Finds the bytes of a message that its stream no longer has. A work queue removes a message that a consumer terminates,
 * and only then does the server report it. So the server itself copies each message of a queue into a second stream when
 * it stores the message (`topology.ts`). The copies survive every restart, of the sender and of the server.
 *
 * K1 The copies are bounded for each queue, in time and in bytes: the oldest leave first. A busy queue never displaces
 *    the copies of a quiet one by their number.
 * K2 A message without a copy is not an error. The caller continues without its bytes.
 */
import type { StoredMsg } from '@nats-io/jetstream';
import type { JetStreamConnection } from '../connection.ts';
import type { Address } from '../names.ts';

/** The server writes it onto a copy: the number of the original message in its stream. */
const sequenceHeader = 'Nats-Sequence';

/**
 * The copy of message `seq` of the queue's stream. The copies of a queue are in the order of their originals, so the
 * search halves the range. @throws what the connection throws when it is lost.
 */
export async function copyOf(
  connection: JetStreamConnection,
  { subject, seq }: { subject: Address['subject']; seq: number },
): Promise<StoredMsg | undefined> {
  const { names } = connection;
  const state = await connection.state(names.stream.copies);
  if (!state) return undefined;
  let from = state.first_seq;
  let to = state.last_seq;
  let found: StoredMsg | undefined;
  while (from <= to) {
    const middle = Math.floor((from + to) / 2);
    const copy = await connection.next(names.stream.copies, names.copy(subject), middle);
    const original = copy && Number(copy.header.get(sequenceHeader));
    if (!copy || original === undefined || original > seq) {
      to = middle - 1;
      continue;
    }
    if (original === seq) found = copy;
    from = copy.seq + 1;
  }
  return found;
}
