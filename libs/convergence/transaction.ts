/**
 * Changes of one step, collected while it runs. Every change of a document goes through here, so that the documents,
 * the indexes and the record agree.
 */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import { sameJson } from '@anneal/contracts/json.ts';
import type { StackSink } from '@anneal/contracts/stack-sink.ts';
import type { Changes, Effect, EventRecord, GroupReport, GroupTimer, ScalingReport, Tools } from './protocol.ts';
import { type ResourceDocument, shownType, type StackDocument } from './documents.ts';
import { dropResource, putResource, type State } from './state.ts';

/** One step in progress. */
export interface Transaction {
  readonly state: State;
  readonly tools: Tools;
  readonly now: string;
  readonly changes: Changes;
  /** The id of the current input. Empty in a step without inputs. */
  input: string;
  /** The stack and its version before the step. Every recorded step begins at another version. */
  readonly begins: string;
  /** How many ids each name got in this step. */
  readonly named: Map<string, number>;
  /** The actor and the cause while an input is taken that begins no traversal. Otherwise the traversal says it. */
  acting: Occasion | undefined;
  /** The occasion of the last event. */
  announced: Occasion | undefined;
  /** Whether the input is a request of the parent stack. */
  isAsked: boolean;
  /** Whether the parent stack was answered since the input began. */
  answered: boolean;
  /** How many effects were already checked for an immediate response. */
  asked: number;
  /** How many nodes the step has visited. */
  visits: number;
}

/** Begins a step on this state, which the step changes in place. */
export function beginTransaction(state: State, tools: Tools): Transaction {
  return {
    state,
    tools,
    now: new Date(tools.now).toISOString(),
    changes: {
      stack: state.stack,
      resources: new Map(),
      before: new Map(),
      removed: new Map(),
      events: [],
      effects: [],
      dirty: false,
    },
    input: '',
    begins: `${state.stack.id} ${state.stack.version}`,
    named: new Map(),
    acting: undefined,
    announced: undefined,
    isAsked: false,
    answered: false,
    asked: 0,
    visits: 0,
  };
}

/**
 * Returns a new id that follows from what it names: the name, the input, and the stack as it was before the step. A step
 * that is discarded and tried again derives the same ids, in whatever order it finds its work.
 */
export function newId(transaction: Transaction, what: string): string {
  const { tools, begins, named } = transaction;
  const name = `${begins}\n${transaction.input}\n${what}`;
  const count = (named.get(name) ?? 0) + 1;
  named.set(name, count);
  return tools.newId(`${name}\n${count}`);
}

/** Changes fields of the stack and returns the new document. One step makes one new version. */
export function changeStack(transaction: Transaction, patch: Partial<StackDocument>): StackDocument {
  const { state, changes } = transaction;
  // The first change of a step makes the copy; the rest of the step owns it.
  if (changes.dirty) Object.assign(state.stack, patch);
  else state.stack = { ...state.stack, ...patch, version: state.stack.version + 1 };
  changes.stack = state.stack;
  changes.dirty = true;
  return state.stack;
}

function disturb({ state, changes }: Transaction): void {
  state.settled = null;
  if (changes.dirty) return;
  state.stack = { ...state.stack, version: state.stack.version + 1 };
  changes.stack = state.stack;
  changes.dirty = true;
}

/** Advances the stack's clock: values shown from now on are newer than those read before. */
function tick(transaction: Transaction): number {
  return changeStack(transaction, { clock: transaction.state.stack.clock + 1 }).clock;
}

function keep({ state, changes }: Transaction, id: string): void {
  if (!changes.before.has(id)) changes.before.set(id, state.resources.get(id));
}

/** Adds a document. */
export function insertResource(transaction: Transaction, resource: ResourceDocument): void {
  disturb(transaction);
  keep(transaction, resource.id);
  putResource(transaction.state, resource);
  transaction.changes.resources.set(resource.id, resource);
}

/**
 * Changes fields of a resource and returns the new document. One step makes one new version. @throws Error when the
 * resource does not exist, which is a defect
 */
export function changeResource(
  transaction: Transaction,
  id: string,
  patch: Partial<ResourceDocument>,
): ResourceDocument {
  const { state, changes } = transaction;
  const before = state.resources.get(id);
  if (!before) throw new Error(`no resource ${id}`);
  disturb(transaction);
  keep(transaction, id);
  const shows =
    (patch.attributes !== undefined && !sameJson(patch.attributes, before.attributes)) ||
    (patch.physical_id !== undefined && patch.physical_id !== before.physical_id);
  const after: ResourceDocument = {
    ...before,
    ...patch,
    version: changes.resources.has(id) ? before.version : before.version + 1,
    updated_at: transaction.now,
    shown_at: shows ? tick(transaction) : before.shown_at,
  };
  putResource(state, after);
  changes.resources.set(id, after);
  // Resources that this one no longer uses may be deleted now.
  if (patch.requires) {
    for (const required of before.requires) if (state.doomed.has(required)) state.ready.cleanups.items.push(required);
  }
  return after;
}

