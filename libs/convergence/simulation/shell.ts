/**
 * The shell of one stack, like the one in `services/scheduling`: takes messages, steps the core, appends one record,
 * executes the record, closes it. A test can kill it between any two of these; the next process has only the documents
 * and the record.
 */
import type { Plan } from '@anneal/contracts/plan.ts';
import type { Changes, Effect, Input, Outcome, Tools } from '../protocol.ts';
import type { ResourceDocument, StackDocument } from '../documents.ts';
import { type State, undoOf } from '../state.ts';
import type { Discarded } from './checks/repeats.ts';
import type { SimulatedMoment, Try } from './tries.ts';

/** The points at which a process may die, in the order of the work. */
export const faultPoints = ['recorded', 'sent', 'written', 'published', 'closed', 'replied'] as const;
/** The line after which a process dies. */
export type FaultPoint = (typeof faultPoints)[number];

/** The death of the simulated process. */
export class Killed extends Error {}

/** One version of the core. Two versions may run side by side: they only share documents. */
export interface Core {
  readonly step: (state: State, inputs: readonly Input[], tools: Tools) => Outcome;
  readonly loadState: (documents: {
    stack: StackDocument;
    resources: Iterable<ResourceDocument>;
    plan: Plan;
    complete?: Plan | undefined;
  }) => State;
}

interface StackRecord {
  readonly stack: StackDocument;
  readonly resources: readonly ResourceDocument[];
  readonly removed: readonly (readonly [string, number])[];
  readonly effects: readonly Effect[];
}

/** The try of a step that counts, and the tries before it. */
export interface WatchedStep {
  readonly before: StackDocument;
  readonly state: State;
  readonly inputs: readonly Input[];
  readonly outcome: Outcome;
  /** Whether the try began from the documents, and not from a state in memory. */
  readonly isFresh: boolean;
  readonly attempt: Try;
  readonly discarded: readonly Discarded[];
}

/** The world of a shell. */
export interface ShellPorts {
  readonly core: () => Core;
  readonly planOf: (hash: string) => Plan;
  readonly moment: () => SimulatedMoment;
  readonly begin: (moment: SimulatedMoment) => Try;
  /** The order in which a store returns documents. */
  readonly inSomeOrder: <T>(items: T[]) => T[];
  /** Whether the process dies here. */
  readonly dies: (point: FaultPoint) => boolean;
  /** `resources` are those of the stack after the step, by id. */
  readonly carryOut: (record: {
    stack: StackDocument;
    effects: readonly Effect[];
    resources: ReadonlyMap<string, ResourceDocument>;
  }) => void;
  /** Called with the result of a step, before the shell records or sends anything. */
  readonly watch: (step: WatchedStep) => void;
}

/** A process that owns one stack. Only `stored` survives its death. */
export interface Shell {
  readonly stored: { stack: StackDocument; readonly resources: ReadonlyMap<string, ResourceDocument> };
  take(inputs: readonly Input[]): Outcome;
  /** Recovers after a death, as the next process does first: executes the open record, and continues the stack. */
  recover(): void;
  forget(): void;
}

/** The outcome of the step that took the inputs, with the changes of the steps that continued it. */
function wholeOf([first, ...more]: readonly Outcome[]): Outcome {
  if (!first) throw new Error('no step');
  if (more.length === 0) return first;
  const all = [first, ...more].map(({ changes }) => changes);
  return {
    ...first,
    isPartial: false,
    changes: {
      stack: all.at(-1)?.stack ?? first.changes.stack,
      resources: new Map(all.flatMap(({ resources }) => [...resources])),
      before: new Map(all.toReversed().flatMap(({ before }) => [...before])),
      removed: new Map(all.flatMap(({ removed }) => [...removed])),
      events: all.flatMap(({ events }) => events),
      effects: all.flatMap(({ effects }) => effects),
      dirty: all.some(({ dirty }) => dirty),
    },
  };
}

