/**
 * The journal: one record per stack, and per execution of a workflow, for its last step. The record stays open until everything in it is carried out.
 *
 * J1 A record is appended by compare-and-set on the stack's journal document, whose sequence grows by one. When two
 *    writers step from the same state, one loses. It discards its state and loads the stack again.
 * J2 The next process that loads the stack carries out an open record again, before anything else. Sends carry the same
 *    ids as the first time, and each document is written only over the version it was made from.
 * J3 A record is closed, and emptied, after its messages are sent, its documents written and its events published. When
 *    the step is partial, the record of the next step replaces it instead.
 */
import type { Changes, Effect, EventRecord } from '@anneal/convergence/protocol.ts';
import type { ExecutionDocument, TaskDocument } from '@anneal/convergence/workflow/documents.ts';
import type { ItemPage } from '@anneal/convergence/workflow/pages.ts';
import type { ExecutionEffect, ExecutionEvent } from '@anneal/convergence/workflow/protocol.ts';
import type { ResourceDocument, StackDocument } from '@anneal/convergence/documents.ts';
import type { StackTimer } from '@anneal/contracts/stack-timer.ts';
import { writeOver } from '@anneal/store/change.ts';
import type { Collection, Document } from '@anneal/store/port.ts';
import { namedTimer, type NamedTimer } from './stack-timers.ts';

/** The part of the causing envelope that the messages of a record carry on. */
export interface Cause {
  readonly id: string;
  readonly correlationid: string;
  readonly traceparent?: string;
}

type TimerEffect = { readonly kind: 'timer' | 'cancel timer'; readonly timer: StackTimer };

/** An effect in a record: that of a timer has the name of the timer too. */
type Recorded<E> = E extends TimerEffect ? Omit<E, 'timer'> & NamedTimer : E;

/** Gives an effect its form in a record. */
export const recorded = <E extends Effect | ExecutionEffect>(effect: E): Recorded<E> =>
  (effect.kind === 'timer' || effect.kind === 'cancel timer'
    ? { ...effect, ...namedTimer(effect.timer) }
    : effect) as Recorded<E>;

export interface JournalRecord {
  /** A record of a stack has none, by which replicas of release 0.1.0 know it. */
  readonly kind?: undefined;
  /** The time of the step. */
  readonly time: string;
  readonly inputs: readonly string[];
  readonly cause: Cause;
  readonly stack: StackDocument;
  readonly resources: readonly ResourceDocument[];
  readonly removed: readonly { readonly id: string; readonly version: number }[];
  readonly events: readonly EventRecord[];
  readonly effects: readonly Recorded<Effect>[];
  /** Hashes of contents that the stack stopped using in the step. */
  readonly let_go?: readonly string[];
  /** The step leads the stack to another revision, or ends its way there. */
  readonly revises?: boolean;
}

export interface JournalDocument extends Document {
  readonly shard: number;
  readonly sequence: number;
  readonly open: boolean;
  readonly record: JournalRecord | ExecutionRecord | null;
}

/** The record of a step of an execution of a workflow. */
export interface ExecutionRecord {
  readonly kind: 'execution';
  readonly time: string;
  readonly inputs: readonly string[];
  readonly cause: Cause;
  readonly execution: ExecutionDocument;
  readonly tasks: readonly TaskDocument[];
  readonly pages?: readonly ItemPage[];
  readonly events: readonly ExecutionEvent[];
  readonly effects: readonly Recorded<ExecutionEffect>[];
}

export function recordOf(
  changes: Changes,
  of: Pick<JournalRecord, 'time' | 'inputs' | 'cause' | 'let_go' | 'revises'>,
): JournalRecord {
  return {
    time: of.time,
    inputs: of.inputs,
    cause: of.cause,
    stack: changes.stack,
    resources: [...changes.resources.values()],
    removed: [...changes.removed].map(([id, version]) => ({ id, version })),
    events: changes.events,
    effects: changes.effects.map(recorded),
    ...(of.let_go && of.let_go.length > 0 && { let_go: of.let_go }),
    ...(of.revises === true && { revises: true }),
  };
}

/** Returns undefined when another writer was first. */
export async function appendRecord(
  journal: Collection<JournalDocument>,
  last: JournalDocument | undefined,
  entry: { stackId: string; shard: number; record: JournalRecord | ExecutionRecord },
): Promise<JournalDocument | undefined> {
  const draft = {
    id: entry.stackId,
    shard: entry.shard,
    sequence: (last?.sequence ?? 0) + 1,
    open: true,
    record: entry.record,
  };
  return writeOver(journal, draft, last);
}

export async function closeRecord(
  journal: Collection<JournalDocument>,
  document: JournalDocument,
): Promise<JournalDocument | undefined> {
  const { version, ...draft } = document;
  return journal.replace({ ...draft, open: false, record: null }, version);
}
