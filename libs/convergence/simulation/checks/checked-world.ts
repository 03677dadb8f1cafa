/** A step of the core and the world around it, as the checks read them. */
import type { Plan } from '@anneal/contracts/plan.ts';
import type { Input, Outcome } from '../../protocol.ts';
import type { StackDocument } from '../../documents.ts';
import type { State } from '../../state.ts';
import type { Shell } from '../shell.ts';
import type { Books } from './ledger.ts';

/** The facts of the world that the checks compare with the stored documents. */
export interface CheckedWorld {
  readonly books: Books;
  readonly clock: { readonly now: number };
  /** Requests that a stack may have in flight at once. */
  readonly limit: number;
  /** True while no fault happened since all stacks were idle: then nothing may fail, or wait for its deadline. */
  readonly calm: boolean;
  /** Hooks that were passed: by incarnation, and by traversal. */
  readonly passed: Set<string>;
  /** The resources that show what no request gave them: a signal came, or their nested stack acted by itself. */
  readonly unasked: { has(id: string): boolean; changedIn(traversal: string, id: string): boolean };
  readonly shells: ReadonlyMap<string, Shell>;
  /** By stack, the names of resources that events reported as failed since its last action began. */
  readonly failed: Map<string, Set<string>>;
  stack(id: string): StackDocument;
  shellOf(id: string): Shell;
  planAt(hash: string): Plan;
}

/** A step that has been taken, and the stack before it. */
export interface CheckedStep {
  readonly before: StackDocument;
  readonly state: State;
  readonly inputs: readonly Input[];
  readonly outcome: Outcome;
  /** Whether it began from the documents: then it may find work that a graph in memory knows to be waited for. */
  readonly isFresh: boolean;
}
