/** Checks of a stack document: the deadline and failures of its traversal, and the target of a rollback. */
import { isVisit } from '../../documents.ts';
import { must } from './ledger.ts';
import type { CheckedStep, CheckedWorld } from './checked-world.ts';

const minute = 60_000;
const defaultMinutes = 60;

/** Checks the stack document of a step. @throws Error that names the field */
export function checkStack(world: CheckedWorld, step: CheckedStep): void {
  const { before, state, inputs, outcome } = step;
  const { stack } = state;
  // A decision about a group is no part of an action.
  const events = outcome.changes.events.filter(({ group }) => group === undefined);
  const live = stack.phase === 'converging';
  if (live && stack.traversal !== before.traversal) {
    const minutes = stack.timeout_minutes ?? defaultMinutes;
    const own = new Date(world.clock.now + minutes * minute).toISOString();
    const given = inputs.some((input) => 'parent' in input) ? stack.parent?.deadline : undefined;
    must(stack.deadline === (given ?? own), `the deadline of the new traversal is ${stack.deadline}`);
  }
  must(live || stack.phase === 'draining' || stack.deadline === null, 'C5: no traversal runs, but a deadline is left');
  if (stack.phase === 'idle') {
    const nothing = stack.batch === null && stack.snapshot === null && !stack.observe && state.graph === undefined;
    must(nothing, 'the stack is idle, but a part of its traversal is left');
  }
  const actions = events.flatMap((event) => (event.resource_id === undefined ? [event.action] : []));
  let suspended = before.suspended;
  for (const action of actions) suspended = action === 'SUSPEND' || (action === 'SNAPSHOT' && suspended);
  must(
    stack.suspended === suspended,
    `${stack.action}: the stack is ${suspended ? '' : 'not '}suspended, but its document says the opposite`,
  );
  checkWayBack(step);
  must(
    !stack.observe || stack.action === 'UPDATE' || stack.action === 'RESTORE',
    `${stack.action} observes real objects, which only UPDATE and RESTORE do`,
  );
  must(!stack.abandoned || stack.action === 'DELETE', `${stack.action} abandons the stack, which only DELETE does`);
  const reached = events.some(({ resource_id, status }) => resource_id === undefined && status === 'COMPLETE');
  const kept = JSON.stringify(before.complete) === JSON.stringify(stack.complete);
  must(kept || reached, 'the target of a rollback changed before a target was reached');
  for (const input of inputs) {
    if (input.kind !== 'update' || outcome.refusals.has(input.id) || !stack.recent.includes(input.id)) continue;
    if (inputs.length > 1 || before.recent.includes(input.id)) continue;
    // A policy does not overtake a running action.
    if (input.scaling && !input.parent && before.status !== 'COMPLETE') continue;
    must(stack.updated_at === new Date(world.clock.now).toISOString(), 'an update does not set the time of the update');
    for (const field of ['timeout_minutes', 'on_failure', 'tags', 'group'] as const) {
      const wanted = input[field] === undefined ? before[field] : input[field];
      must(JSON.stringify(stack[field]) === JSON.stringify(wanted), `an update does not reach ${field}`);
    }
  }
  const [input] = inputs;
  if (input?.kind === 'retry' && before.phase === 'paused' && live)
    must(stack.observe === before.observe, 'a retry of a paused stack changes whether real objects are observed');
  checkFailures(world, step);
}

const towardsPlan: readonly string[] = ['CREATE', 'UPDATE', 'ADOPT', 'RESTORE'];

/** Checks what follows a failure, and how the events report it. */
function checkWayBack({ before, state: { stack }, inputs, outcome: { changes } }: CheckedStep): void {
  const own = changes.events.filter(({ resource_id, group }) => resource_id === undefined && group === undefined);
  own.forEach((event, index) => {
    const previous = own[index - 1];
    const begins = event.action === 'ROLLBACK' && event.status === 'IN_PROGRESS';
    if (!begins || previous?.status !== 'FAILED') return;
    must(towardsPlan.includes(previous.action), `a failed ${previous.action} starts a rollback by itself`);
    const explained = stack.inherited > 0 || previous.failure === undefined || stack.action !== 'ROLLBACK';
    must(explained || own.length > index + 2, 'a rollback does not state its cause');
  });
  const reached = own.at(-1)?.status === 'COMPLETE' ? stack.action : undefined;
  if (reached === 'ROLLBACK' || (reached && isVisit(reached))) {
    const kept = JSON.stringify(before.complete) === JSON.stringify(stack.complete);
    must(kept || own.length > 2 || inputs.length > 1, `${reached} changes the target of a rollback`);
  }
  must(stack.action !== 'ROLLBACK' || stack.adopt === null, 'a rollback adopts objects');
  const back = stack.on_failure === 'rollback' && stack.parent === null && towardsPlan.includes(stack.action);
  const drains = stack.phase === 'draining' && stack.status === 'IN_PROGRESS';
  must(!back || !drains, 'the stack must roll back, but waits for requests in flight');
  const first = stack.failures[stack.inherited];
  if (stack.phase !== 'idle' || stack.status !== 'FAILED' || !first || !stack.reason.startsWith('Resource ')) return;
  if (stack.action === 'CHECK') return;
  must(
    stack.reason.includes(`: resources.${first.resource.split('.')[0]}`),
    `the reason of the stack does not name its first failure: ${stack.reason}`,
  );
  const said = own.at(-1)?.failure;
  must(
    own.length === 0 || JSON.stringify(said) === JSON.stringify(first.failure),
    'the event reports a different failure',
  );
}

/** Checks that the stack reports its failures by path, and none that did not happen in this traversal. */
function checkFailures(world: CheckedWorld, { before, state: { stack, resources }, outcome }: CheckedStep): void {
  const names = world.failed.get(stack.id) ?? new Set();
  world.failed.set(stack.id, names);
  let at = before.traversal;
  for (const { resource_id, resource_name, status, action, traversal: newer } of outcome.changes.events) {
    if (resource_id !== undefined && status === 'FAILED') names.add(resource_name);
    // A rollback also reports the failures that caused it.
    if (newer === undefined || newer === at) continue;
    at = newer;
    if (action !== 'ROLLBACK') names.clear();
  }
  const { failures, inherited, traversal, phase } = stack;
  must(inherited <= failures.length, 'more failures are inherited than the stack has');
  const own = failures.slice(inherited).map(({ resource }) => resource.split('.')[0] ?? '');
  for (const name of own) must(names.has(name), `${name} is among the failures, but no event reported that it failed`);
  if (phase !== 'converging' && phase !== 'draining') return;
  for (const { name, status, traversal: last, skipped, action } of resources.values()) {
    const failed = status === 'FAILED' && last === traversal && skipped === null && action !== 'DELETE';
    const unfinished = failed && phase === 'draining' && stack.status === 'IN_PROGRESS';
    must(!unfinished || own.length > 0, `${name} failed, but the stack lists no failure`);
  }
}