/** Removes a resource, and queues the nodes that waited for its end. Repeats are harmless. */
export function removeResource(transaction: Transaction, id: string): void {
  const { state, changes } = transaction;
  const resource = state.resources.get(id);
  if (!resource) return;
  disturb(transaction);
  keep(transaction, id);
  const stored = changes.resources.has(id) ? resource.version - 1 : resource.version;
  changes.resources.delete(id);
  if (stored > 0) changes.removed.set(id, stored);
  dropResource(state, id);
  // A replacement may have waited for its deletion.
  if (state.graph?.waiting.has(resource.name)) state.ready.updates.items.push(resource.name);
  for (const required of resource.requires) if (state.doomed.has(required)) state.ready.cleanups.items.push(required);
}

/** Adds work for the shell. */
export function addEffect(transaction: Transaction, effect: Effect): void {
  transaction.changes.effects.push(effect);
}

/** Sets timers of a group. They belong to no traversal. */
export function setGroupTimers(transaction: Transaction, timers: readonly GroupTimer[]): void {
  for (const { wait, at } of timers)
    addEffect(transaction, { kind: 'timer', timer: { kind: 'group', wait }, at, traversal: '' });
}

/** The part of an event that says who acted, and why: only when it differs from the event before. */
function occasionPart(transaction: Transaction): Pick<EventRecord, 'occasion'> {
  const occasion = transaction.acting ?? transaction.state.stack.occasion;
  if (!occasion || occasion === transaction.announced) return {};
  transaction.announced = occasion;
  return { occasion };
}

/** Adds an event with the current state of the stack. */
export function announceStack(
  transaction: Transaction,
  {
    failure,
    scaling = [],
    sinks,
  }: {
    failure?: Failure | undefined;
    scaling?: readonly ScalingReport[];
    sinks?: readonly StackSink[] | undefined;
  } = {},
): void {
  const stack = changeStack(transaction, { event_sequence: transaction.state.stack.event_sequence + 1 });
  transaction.changes.events.push({
    traversal: stack.traversal,
    resource_name: stack.name,
    resource_type: 'OS::Heat::Stack',
    physical_id: stack.id,
    action: stack.action,
    status: stack.status,
    reason: stack.reason,
    object_version: stack.version,
    ...occasionPart(transaction),
    ...(failure && { failure }),
    ...(scaling.length > 0 && { scaling }),
    ...(sinks && { event_sinks: sinks }),
  });
}

/** Adds an event with the current state of the resource; `more` overrides it. */
export function announceResource(
  transaction: Transaction,
  resource: ResourceDocument,
  more: Partial<Pick<EventRecord, 'action' | 'status' | 'reason' | 'failure' | 'hook' | 'enters'>> = {},
): void {
  changeStack(transaction, { event_sequence: transaction.state.stack.event_sequence + 1 });
  const ended = resource.status !== 'IN_PROGRESS' && resource.started_at !== null && more.action === undefined;
  const { stack } = transaction.state;
  const reported = { action: resource.action, status: resource.status, ...more };
  const member = stack.group === null ? undefined : transaction.tools.memberOf?.(stack, resource, reported);
  transaction.changes.events.push({
    resource_id: resource.id,
    resource_name: resource.name,
    resource_type: shownType(resource),
    // As in Heat: before the object exists, its future name. Clients build the paths of nested resources from it.
    physical_id: resource.physical_id ?? resource.physical_name,
    action: resource.action,
    status: resource.status,
    reason: resource.reason,
    object_version: resource.version,
    ...occasionPart(transaction),
    ...replacementPart(resource),
    ...(ended && { seconds: Math.max(0, transaction.tools.now - Date.parse(resource.started_at)) / 1000 }),
    ...(resource.failure && { failure: resource.failure }),
    ...(member && { member }),
    ...more,
  });
}

/** An incarnation is made as the replacement of another one, or is deleted because another one replaces it. */
function replacementPart({ action, replaces, replaced_by }: ResourceDocument): Pick<EventRecord, 'replacement'> {
  const other = action === 'CREATE' ? replaces : action === 'DELETE' ? replaced_by : null;
  return other === null ? {} : { replacement: other };
}

/** Adds an event about a decision in a group, which begins no traversal. */
export function announceGroup(transaction: Transaction, { stage, status, reason, data }: GroupReport): void {
  const stack = changeStack(transaction, { event_sequence: transaction.state.stack.event_sequence + 1 });
  transaction.changes.events.push({
    traversal: stack.traversal,
    resource_name: stack.name,
    resource_type: 'OS::Heat::Stack',
    physical_id: stack.id,
    action: 'SCALE',
    status,
    reason,
    object_version: stack.version,
    ...occasionPart(transaction),
    group: { stage, data },
  });
}
