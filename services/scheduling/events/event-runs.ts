/**
 * Stores events in runs: one document holds several events.
 *
 * E1 Each event is in one run. Events are numbered by place: the first event of a run has the number `first`.
 * E2 A run never changes, and depends only on its record. Written again after a crash, it is the same run with the same
 *    ids.
 * E3 A reader finds a run by its number, and by the resource name of its events. When the events of a run are of
 *    several resources, a shelf (a list beside the runs of a step) records which names are in which run.
 * E4 The id of an event contains its number, so that a reader continues behind an event without looking for it.
 */
import { hash } from 'node:crypto';
import type { StackEvent } from '@anneal/contracts/calls/stacks.ts';
import type { EventRecord } from '@anneal/convergence/protocol.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { Document, Draft } from '@anneal/store/port.ts';

export interface EventRun extends Document {
  readonly stack_id: string;
  readonly stack_name: string;
  readonly time: string;
  readonly first: number;
  /** The resource name of all events in the run; null when they differ. */
  readonly resource_name: string | null;
  readonly events: readonly EventRecord[];
}

/** An index of one step: for each name that hashes to the shelf, the runs that contain it, each by its `first`. */
export interface EventShelf extends Document {
  readonly stack_id: string;
  readonly shelf: number;
  readonly first: number;
  readonly places: readonly (readonly [name: string, runs: readonly number[]])[];
}

export type StoredEvent = EventRecord & Pick<StackEvent, 'id' | 'stack_id' | 'stack_name' | 'sequence' | 'time'>;

/** The events of one step. The number of the last event is the stack's `event_sequence`. */
export interface StepEvents {
  readonly stack: Pick<StackDocument, 'id' | 'name' | 'event_sequence'>;
  readonly time: string;
  readonly events: readonly EventRecord[];
}

export const longest = 250;
/** Up to this many runs, each run holds one name only, so that the step needs no shelves. */
const fewRuns = 8;
const shelves = 32;

export function runsOf({ stack, time, events }: StepEvents): Draft<EventRun>[] {
  let first = stack.event_sequence - events.length + 1;
  return cut(events).map((run) => {
    const name = run[0]?.resource_name ?? null;
    const own = run.every(({ resource_name: other }) => other === name);
    const made = {
      id: runId(stack.id, first),
      stack_id: stack.id,
      stack_name: stack.name,
      time,
      first,
      resource_name: own ? name : null,
      events: run,
    };
    first += run.length;
    return made;
  });
}

export const runId = (stackId: string, first: number): string => `${stackId}:${first}`;

/** Cuts where the resource changes. If that gives too many runs, cuts only where a run is full. */
function cut(events: readonly EventRecord[]): readonly EventRecord[][] {
  const byName: EventRecord[][] = [];
  for (const event of events) {
    const run = byName.at(-1);
    if (run?.[0]?.resource_name === event.resource_name && run.length < longest) run.push(event);
    else if (byName.push([event]) > fewRuns) break;
  }
  if (byName.length <= fewRuns) return byName;
  const count = Math.ceil(events.length / longest);
  return Array.from({ length: count }, (_, index) => events.slice(index * longest, (index + 1) * longest));
}

/** E3 */
export function shelvesOf(runs: readonly Draft<EventRun>[]): Draft<EventShelf>[] {
  const byShelf = new Map<number, Map<string, number[]>>();
  for (const { first, resource_name: own, events } of runs) {
    if (own !== null) continue;
    for (const { resource_name: name } of events) {
      const shelf = shelfOf(name);
      const names = byShelf.get(shelf) ?? new Map<string, number[]>();
      byShelf.set(shelf, names);
      const places = names.get(name);
      if (!places) names.set(name, [first]);
      else if (places.at(-1) !== first) places.push(first);
    }
  }
  const [step] = runs;
  if (!step) return [];
  return [...byShelf].map(([shelf, names]) => ({
    id: `${step.id}:${shelf}`,
    stack_id: step.stack_id,
    shelf,
    first: step.first,
    places: [...names],
  }));
}

export function shelfOf(name: string): number {
  let code = 0;
  for (let index = 0; index < name.length; index += 1) code = (Math.imul(code, 31) + name.charCodeAt(index)) | 0;
  return (code >>> 0) % shelves;
}

/** E1, E4 */
export function eventsIn({ stack_id, stack_name, time, first, events }: Draft<EventRun>): StoredEvent[] {
  const idOf = idsOf(stack_id);
  return events.map((event, index) => ({
    ...event,
    id: idOf(first + index),
    stack_id,
    stack_name,
    sequence: first + index,
    time,
  }));
}

/** UUIDs of version 8, whose bits an application may choose: some for the stack, the last 48 for the number. */
function idsOf(stackId: string): (sequence: number) => string {
  const hex = hash('sha256', stackId);
  const head = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(12, 15)}-8${hex.slice(15, 18)}-`;
  return (sequence) => head + sequence.toString(16).padStart(12, '0');
}

/** Returns undefined when the id is not the id of an event of this stack. */
export function numberIn(stackId: string, id: string): number | undefined {
  const sequence = Number.parseInt(id.slice(-12), 16);
  return idsOf(stackId)(sequence) === id ? sequence : undefined;
}
