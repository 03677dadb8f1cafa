/** Checks after every step, for any input: the invariants C1 to C10 of `step.ts`. */
import type { Effect } from '../../protocol.ts';
import { goesToNothing, isNested, isVisit, type ResourceDocument, type StackDocument } from '../../documents.ts';
import type { State } from '../../state.ts';
import { checkAnswer } from './answers.ts';
import { must } from './ledger.ts';
import { checkDeletion, checkServed } from './deletions.ts';
import { checkEnd } from './ending.ts';
import { checkExpected } from './expected.ts';
import { checkHooks, checkWaits, notePassed } from './hooks.ts';
import { checkRecord } from './record.ts';
import { checkScaling } from './scaling.ts';
import { checkStack } from './stack-record.ts';
import type { CheckedStep, CheckedWorld } from './checked-world.ts';

/** Checks the outcome of a step before the shell records it. @throws Error that names the invariant */
export function checkStep(world: CheckedWorld, step: CheckedStep): void {
  const { outcome, state } = step;
  const { changes } = outcome;
  checkExpected(step);
  checkAnswer(world, step);
  for (const error of outcome.refusals.values())
    must(error.kind === 'final', `an input is refused with ${error.code}, which is no final error`);
  if (!changes.dirty) {
    const { resources, removed, events, effects } = changes;
    must(resources.size + removed.size + events.length + effects.length === 0, 'changes are not in a record');
    return;
  }
  const taken =
    step.inputs.length === 0 || step.inputs.some(({ id, ...input }) => !outcome.refusals.has(id) || 'parent' in input);
  // A refused signal leaves an event, and nothing else.
  const isEvent = changes.resources.size + changes.removed.size + changes.effects.length === 0;
  const isSignal = step.inputs.some(({ kind }) => kind === 'signal');
  must(taken || (isSignal && isEvent), 'a refused input is in a record');
  const stored = world.shellOf(state.stack.id).stored;
  checkRecord({ state, outcome, stored });
  checkWaits(step, stored);
  notePassed(world.passed, step.before.traversal, changes.events);
  checkStack(world, step);
  checkScaling(step);
  for (const id of changes.removed.keys()) letGo(world, step, stored.resources.get(id));
  const adopted = JSON.stringify(step.before.adopt ?? {});
  for (const resource of changes.resources.values()) {
    const { physical_id: physical, external, nested } = resource;
    if (adopted.includes(`"${physical}"`) && !external && nested === null) world.books.takeOver(resource);
  }
  world.books.allKnown(state.stack.id, state.resources);
  for (const effect of changes.effects) if (effect.kind === 'request') checkRequest(world, step, effect);
  keepBooks(world, step);
  for (const resource of changes.resources.values()) if (!isNested(resource)) world.books.agrees(resource);
  checkPhase(world, state, outcome.isPartial);
  if (state.stack.phase === 'idle' && step.before.phase !== 'idle') checkEnd(world, state);
}

/** Checks a resource that is removed without a deletion: the plan, the stack or an operator must have asked for it. */
function letGo(
  world: CheckedWorld,
  { before, state: { stack }, inputs }: CheckedStep,
  resource: ResourceDocument | undefined,
): void {
  if (!resource || isNested(resource)) return;
  const skipped =
    resource.skipped !== null || inputs.some((input) => input.kind === 'resource' && input.action.kind === 'skip');
  // An update may set Retain, be refused and rolled back in this same step: then no stored document has the policy.
  const plans = [world.planAt(before.target.plan), ...inputs.flatMap((input) => ('plan' in input ? [input.plan] : []))];
  const retained = [resource, ...plans.map((plan) => plan.resources[resource.name])].some(
    (said) => said?.deletion_policy === 'Retain',
  );
  const meant = retained || resource.external || stack.abandoned || skipped;
  must(
    meant || !world.books.physical.has(resource.id),
    `C6: ${resource.id} is removed from the documents, but its object still exists`,
  );
  if (meant) world.books.released.add(resource.id);
}

