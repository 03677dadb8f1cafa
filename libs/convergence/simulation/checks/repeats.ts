/** Checks that a step follows from the documents, the inputs and the moment alone, in whatever order memory has them. */
import type { Outcome } from '../../protocol.ts';
import type { State } from '../../state.ts';
import { outputsOf } from '../values.ts';
import { must } from './ledger.ts';

/** A try that did not count. */
export interface Discarded {
  readonly state: State;
  readonly outcome: Outcome;
  /** False when an evaluation had no result: then the try shows failures that the step does not have. */
  readonly isWhole: boolean;
  /** Whether it began from the documents, and not from a graph in memory, which knows what its step waits for. */
  readonly isFresh: boolean;
}

/** Compares the tries of a step. `isBounded`: a limit may choose among the work, by its order. @throws Error */
export function checkRepeats(
  last: Pick<Discarded, 'state' | 'outcome'>,
  discarded: readonly Discarded[],
  isBounded: boolean,
): void {
  const names = new Map<string, string>();
  for (const { outcome } of [...discarded, last]) {
    for (const { id, name } of outcome.changes.resources.values()) {
      const before = names.get(id) ?? name;
      must(before === name, `the id ${id} is given to ${before}, and to ${name} when the step is tried again`);
      names.set(id, name);
    }
  }
  for (const { isWhole, isFresh, outcome, state } of discarded) {
    if (!isWhole || !isFresh) continue;
    // The first of several failures stops the others.
    const failed = [outcome, last.outcome].some(({ changes }) =>
      changes.events.some(({ status }) => status === 'FAILED'),
    );
    if (isBounded || failed) continue;
    const [before, after] = [contentOf(state, outcome), contentOf(last.state, last.outcome)];
    for (const [index, line] of after.entries())
      must(line === before[index], `a step that is tried again gives ${line}, and before ${before[index]}`);
    must(before.length === after.length, 'a step that is tried again does less');
  }
}

/** The content of a step, without the order in which the step made it. */
function contentOf(state: State, { changes, refusals }: Outcome): string[] {
  const { clock: _, ...stack } = changes.stack;
  const documents = Array.from(
    changes.resources.values(),
    ({ shown_at: _shown, seen_at: _seen, request, ...resource }) => ({
      ...resource,
      request: request && { ...request, seen_at: 0 },
    }),
  );
  // Only the first of several events by one actor names the actor.
  const events = changes.events.map(({ occasion: _occasion, ...event }) => event);
  const lines = [...documents, ...events, ...changes.effects, ...changes.removed.keys()].map((one) =>
    JSON.stringify(one),
  );
  return [
    ...lines.sort(),
    JSON.stringify([stack, [...refusals.keys()]]),
    JSON.stringify(outputsOf(state.plan, state.resources.values())),
  ];
}
