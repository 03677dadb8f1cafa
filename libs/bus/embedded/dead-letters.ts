/** Dead letters, kept with the reason until an operator replays or purges them. */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { BrokerDeadLetters } from '../broker.ts';
import type { DeadLetter } from '../port.ts';
import type { StoredAttempt } from './database.ts';
import type { Tick } from './tick.ts';

interface DeadRow {
  readonly id: string;
  readonly queue: string;
  readonly grouped: number;
  readonly subject: string | null;
  readonly died_at: string;
  readonly attempts: number;
  readonly failure: string;
  readonly history: string;
  readonly bytes: string | Uint8Array;
}

/** The dead letters in the tables of the broker. */
export function createDeadLetters({ database, lanes, inTick, append }: Tick): BrokerDeadLetters {
  const find = (id: string): DeadRow | undefined =>
    database.get('SELECT * FROM dead WHERE id = ?', id) as DeadRow | undefined;

  return {
    list: ({ queue, limit, after }) =>
      inTick(() => {
        const from =
          after === undefined ? 0 : Number(database.get('SELECT n FROM dead WHERE id = ?', after)?.['n'] ?? 0);
        const bound = Math.max(0, Math.trunc(limit));
        const rows =
          queue === undefined
            ? database.all('SELECT * FROM dead WHERE n > ? ORDER BY n LIMIT ?', from, bound)
            : database.all('SELECT * FROM dead WHERE queue = ? AND n > ? ORDER BY n LIMIT ?', queue, from, bound);
        return (rows as unknown as DeadRow[]).map(letterOf);
      }),
    show: (id) =>
      inTick(() => {
        const row = find(id);
        return row && letterOf(row);
      }),
    replay: (id, bytes) =>
      inTick(() => {
        const row = find(id);
        if (!row) return false;
        // In one transaction, so that it is either in the queue or a dead letter, never both.
        append(lanes.open(row.queue, row.grouped === 1), [
          { type: '', subject: row.subject ?? undefined, bytes: bytes ?? row.bytes },
        ]);
        database.write('DELETE FROM dead WHERE id = ?', id);
        return true;
      }),
    purge: ({ queue, id }) =>
      inTick(() =>
        database.write(
          'DELETE FROM dead WHERE (?1 IS NULL OR queue = ?1) AND (?2 IS NULL OR id = ?2)',
          queue ?? null,
          id ?? null,
        ),
      ),
  };
}

function letterOf(row: DeadRow): DeadLetter {
  return {
    id: row.id,
    queue: row.queue,
    diedAt: row.died_at,
    attempts: row.attempts,
    failure: JSON.parse(row.failure) as Failure,
    history: JSON.parse(row.history) as StoredAttempt[],
    bytes: readable(row.bytes),
  };
}

function readable(bytes: string | Uint8Array): string {
  if (typeof bytes === 'string') return bytes;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return `base64:${Buffer.from(bytes).toString('base64')}`;
  }
}
