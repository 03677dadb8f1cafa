/** Checks a response: the resource shows exactly what its provider answered. */
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { isNested, type PendingRequest, type ResourceDocument } from '../../documents.ts';
import { must } from './ledger.ts';
import type { CheckedStep, CheckedWorld } from './checked-world.ts';
import type { Shell } from '../shell.ts';

const text = (value: unknown): string => JSON.stringify(value);

interface Answered {
  readonly response: ResourceResponse;
  readonly before: ResourceDocument;
  readonly request: PendingRequest;
}

/** Checks a step that took one response. @throws Error that names the resource and the difference */
export function checkAnswer(world: CheckedWorld, step: CheckedStep): void {
  const [input] = step.inputs;
  if (input?.kind !== 'response' || step.inputs.length > 1) return;
  const { response } = input;
  const before = world.shellOf(step.state.stack.id).stored.resources.get(response.resource_id);
  if (!before) return;
  if (response.action === 'signal') {
    const said = step.outcome.changes.events.some(
      ({ resource_id, action }) => resource_id === before.id && action === 'SIGNAL',
    );
    must(said || response.status === 'in progress', `${before.id} was signalled, but no event reports it`);
    return;
  }
  const { request } = before;
  if (request?.fence !== response.fence || request.action !== response.action) return;
  const answered = { response, before, request };
  if (response.status === 'in progress') checkProgress(step, answered);
  else if (response.status === 'complete') checkComplete(step, answered);
  else checkFailed(step, answered);
}

function checkProgress({ state, outcome }: CheckedStep, { response, before }: Answered): void {
  const after = state.resources.get(before.id);
  must(after?.request?.fence === before.request?.fence, `${before.id} is in progress, but its document has no request`);
  must(after?.reason === (response.message ?? before.reason), `${before.id} does not show the message of its provider`);
  const { physical_id = before.physical_id } = response;
  must(
    after?.physical_id === physical_id,
    `${before.id} does not show the id that its provider reported while in progress`,
  );
  const news = response.message !== undefined && response.message !== before.reason;
  must(
    news || !outcome.changes.resources.has(before.id) || response.physical_id !== undefined,
    'a response that reports nothing new is written',
  );
}

/** Checks the parts of the response that nothing later in the same step may change. */
function checkComplete(step: CheckedStep, { response, before, request }: Answered): void {
  const { stack, resources } = step.state;
  const after = resources.get(before.id);
  const { id } = before;
  must(firstEvent(step, id) === 'COMPLETE', `${id} was completed by its provider, but no event reports it`);
  if (!after) return;
  for (const field of ['physical_id', 'attributes', 'snapshot'] as const)
    must(
      response[field] === undefined || text(after[field]) === text(response[field]),
      `${field} of ${id} differs from the response`,
    );
  const applied = request.action === 'create' || request.action === 'update' || before.action === 'ADOPT';
  // From the stack before the response, because this response may have ended the traversal.
  const looked = request.action === 'check' && step.before.observe;
  if (!applied) {
    const left = before.attempted !== null && after.attempted === null;
    must(!left, `${request.action} of ${id} loses the properties that a failed update attempted`);
    must(looked || text(after.properties) === text(before.properties), `${request.action} changes properties of ${id}`);
    return;
  }
  must(text(after.properties) === text(request.properties), `${id} does not show the properties that were applied`);
  must(after.attempted === null && !after.must_replace, `${id} is complete, but a mark of its earlier failure is left`);
  must(after.drift.length === 0, `${id} was applied again, but still shows a drift`);
  if (after.request || request.traversal !== stack.traversal) return;
  for (const field of ['requires', 'digest', 'source'] as const)
    must(text(after[field]) === text(request[field]), `${field} of ${id} differs from the request that was applied`);
  // A requirement that it does not read may have changed meanwhile: then the resource was compared again, and matched.
  must(after.seen_at >= request.seen_at, `${id} shows an earlier evaluation than that of its request`);
}

function checkFailed(step: CheckedStep, { response, before, request }: Answered): void {
  const { stack, resources } = step.state;
  const { id } = before;
  const after = resources.get(id);
  // A retry follows.
  if (after?.request?.not_before) return;
  const physical = response.physical_id;
  if (after && physical !== undefined && before.physical_id === null)
    must(after.physical_id === physical, `${id} failed, but its document lacks the id of the object that may be left`);
  const replaced = response.replace === true && request.action === 'update';
  if (replaced) {
    must(
      !after || after.must_replace || after.status !== 'FAILED',
      `${id} needs a replacement, but its document does not say so`,
    );
    return;
  }
  const looked = request.action === 'check' && step.before.observe && request.traversal === step.before.traversal;
  if (looked && before.action !== 'ADOPT') {
    const gone = response.error?.code === 'NotFound' || (response.drift?.length ?? 0) > 0;
    must(
      firstEvent(step, id) === (gone ? 'FAILED' : 'COMPLETE'),
      `the result of a check of ${id} before an update is reported as the opposite`,
    );
    return;
  }
  const said = step.outcome.changes.events.some((event) => event.resource_id === id && event.status === 'FAILED');
  must(said, `${id} failed, but no event reports it`);
  // A missing object has nothing to save: its deletion continues.
  const saves = request.action === 'snapshot' && step.before.action !== 'SNAPSHOT';
  if (saves && response.error?.code === 'NotFound') return;
  const wanted = request.traversal === step.before.traversal && step.before.phase !== 'idle';
  const named = stack.failures.some(({ resource }) => resource.split('.')[0] === before.name);
  const follows =
    request.recalled === true ||
    request.after?.some((other) => step.state.resources.get(other.id)?.status === 'FAILED') === true;
  must(
    !wanted || step.before.status === 'FAILED' || named || (follows && stack.failures.length > 0),
    `${id} failed, but its stack does not list it`,
  );
  if (request.action === 'update' && after && !isNested(after))
    must(after.attempted !== null, `${id} failed an update, but its attempted properties are not recorded`);
}

const firstEvent = ({ outcome }: CheckedStep, id: string): string | undefined =>
  outcome.changes.events.find((event) => event.resource_id === id && event.hook === undefined)?.status;

/** The resources that show what no request gave them: a signal came, or their nested stack acted by itself. */
export class Unasked {
  /** The traversal in which the last such change came, by the id of the resource. */
  readonly #changed = new Map<string, string>();
  readonly #still = new Set<string>();

  /** Notes a response to a stack with these documents. */
  note(response: ResourceResponse, { resources }: Shell['stored'], traversal: string): void {
    const { resource_id: id, action, status, fence } = response;
    const resource = resources.get(id);
    // The engine takes no notice of a late repeat.
    const isAwaited = resource?.request?.fence === fence;
    if (action === 'signal' || (resource && isNested(resource) && resource.request === null)) {
      this.#changed.set(id, traversal);
      this.#still.add(id);
    } else if (isAwaited && status === 'complete' && (action === 'create' || action === 'update'))
      this.#still.delete(id);
  }

  /** Whether the resource changed so in the traversal. */
  changedIn(traversal: string, id: string): boolean {
    return this.#changed.get(id) === traversal;
  }

  /** Whether no request was complete since the last such change. */
  has(id: string): boolean {
    return this.#still.has(id);
  }
}
