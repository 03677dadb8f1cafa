/** Checks of the state in which a traversal leaves its stack. */
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { goesToNothing, isVisit, representative, type ResourceDocument, type StackDocument } from '../../documents.ts';
import type { State } from '../../state.ts';
import type { CheckedWorld } from './checked-world.ts';
import { servesAll } from '../model.ts';
import { readBy } from '../values.ts';
import { must } from './ledger.ts';
import { checkPassed } from './hooks.ts';
import { checkValues } from './values.ts';

/** Reasons for failure that an operator or a template caused: they are allowed even if no provider misbehaves. */
const meant =
  /restricted|Lifecycle hook|cancelled|Invalid|invalid for|external_id|ID was not provided|bad|broken|gone|suspended|NotCreated/;

/** Whether the stack, or the parent stack whose deadline it shares, waited for an operator at a hook. */
function asksPerson(world: CheckedWorld, { id, traversal, parent }: StackDocument): boolean {
  const waits = [...world.shellOf(id).stored.resources.values()].some(({ hook }) => hook?.kind === 'hook');
  const answered = [...world.passed].some(
    (passed) => passed.endsWith(` ${traversal}`) && / (pre|post)-(create|update|delete) /.test(passed),
  );
  return waits || answered || (parent !== null && asksPerson(world, world.stack(parent.stack_id)));
}

/** Checks the end of a traversal: after success, the stack matches the plan and has nothing else. */
export function checkEnd(world: CheckedWorld, state: State): void {
  const { stack } = state;
  const { reason } = stack;
  const wasLate = reason === 'Timed out' && asksPerson(world, stack);
  const may = stack.status === 'COMPLETE' || !world.calm || meant.test(reason) || wasLate;
  must(may, `the stack failed although no provider misbehaved: ${reason}`);
  if (stack.status !== 'COMPLETE') return;
  must(stack.adopt === null, 'the adoption is complete, but its data is left in the stack');
  const whole = `Stack ${stack.action} completed successfully`;
  must(reason === whole || (stack.action === 'CHECK' && reason.startsWith(whole)), reason);
  if (isVisit(stack.action)) {
    for (const { id, type, action, name, skipped } of state.resources.values()) {
      const found = world.books.physical.get(id);
      if (!found || !servesAll(type) || skipped !== null || (action !== 'SUSPEND' && action !== 'RESUME')) continue;
      must(
        found.suspended === (action === 'SUSPEND'),
        `${name} is not in the state in which ${stack.action} leaves a resource`,
      );
    }
    checkVisited(state);
    return;
  }
  const wanted = goesToNothing(stack) ? {} : state.plan.resources;
  checkPassed(state, world.passed);
  if (!goesToNothing(stack))
    must(stack.complete?.plan === stack.target.plan, 'the target of a rollback is not the target that was reached');
  must(
    stack.action !== 'DELETE' || (stack.complete === null && stack.live_name === stack.id),
    'the stack is deleted, but still owns its name',
  );
  const temporary = new Set(state.plan.rolling?.temporary ?? []);
  const names = Object.keys(wanted).filter((name) => !temporary.has(name));
  must(state.resources.size === names.length, `C7: ${stack.action} of ${stack.id} left an original`);
  for (const resource of state.resources.values()) {
    const planned = wanted[resource.name];
    must(planned !== undefined, `${resource.name} is no longer in the plan, but still exists`);
    checkKept(resource, planned);
    must(resource.skipped === null || resource.skipped === stack.target.plan, `${resource.id} is still skipped`);
    if (resource.skipped !== null || resource.external) continue;
    for (const name of ['value', 'kind'] as const) {
      const expression = planned.properties[name];
      const value = expression?.kind === 'literal' ? expression.value : undefined;
      must(
        resource.properties[name] === value,
        `${resource.name} differs from the plan after ${stack.action} of ${stack.id}`,
      );
    }
    must(resource.status === 'COMPLETE', `${resource.name} is not complete`);
    const due = planned.renewed === true && resource.revision !== stack.target.revision;
    must(!due, `${resource.name} was not renewed by ${stack.action} of ${stack.id}`);
    const peers = readBy(planned.properties['from']).map((name) =>
      [...state.resources.values()].find((peer) => peer.name === name),
    );
    const shown = JSON.stringify(peers.map((peer) => peer?.attributes['output'] ?? null));
    const read = JSON.stringify(resource.properties['from']);
    // An unsolicited change after the read is followed by the next update only.
    const late = peers.some((peer) => peer && world.unasked.changedIn(stack.traversal, peer.id));
    must(late || read === shown, `${resource.name} has ${read}, but the attribute that it reads is ${shown}`);
    const used = resource.requires.map((id) => state.resources.get(id)?.name ?? id);
    must(
      JSON.stringify(used.toSorted()) === JSON.stringify([...planned.requires].sort()),
      `${resource.name} uses ${used.join()}, but the plan requires ${planned.requires.join()}`,
    );
  }
  checkValues(world, state);
  if (goesToNothing(stack)) must(world.books.countOf(stack.id) === 0, `C6: objects of ${stack.id} are left`);
}

/** Checks the fields of a document that come from the plan, besides the properties. */
function checkKept(resource: ResourceDocument, planned: PlanResource): void {
  const { id } = resource;
  must(
    resource.type === planned.type || resource.skipped !== null,
    `${id} has the type ${resource.type}, but the plan says ${planned.type}`,
  );
  const settled = resource.skipped === null && !resource.external;
  must(
    !settled || resource.digest === (planned.digest ?? null),
    `${id} does not name the plan entry that it was made from`,
  );
  must(
    resource.replaced_by === null &&
      !resource.must_replace &&
      (resource.attempted === null || resource.nested !== null),
    `${id} is complete, but a mark of an earlier action is left`,
  );
  must(
    resource.deletion_policy === (planned.deletion_policy ?? 'Delete'),
    `${id} has another policy than the plan says`,
  );
  must(resource.description === (planned.description ?? ''), `${id} has another description than the plan says`);
  const metadata = planned.metadata?.kind === 'literal' ? planned.metadata.value : undefined;
  const same =
    resource.physical_id?.startsWith('old ') ||
    metadata === undefined ||
    JSON.stringify(resource.metadata) === JSON.stringify(metadata);
  must(same || resource.skipped !== null || resource.external, `${id} has other metadata than the plan says`);
  const hooks = JSON.stringify([planned.hooks ?? [], planned.lifecycle_hooks ?? []]);
  must(
    JSON.stringify([resource.hooks, resource.lifecycle_hooks]) === hooks,
    `${id} has other hooks than the plan says`,
  );
  const made = resource.source === (planned.nested?.digest ?? null) || resource.skipped !== null || resource.external;
  must(made, `${id} was made from a different nested template`);
}

/** Checks that a successful visit reached every existing resource. */
function checkVisited({ stack, byName, resources }: State): void {
  for (const ids of byName.values()) {
    const shown = representative([...ids].flatMap((id) => resources.get(id) ?? []));
    if (!shown || shown.action === 'INIT' || shown.action === 'DELETE') continue;
    const { id, action, status } = shown;
    const said = `${id} is ${action}_${status} after ${stack.action}`;
    if (stack.action === 'RESUME') must(action !== 'SUSPEND' && (action !== 'RESUME' || status === 'COMPLETE'), said);
    else
      must(
        (action === stack.action || (stack.action === 'SNAPSHOT' && action === 'SUSPEND')) && status === 'COMPLETE',
        said,
      );
  }
}
