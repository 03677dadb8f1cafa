/**
 * What an evaluation may cost. A template is somebody else's text: a few lines of it can ask for more than any machine
 * has, each function within its own limits. So whatever takes a value, makes one, looks at one or compares one with a pattern pays
 * here, out of one purse for a whole stack and those nested in it. Work is counted, not timed: the same template always ends the same way.
 */
import type { Mistakes } from './mistakes.ts';
import { isExact } from './number.ts';
import type { Partial } from './unknown.ts';

/** Several times what stacks of ten thousand resources use; a second or two of one core. */
export const mostWork = 5_000_000;
/** As many characters cost as much as one value. */
const charactersAWork = 32;
/** Values from outside may be nested deeper than the machine's own stack can follow. */
const deepest = 500;

/** Every evaluation that goes on ends with this, at the function that it happens to be at. */
export class OutOfWork extends Error {}

/** Ends everything at once, for a caller that starts again elsewhere with more work allowed. Nothing else catches it. */
export class Abandoned extends Error {}

/** Work that no place in the template answers for: the mistake is that of the whole. */
export function withinWork<T>(mistakes: Mistakes, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof OutOfWork)) throw error;
    mistakes.add({ code: 'TooMuchWork', message: `The template ${error.message}.`, path: '', at: undefined });
    return undefined;
  }
}

export class Work {
  readonly #most: number;
  readonly #whenSpent: 'refuse' | 'abandon';
  #spent = 0;

  constructor(most = mostWork, whenSpent: 'refuse' | 'abandon' = 'refuse') {
    this.#most = most;
    this.#whenSpent = whenSpent;
  }

  /** Ask before making what costs so much. @throws OutOfWork; what is cheaper may go on. */
  spend(amount: number): void {
    if (this.#spent + amount <= this.#most) {
      this.#spent += amount;
      return;
    }
    if (this.#whenSpent === 'abandon') throw new Abandoned();
    throw new OutOfWork(
      `takes too much work: everything in one stack and the stacks in it may make and read ${this.#most} values (or ${charactersAWork} characters each) altogether`,
    );
  }

  get spent(): number {
    return this.#spent;
  }

  characters(count: number): void {
    this.spend(count / charactersAWork);
  }

  /** All of a value is looked at. @throws OutOfWork */
  look(value: Partial, depth = 0): void {
    this.spend(typeof value === 'string' ? 1 + value.length / charactersAWork : 1);
    if (typeof value !== 'object' || value === null || isExact(value)) return;
    if (depth > deepest) throw new OutOfWork(`takes a value nested deeper than ${deepest} levels`);
    if (Array.isArray(value)) for (const item of value) this.look(item, depth + 1);
    else
      for (const [key, item] of Object.entries(value)) {
        this.characters(key.length);
        this.look(item, depth + 1);
      }
  }
}
