/**
 * Work budget of an evaluation. A template is untrusted: a few lines can ask for more than a machine has, with each
 * function within its own limits. So taking, making or reading a value, and matching it with a pattern, spends work
 * from one budget for a stack and all stacks nested in it. Work is counted, not timed, so that the same template always
 * ends the same way.
 */
import type { Mistakes } from '../syntax/mistakes.ts';
import { isExact } from '@anneal/python/values/number.ts';
import type { PartialValue } from './unknown.ts';

/** Several times the work of a stack with ten thousand resources; 1 to 2 s of one core. */
export const mostWork = 5_000_000;
/** This many characters cost as much as one value. */
const charactersAWork = 32;
/** Values from outside may be nested deeper than the call stack allows. */
const deepest = 500;

/** Ends an evaluation that has used up its work, at the function that it has reached. */
export class OutOfWork extends Error {}

/** Ends the compilation, for a caller that repeats it elsewhere with more work. No other code catches it. */
export class Abandoned extends Error {}

/** Reports work that no place in the template caused as a mistake of the whole template. */
export function withinWork<T>(mistakes: Mistakes, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof OutOfWork)) throw error;
    mistakes.add({ code: 'TooMuchWork', message: `The template ${error.message}.`, path: '', at: undefined });
    return undefined;
  }
}

/** A budget that all evaluation of one stack tree shares. Spending more than is left throws. */
export class EvaluationWork {
  readonly #most: number;
  readonly #whenSpent: 'refuse' | 'abandon';
  #spent = 0;

  constructor(most = mostWork, whenSpent: 'refuse' | 'abandon' = 'refuse') {
    this.#most = most;
    this.#whenSpent = whenSpent;
  }

  /** Call before making something of this cost. After a refusal, cheaper work may continue. @throws OutOfWork */
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

  /** Spends work for reading all of a value. @throws OutOfWork */
  look(value: PartialValue, depth = 0): void {
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
