/**
 * Divides a series of operations into steps, with the same outcome as if they were done in the requested order.
 *
 * P1 Two operations on one id are never in one step.
 * P2 The operations of one call happen in its order: a step holds neighbours of one kind only.
 * P3 Inserts keep their order within a step, over all calls, so that events are written in the order of their creation.
 * P4 Where a unique index ties documents together, P2 holds for all calls as if they were one.
 */
import type { Operation } from './operation.ts';

/** The commands for writes. */
export type Family = 'insert' | 'update' | 'remove';

/** The command that carries the operation. */
export const familyOf = ({ kind }: Operation): Family =>
  kind === 'put' || kind === 'replace' ? 'update' : kind === 'insert' ? 'insert' : 'remove';

/** Divides the operations of waiting calls into steps, whose operations have different ids. The order per id stays. */
export function stepsOf(calls: readonly (readonly Operation[])[], options: { tied: boolean }): Operation[][] {
  const steps: Operation[][] = [];
  /** The first step that is free for the id. */
  const free = new Map<string, number>();
  for (const call of options.tied ? [calls.flat()] : calls) {
    let at = 0;
    let family: Family | undefined;
    for (const operation of call) {
      const next = familyOf(operation);
      if (family !== undefined && family !== next) at += 1;
      family = next;
      at = Math.max(at, free.get(operation.id) ?? 0);
      free.set(operation.id, at + 1);
      while (steps.length <= at) steps.push([]);
      steps[at]?.push(operation);
    }
  }
  return steps;
}
