/** The result of one step of a node's work. */
import type { Condition } from '@anneal/contracts/calls/stacks.ts';
import type { NodeChange } from '../../documents/node.ts';
import type { ProvisionStep } from '../../documents/states.ts';

/** The effect of a settled machine on its node's conditions: a warning to record, or one to clear. */
export type Settled = { readonly warning: Condition } | { readonly clears: Condition['type'] };

/** The work of a step was aborted or replaced while it ran. */
export class UnwantedStep extends Error {
  override readonly name = 'UnwantedStep';
}

/** The consequence of a step. A process that dies before it is stored repeats the step. */
export type StepOutcome =
  /** Continue with the next step, or after the last step with the next state. */
  | {
      readonly kind: 'next';
      readonly change?: NodeChange;
      readonly reason?: string;
      readonly verb?: 'keep';
      /** Another step of the same state than the next one. */
      readonly to?: ProvisionStep;
      readonly settled?: Settled;
      /** The time of the state begins now, because the step waited for a slot. */
      readonly renewed?: true;
    }
  /** Wait for this time, unless an event comes first. */
  | { readonly kind: 'wait'; readonly ms: number; readonly change?: NodeChange }
  /** Leave the state at once, without its further steps. */
  | { readonly kind: 'end'; readonly verb: 'done' | 'keep'; readonly change: NodeChange; readonly reason: string }
  /** Wait for an operator's `unhold`, then continue with `run steps`. */
  | { readonly kind: 'hold'; readonly change: NodeChange; readonly reason: string }
  /** Work that does not change the state is complete. */
  | { readonly kind: 'rest'; readonly change: NodeChange }
  /** Repeat the same step at once. */
  | {
      readonly kind: 'again';
      readonly change: NodeChange;
      /** The machine starts again, so a limit that its heartbeats had set is over. */
      readonly startsAgain?: true;
    };
