/**
 * Checks that the record of a step is consistent: documents with their versions, events with the documents, effects
 * with the requests, and the indexes with a freshly loaded state.
 */
import type { StackTimer } from '@anneal/contracts/stack-timer.ts';
import type { EventRecord, Outcome } from '../../protocol.ts';
import type { ResourceDocument, StackDocument } from '../../documents.ts';
import type { State } from '../../state.ts';
import { must } from './ledger.ts';
import type { Core, Shell } from '../shell.ts';

interface Written {
  readonly state: State;
  readonly outcome: Outcome;
  readonly stored: Shell['stored'];
}

/** Checks the record of a step against the stored documents. @throws Error that names the document */
export function checkRecord({ state, outcome, stored }: Written): void {
  const { changes } = outcome;
  must(changes.stack.version === stored.stack.version + 1, 'the version of the stack does not follow the stored one');
  for (const resource of changes.resources.values()) {
    const before = stored.resources.get(resource.id);
    must(
      resource.version === (before?.version ?? 0) + 1,
      `the version of ${resource.id} does not follow the stored one`,
    );
    checkDocument(resource, before);
    checkSent(resource, before, outcome);
    if (before?.action !== resource.action || before.status !== resource.status) countEvent(resource, outcome);
  }
  for (const [id, version] of changes.removed) {
    const before = stored.resources.get(id);
    must(before?.version === version, `${id} was removed over a version that was not read`);
    const said = before.action === 'DELETE' && before.status === 'COMPLETE';
    must(said || toldOf(id, outcome, 'DELETE', 'COMPLETE'), `${id} is removed, but no event reports it`);
  }
  checkStackEvents(state.stack, stored.stack, changes.events);
}

function checkDocument(resource: ResourceDocument, before: ResourceDocument | undefined): void {
  const { id, status, request, failure, action, fence } = resource;
  must((request !== null) === (status === 'IN_PROGRESS'), `${id} is ${status}, which contradicts its request`);
  must(request === null || request.fence === fence, `${id} waits for a fence that is not its last`);
  must(fence >= (before?.fence ?? 0), `the fence of ${id} decreases`);
  must(
    status === 'FAILED' ? failure !== null : failure === null || resource.skipped !== null,
    `${id} is ${action}_${status}, which contradicts its failure`,
  );
  const ended = resource.finished_at !== null;
  must(
    action === 'INIT' || ended === (status !== 'IN_PROGRESS'),
    `${id} is ${action}_${status}, which contradicts its times`,
  );
}

/** Checks that a recorded request is sent, now or by its timer. */
function checkSent(resource: ResourceDocument, before: ResourceDocument | undefined, { changes }: Outcome): void {
  const { id, request } = resource;
  if (!request || (before?.request?.fence === request.fence && before.request.not_before === request.not_before))
    return;
  const isRetry = (timer: StackTimer): boolean =>
    timer.kind === 'retry' && timer.resource === id && timer.fence === request.fence;
  const sent = changes.effects.some((effect) =>
    request.not_before === null
      ? effect.kind === 'request' && effect.resource === id && effect.fence === request.fence
      : effect.kind === 'timer' && isRetry(effect.timer) && effect.at === request.not_before,
  );
  must(sent, `${id} waits for the response to ${request.action}, which is not sent`);
}

const toldOf = (id: string, { changes }: Outcome, action: string, status: string): boolean =>
  changes.events.some((event) => event.resource_id === id && event.action === action && event.status === status);

function countEvent({ id, action, status }: ResourceDocument, outcome: Outcome): void {
  must(
    action === 'INIT' || toldOf(id, outcome, action, status),
    `${id} is ${action}_${status}, but no event reports it`,
  );
}

function checkStackEvents(stack: StackDocument, before: StackDocument, events: readonly EventRecord[]): void {
  must(
    stack.event_sequence === before.event_sequence + events.length,
    'the number of the last event does not match the events',
  );
  const last = events.findLast(({ resource_id, group }) => resource_id === undefined && group === undefined);
  const changed = (['action', 'status', 'reason'] as const).some((field) => stack[field] !== before[field]);
  const same = last?.action === stack.action && last.status === stack.status && last.reason === stack.reason;
  must(!changed || same, `the stack is ${stack.action}_${stack.status}, but no event reports it`);
}

/** Checks the indexes against a state loaded from the documents, as another process would load it. */
export function checkIndexes(state: State, { loadState }: Core): void {
  const { stack, plan, complete } = state;
  const rebuilt = loadState({ stack, resources: state.resources.values(), plan, complete });
  for (const index of ['inFlight', 'held'] as const) {
    must(text(state[index]) === text(rebuilt[index]), `${index} differs from the index that the documents give`);
  }
  for (const index of ['byName', 'requiredBy'] as const) {
    const flat = (from: State): string => text(Array.from(from[index], ([key, ids]) => `${key}: ${text(ids)}`));
    must(flat(state) === flat(rebuilt), `${index} differs from the index that the documents give`);
  }
  for (const id of state.doomed) must(state.resources.has(id), `${id} is removed, but is still marked for deletion`);
}

const text = (values: Iterable<string>): string => [...values].sort().join();
