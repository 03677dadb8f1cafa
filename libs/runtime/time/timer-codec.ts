/**
 * The timers of one collection as typed objects. The stored data of a timer has its kind, and its id is unique and stable
 * for its object and purpose. A receiver reads the timer and switches over the kinds, so that a kind without a handler is
 * a type error. A timer that cannot be read is refused: it stays in the store for a replica that knows its kind.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import type { Timer } from '@anneal/store/timers.ts';
import type { z } from 'zod';

/** A timer of some kind. */
type Typed = { readonly kind: string };

/** Defines the timers of a collection. */
interface TimerForm<T extends Typed> {
  readonly schema: z.ZodType<T>;
  /** Setting a timer with the same id again moves it. */
  readonly idOf: (timer: T) => string;
  /**
   * Gives the data of release 0.1.0, which has no kind, its present form. The schema checks the result. Remove it when no
   * installation upgrades from 0.1.0.
   */
  readonly earlier: (stored: Timer) => unknown;
}

/** Converts between the timers of a collection and their stored form. */
interface TimerCodec<T extends Typed> {
  readonly idOf: (timer: T) => string;
  readonly stored: (timer: T) => Pick<Timer, 'id' | 'data'>;
  readonly at: (timer: T, dueAt: number) => Timer;
  /** @throws AnnealError Defect for a timer of an unknown kind or form */
  readonly read: (stored: Timer) => T;
}

/** Creates the codec of a collection. */
export function createTimerCodec<T extends Typed>({ schema, idOf, earlier }: TimerForm<T>): TimerCodec<T> {
  const stored = (timer: T): Pick<Timer, 'id' | 'data'> => ({ id: idOf(timer), data: timer });
  return {
    idOf,
    stored,
    at: (timer, dueAt) => ({ ...stored(timer), dueAt }),
    read(timer) {
      const isTyped = isObject(timer.data) && typeof timer.data['kind'] === 'string';
      return readTimer(schema, timer.id, isTyped ? timer.data : earlier(timer));
    },
  };
}

/** Checks the typed form of a timer. @throws AnnealError Defect for a timer of an unknown kind or form */
export function readTimer<T extends Typed>(schema: z.ZodType<T>, id: string, form: unknown): T {
  const parsed = schema.safeParse(form);
  if (parsed.success) return parsed.data;
  const mistakes = parsed.error.issues
    .map(({ path, message }) => `${path.join('.') || 'timer'}: ${message}`)
    .join('; ');
  throw new AnnealError('Defect', `Cannot fire timer ${id}: ${mistakes}. It waits for a replica that knows its form.`);
}