function checkRequest(
  world: CheckedWorld,
  { before, state, inputs, outcome }: CheckedStep,
  effect: Extract<Effect, { kind: 'request' }>,
): void {
  const resource = outcome.changes.resources.get(effect.resource) ?? state.resources.get(effect.resource);
  const request = resource?.request;
  // A request that the same step took back is never sent.
  if (!resource || !request || request.fence !== effect.fence) return;
  const last = world.shellOf(state.stack.id).stored.resources.get(resource.id)?.request;
  const again = last?.fence === request.fence && last.not_before !== null;
  if (before.phase === 'draining' && before.traversal === state.stack.traversal) {
    must(again, 'a request was sent after a failure');
  }
  if (last && !again) {
    const ended = inputs.some(
      (input) =>
        (input.kind === 'response' &&
          input.response.resource_id === resource.id &&
          input.response.fence === last.fence) ||
        (input.kind === 'timer' && ['grace', 'deadline', 'retry'].includes(input.timer.kind)),
    );
    const yields = isNested(resource) || resource.type === 'Latest';
    const overtaken = yields && last.traversal !== state.stack.traversal;
    must(ended || overtaken, `C4: ${resource.id} is sent a second request while one is pending`);
  }
  // A request from before a rollback in the same step counts as in flight.
  if (request.traversal !== state.stack.traversal) return;
  checkHooks(state, world.passed, resource, world.shellOf(state.stack.id).stored.resources.get(resource.id));
  const found = world.shellOf(state.stack.id).stored.resources.get(resource.id);
  const skips = inputs.some(
    (one) => one.kind === 'resource' && one.action.kind === 'skip' && one.resource === resource.name,
  );
  // The last skip retries the visit in the same step: the skipped resource counts as complete.
  checkAsked(state, resource, found && skips ? { ...found, status: 'COMPLETE' } : found);
  checkServed(resource);
  checkDeletion(world, state, resource);
  // An abandoned stack sends its nested stacks the deletion, so that they are abandoned, too.
  if (state.stack.abandoned && isNested(resource)) return;
  world.books.mayBeSent(resource, {
    // A retry was begun when all requirements were complete, and continues like any request in flight.
    complete: (id) => {
      const used = state.resources.get(id);
      return (
        again ||
        (used?.status === 'COMPLETE' &&
          used.hook === null &&
          (world.books.physical.has(id) || isNested(used) || used.external || used.skipped !== null))
      );
    },
    // An operator skipped the user, though its requirement is deleted.
    stays: (id) => {
      const user = state.resources.get(id);
      return user?.skipped === state.stack.target.plan && state.plan.resources[user.name] !== undefined;
    },
    deleteFirst: state.plan.resources[resource.name]?.replacement === 'delete_first',
  });
}

/** Checks a visit by the table of `visit.ts`: which requests are allowed in which state. */
function mayBeVisited({ id, action, status, failure }: ResourceDocument, asked: string): void {
  const said = `${id} is ${action}_${status}, and asked to ${asked}`;
  const failed = status === 'FAILED';
  const halted = action === 'SUSPEND' || action === 'RESUME';
  if (asked === 'check')
    must(!failed || (action !== 'CREATE' && action !== 'ADOPT' && failure?.code !== 'NotCreated'), said);
  if (asked === 'suspend') must(failed ? halted : action !== 'SUSPEND', said);
  if (asked === 'resume') must(halted && (failed || action === 'SUSPEND'), said);
  if (asked === 'snapshot') must(!failed || action === 'SNAPSHOT', said);
}

/** Checks that a request follows from the action and the plan, with the deadline of the stack. */
function checkAsked({ stack, plan }: State, resource: ResourceDocument, before: ResourceDocument | undefined): void {
  const { id, name, type, replaces, request } = resource;
  if (!request) return;
  must(request.deadline === stack.deadline, `${id} has another deadline than its stack`);
  const { action } = request;
  const planned = goesToNothing(stack) ? undefined : plan.resources[name];
  if (isVisit(stack.action)) {
    must(action === stack.action.toLowerCase(), `${stack.action} sends the request ${action}`);
    if (before && !before.request) mayBeVisited(before, action);
  } else if (action === 'create' || action === 'update') {
    must(planned?.type === type, `${id} is sent ${action}, but the plan has the type ${planned?.type}`);
    must(request.digest === planned.digest, `${id} is sent a request from a different plan entry`);
    // An update overtakes the creation of a replacement: that began when it was not restricted.
    const again = before?.request?.action === 'create' && before.request.traversal !== request.traversal;
    const restricted = again ? 'update' : action === 'create' && replaces !== null ? 'replace' : action;
    must(!planned.restricted_actions?.includes(restricted), `${id} is sent ${restricted}, which is restricted`);
  } else if (action === 'check') {
    const looks = planned?.external_id !== undefined || stack.observe || stack.action === 'ADOPT';
    must(looks, `${stack.action} checks ${id}, but must not`);
  } else must(action === 'delete' || action === 'snapshot', `${stack.action} sends the request ${action}`);
}

