/** The history of an alarm: its changes of state, and the attempts of its actions in the log of attempts. */
import type { alarmHistorySchema } from '@anneal/contracts/calls/alarms.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { insertOnce } from '@anneal/store/change.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import type { z } from 'zod';
import {
  AttemptRing,
  latestAttempts,
  removeAttempts,
  type Attempt,
  type AttemptLog,
} from '../../delivery/attempt-log.ts';
import type { AlarmDocument, StateChange } from './alarm.ts';

type Entry = z.infer<typeof alarmHistorySchema>;

/** A stored change of state. */
export interface HistoryDocument extends Document {
  readonly alarm: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Version 0.1.0 stored actions here too. They leave when newer changes push them out. */
  readonly kind: Entry['kind'];
  readonly detail: string;
}

/** The number of changes, and of attempts, that an alarm keeps. */
const kept = 200;

/** Stores and lists the histories of alarms. */
export class AlarmHistory {
  readonly #changes: Collection<HistoryDocument>;
  readonly #attempts: AttemptLog;

  constructor(changes: Collection<HistoryDocument>, attempts: AttemptLog) {
    this.#changes = changes;
    this.#attempts = attempts;
  }

  /** Stores a change of state. A repeat stores nothing. */
  async changed(alarm: string, { sequence, at, previous, state, reason }: StateChange): Promise<void> {
    const changes = this.#changes;
    const added = await insertOnce(changes, {
      id: derivedId(`alarm history\n${alarm}\n${sequence}`),
      alarm,
      at: Date.parse(at),
      kind: 'state transition',
      detail: `${previous} → ${state}: ${reason}`,
    });
    if (!added) return;
    const all = await changes.find({ where: { alarm }, orderBy: ['at'], descending: true, limit: kept + 10 });
    await changes.bulk(all.slice(kept).map(({ id }) => ({ kind: 'remove', id })));
  }

  /** Stores attempts. Returns the number of their document, which the alarm keeps as `attempts_number`. */
  async attempted({ id, attempts_number: last = 0 }: AlarmDocument, made: readonly Attempt[]): Promise<number> {
    if (made.length === 0) return last;
    const ring = await AttemptRing.open(this.#attempts, { subscription: id, keep: kept, last });
    for (const each of made) ring.add(each);
    const written = ring.write();
    if (written) await this.#attempts.bulk([written.operation]);
    return written?.number ?? last;
  }

  /** The newest first. */
  async latest(alarm: string, limit: number): Promise<Entry[]> {
    const [changes, attempts] = await Promise.all([
      this.#changes.find({ where: { alarm }, orderBy: ['at'], descending: true, limit }),
      latestAttempts(this.#attempts, alarm, limit),
    ]);
    const entries: Entry[] = [
      ...attempts.map(({ at, subject = '', error }) =>
        error === null
          ? { at, kind: 'action' as const, detail: subject }
          : { at, kind: 'action failed' as const, detail: `${subject}: ${error}` },
      ),
      ...changes.map(({ at, kind, detail }) => ({ at: new Date(at).toISOString(), kind, detail })),
    ];
    return entries.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, limit);
  }

  /** Removes the history of a deleted alarm. */
  async remove(alarm: string): Promise<void> {
    await removeAttempts(this.#attempts, alarm);
    const all = await this.#changes.find({ where: { alarm } });
    await this.#changes.bulk(all.map(({ id }) => ({ kind: 'remove', id })));
  }
}