/** Copies a value as a store or queue would: anything that JSON cannot represent is lost. */
const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** A shell for this stack, without any record. */
export function createShell(ports: ShellPorts, stack: StackDocument): Shell {
  const resources = new Map<string, ResourceDocument>();
  const stored = { stack, resources };
  const journal: { sequence: number; open: StackRecord | undefined } = { sequence: 0, open: undefined };
  let cached: State | undefined;
  let core: Core = ports.core();

  const dieAt = (point: FaultPoint): void => {
    if (ports.dies(point)) throw new Killed(point);
  };

  /** Writes a document only over exactly the version before. */
  const write = (record: StackRecord): void => {
    for (const resource of record.resources) {
      if ((resources.get(resource.id)?.version ?? 0) === resource.version - 1) resources.set(resource.id, resource);
    }
    for (const [id, version] of record.removed) if (resources.get(id)?.version === version) resources.delete(id);
    if (stored.stack.version === record.stack.version - 1) stored.stack = record.stack;
  };

  const carryOut = (record: StackRecord): void => {
    const after = new Map([...resources, ...record.resources.map((resource) => [resource.id, resource] as const)]);
    for (const [id] of record.removed) after.delete(id);
    dieAt('recorded');
    ports.carryOut({ ...record, resources: after });
    dieAt('sent');
    write(record);
    dieAt('written');
    dieAt('published');
    journal.open = undefined;
    dieAt('closed');
  };

  const load = (): State => {
    if (journal.open) carryOut(journal.open);
    if (cached) return cached;
    const { complete, target } = stored.stack;
    core = ports.core();
    cached = core.loadState({
      stack: copy(stored.stack),
      resources: ports.inSomeOrder([...resources.values()].map(copy)),
      plan: ports.planOf(target.plan),
      complete: complete ? ports.planOf(complete.plan) : undefined,
    });
    return cached;
  };

  /** The state after a step was undone. @throws Error when it is not that of the store */
  const asStored = (undone: State): State => {
    const read = ports.inSomeOrder([...resources.values()]);
    const isSame =
      JSON.stringify(undone.stack) === JSON.stringify(stored.stack) &&
      undone.resources.size === read.length &&
      read.every((resource) => JSON.stringify(undone.resources.get(resource.id)) === JSON.stringify(resource));
    if (!isSame) throw new Error(`an undone step left its traces in ${stored.stack.id}`);
    return undone;
  };

  /** Loads the stack and steps it, and does so again while the try does not count. */
  const stepOnce = (inputs: readonly Input[]): Outcome => {
    const moment = ports.moment();
    const discarded: Discarded[] = [];
    for (;;) {
      const isFresh = cached === undefined || discarded.length > 0;
      const state = load();
      const before = state.stack;
      const undo = undoOf(state);
      const attempt = ports.begin(moment);
      const outcome = core.step(state, inputs, attempt.tools);
      const fate = attempt.fate();
      if (fate !== 'counts') {
        // The next try begins in memory or from the store.
        cached = discarded.length % 2 === 0 ? asStored(undo(outcome.changes.before)) : undefined;
        discarded.push({ state, outcome, isWhole: fate === 'repeated', isFresh });
        continue;
      }
      ports.watch({ before, state, inputs, outcome, isFresh, attempt, discarded });
      if (!outcome.changes.dirty) return outcome;
      journal.sequence += 1;
      journal.open = recordOf(outcome.changes);
      carryOut(journal.open);
      return outcome;
    }
  };

  const recordOf = ({ stack: changed, resources: documents, removed, effects }: Changes): StackRecord =>
    copy({ stack: changed, resources: [...documents.values()], removed: [...removed], effects });

  return {
    stored,
    take(inputs) {
      const first = stepOnce(inputs);
      dieAt('replied');
      const outcomes = [first];
      while (outcomes.at(-1)?.isPartial) outcomes.push(stepOnce([]));
      return wholeOf(outcomes);
    },
    recover() {
      while (stepOnce([]).isPartial);
    },
    forget() {
      cached = undefined;
    },
  };
}
