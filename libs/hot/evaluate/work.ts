/**
 * Work budget of an evaluation. A template is untrusted: a few lines can ask for more than a machine has, with each
 * function within its own limits. So taking, making or reading a value, and matching it with a pattern, spends work
 * from one budget for a stack and all stacks nested in it. Work is counted, not timed, so that the same template always
 * ends the same way.
 */
import type { Mistakes } from '../mistakes.ts';
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import { bySetting, defaultEvaluation, limitSettings, type EvaluationLimits } from '../limits.ts';
import type { PartialValue } from './unknown.ts';

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

/**
 * A budget that all evaluation of one stack tree shares. Spending more than is left throws. It carries the operator's
 * limits to every function.
 */
export class EvaluationWork {
  readonly limits: EvaluationLimits;
  readonly #most: number;
  readonly #whenSpent: 'refuse' | 'abandon';
  #spent = 0;

  /** `most` is for a caller that allows less than the operator, and repeats elsewhere or reports what was abandoned. */
  constructor(
    limits: EvaluationLimits = defaultEvaluation,
    { most = limits.work, whenSpent = 'refuse' }: { most?: number; whenSpent?: 'refuse' | 'abandon' } = {},
  ) {
    this.limits = limits;
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
      `takes too much work: everything in one stack and the stacks in it may make and read ${this.#most} values (or ${charactersAWork} characters each) altogether ${this.#setting()}`,
    );
  }

  /** Names the setting, and its value where this budget is only a part of it. */
  #setting(): string {
    const { work } = this.limits;
    return this.#most === work
      ? bySetting('work')
      : `(${limitSettings.work} is ${work}; this evaluation may use a part)`;
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
    if (!holdsValues(value)) return;
    if (depth > deepest) throw new OutOfWork(`takes a value nested deeper than ${deepest} levels`);
    if (Array.isArray(value)) for (const item of value) this.look(item, depth + 1);
    else
      for (const [key, item] of Object.entries(value)) {
        this.characters(key.length);
        this.look(item, depth + 1);
      }
  }
}
