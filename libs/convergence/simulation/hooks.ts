/** Where the plan says that someone outside is asked, nothing goes on before they said so. */
import type { EventRecord } from '../protocol.ts';
import type { ResourceDocument } from '../documents.ts';
import type { State } from '../state.ts';
import { must } from './books.ts';

/** What was passed, as the events tell it: for good, and in its traversal. */
export function notePassed(passed: Set<string>, before: string, events: readonly EventRecord[]): void {
  let traversal = before;
  for (const { hook, reason, resource_id: id, traversal: newer } of events) {
    traversal = newer ?? traversal;
    if (hook?.state !== 'cleared' || reason === 'Failure occurred while waiting.') continue;
    passed.add(`${id} ${hook.name}`);
    passed.add(`${id} ${hook.name} ${traversal}`);
  }
}

/** A request is about to be sent; `before` is what was stored of its resource. */
export function checkHooks(
  { stack, plan }: State,
  passed: ReadonlySet<string>,
  resource: ResourceDocument,
  before: ResourceDocument | undefined,
): void {
  const { id, name, request } = resource;
  // What overtakes a request of the same incarnation waits no more, also when that one was written in this very step.
  if (!request || before?.request || request.fence > (before?.fence ?? 0) + 1) return;
  const planned = plan.resources[name];
  const asked = (hook: string): void =>
    must(passed.has(`${id} ${hook} ${stack.traversal}`), `${id} passed ${hook} unasked`);
  const waits = (
    hook: string,
    lifecycle: ResourceDocument['lifecycle_hooks'] = planned?.lifecycle_hooks ?? [],
  ): boolean => lifecycle.some(({ transition }) => transition === hook);
  const { action } = request;
  if (
    action === 'create' &&
    stack.action === 'CREATE' &&
    resource.replaces === null &&
    planned?.hooks?.includes('pre-create')
  ) {
    asked('pre-create');
  }
  if (action === 'update') {
    const fresh = before?.traversal === stack.traversal;
    if (planned?.hooks?.includes('pre-update') && !fresh) asked('pre-update');
    if (waits('updating')) asked('updating');
  }
  if (action !== 'delete' || stack.abandoned) return;
  if (stack.action === 'DELETE' && resource.hooks.includes('pre-delete')) asked('pre-delete');
  if (waits('terminating', resource.lifecycle_hooks)) asked('terminating');
}

/** A traversal towards a plan ended well. */
export function checkPassed({ stack, plan, resources }: State, passed: ReadonlySet<string>): void {
  for (const { id, name, action, traversal, external } of resources.values()) {
    if (traversal !== stack.traversal || external) continue;
    const planned = plan.resources[name];
    const hooks = planned?.hooks ?? [];
    const is = (hook: string): boolean => passed.has(`${id} ${hook}`);
    if (action === 'CREATE' && stack.action === 'CREATE' && hooks.includes('post-create'))
      must(is('post-create'), `${id} passed post-create unasked`);
    if (action === 'UPDATE' && hooks.includes('post-update'))
      must(is('post-update'), `${id} passed post-update unasked`);
    const launches = planned?.lifecycle_hooks?.some(({ transition }) => transition === 'launching') ?? false;
    if (action === 'CREATE' && launches) must(is('launching'), `${id} passed launching unasked`);
  }
}