/** Checks a nested stack when it answers its parent stack. */
function keepBooks(world: CheckedWorld, { state, outcome }: CheckedStep): void {
  if (!outcome.changes.effects.some(({ kind }) => kind === 'answer')) return;
  const { stack } = state;
  must(stack.parent !== null, 'a stack without a parent answers a request');
  must(stack.deleted_at === null || state.resources.size === 0, `C6: ${stack.id} is deleted with resources`);
  if (stack.deleted_at !== null) must(world.books.countOf(stack.id) === 0, `C6: objects of ${stack.id} are left`);
}

function checkPhase(world: CheckedWorld, state: State, isPartial: boolean): void {
  const { phase, status, batch, action } = state.stack;
  must(!state.stack.reason.startsWith('Defect'), state.stack.reason);
  const live = phase !== 'idle';
  must(live || state.inFlight.size === 0, 'C4: the stack is idle while a request is in flight');
  must(
    live ? status === 'IN_PROGRESS' || phase === 'draining' : status !== 'IN_PROGRESS',
    'C3: the status does not show whether a traversal runs',
  );
  for (const id of state.held) {
    const hook = state.resources.get(id)?.hook;
    const ours = phase === 'converging' && hook?.traversal === state.stack.traversal;
    must(ours || hook?.name === 'launching', `${id} waits at ${hook?.name} for a traversal that ended`);
  }
  const nested = state.stack.parent !== null;
  must(!nested || (phase !== 'paused' && action !== 'ROLLBACK'), 'a nested stack pauses or rolls back by itself');
  if (phase === 'draining') must(state.inFlight.size > 0, 'C5: the stack drains although no request is in flight');
  if (phase === 'paused') must(state.inFlight.size === 0, 'C5: the stack is paused while a request is in flight');
  if (phase === 'converging') {
    const waits = state.inFlight.size > 0 || state.held.size > 0 || (batch?.until ?? null) !== null;
    must(waits || isPartial, 'C5: a traversal runs although no request is in flight');
  }
  const visits = [...state.inFlight].filter(
    (id) => state.resources.get(id)?.request?.traversal === state.stack.traversal,
  );
  must(visits.length <= world.limit, `C10: ${visits.length} requests are in flight; the limit is ${world.limit}`);
  checkBatch(state, action);
}

function checkBatch(state: State, action: StackDocument['action']): void {
  const { rolling } = state.plan;
  if (!rolling || goesToNothing(state.stack) || isVisit(action) || state.stack.batch?.retiring) return;
  const changing = new Set<string>();
  const out = new Set<string>();
  for (const id of state.inFlight) {
    const resource = state.resources.get(id);
    if (!resource?.request || resource.request.traversal !== state.stack.traversal) continue;
    const changes = resource.request.action === 'create' || resource.request.action === 'update';
    if (changes && rolling.members.includes(resource.name)) changing.add(resource.name);
    if (resource.request.action === 'update' && changing.has(resource.name)) out.add(resource.name);
  }
  const all = new Set([...rolling.members, ...(rolling.temporary ?? [])]).size;
  const spare = Math.max(1, all - rolling.min_in_service);
  must(out.size <= spare, `C10: ${[...out].join()} are out of service at once, of ${all}`);
  for (const name of changing.size > 0 ? (rolling.temporary ?? []) : []) {
    const there = [...state.resources.values()].some((one) => one.name === name && one.status === 'COMPLETE');
    must(there || rolling.members.includes(name), `C10: members change before ${name}, their substitute, is complete`);
  }
  must(
    changing.size <= rolling.batch_size,
    `C10: ${[...changing].join()} change at once, in batches of ${rolling.batch_size}`,
  );
}
