/** Checks of hooks: no resource continues at a hook before a client or the default completes it. */
import type { EventRecord } from '../../protocol.ts';
import { isWarm, type ResourceDocument } from '../../documents.ts';
import type { State } from '../../state.ts';
import { must } from './ledger.ts';
import type { Shell } from '../shell.ts';
import type { CheckedStep } from './checked-world.ts';

/** Collects the hooks that the events report as passed, by incarnation, and also by traversal. */
export function notePassed(passed: Set<string>, before: string, events: readonly EventRecord[]): void {
  let traversal = before;
  for (const { hook, reason, resource_id: id, traversal: newer } of events) {
    traversal = newer ?? traversal;
    if (hook?.state !== 'cleared' || reason === 'Failure occurred while waiting.') continue;
    passed.add(`${id} ${hook.name}`);
    passed.add(`${id} ${hook.name} ${traversal}`);
  }
}

/** Checks a request before it is sent; `before` is the stored document of its resource. */
export function checkHooks(
  { stack, plan }: State,
  passed: ReadonlySet<string>,
  resource: ResourceDocument,
  before: ResourceDocument | undefined,
): void {
  const { id, name, request } = resource;
  // A request that overtakes another of the same incarnation does not wait again, even if both begin in this step.
  if (!request || before?.request || request.fence > (before?.fence ?? 0) + 1) return;
  const planned = plan.resources[name];
  const asked = (hook: string): void =>
    must(
      passed.has(`${id} ${hook} ${stack.traversal}`),
      `${id} passed ${hook} before a client or the default completed it`,
    );
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
  if (waits('terminating', resource.lifecycle_hooks) && !isWarm(resource)) asked('terminating');
}

/** Checks the hooks after a traversal towards a plan succeeded. */
export function checkPassed({ stack, plan, resources }: State, passed: ReadonlySet<string>): void {
  for (const { id, name, action, traversal, external, entered_at: entered } of resources.values()) {
    if (traversal !== stack.traversal || external) continue;
    const planned = plan.resources[name];
    const hooks = planned?.hooks ?? [];
    const is = (hook: string): boolean => passed.has(`${id} ${hook}`);
    if (action === 'CREATE' && stack.action === 'CREATE' && hooks.includes('post-create'))
      must(is('post-create'), `${id} passed post-create before a client cleared it`);
    if (action === 'UPDATE' && hooks.includes('post-update'))
      must(is('post-update'), `${id} passed post-update before a client cleared it`);
    const launches = planned?.lifecycle_hooks?.some(({ transition }) => transition === 'launching') ?? false;
    if (action === 'CREATE' && launches && entered !== null)
      must(is('launching'), `${id} passed launching before a client or the default completed it`);
  }
}

/** Checks that an event reports each begin and end of a wait, and that waits only happen in the right actions. */
export function checkWaits(
  { before: { phase }, state, outcome: { changes } }: CheckedStep,
  stored: Shell['stored'],
): void {
  const { stack } = state;
  const said = (id: string, token: string, what: string): boolean =>
    changes.events.some(({ resource_id, hook }) => resource_id === id && hook?.token === token && hook.state === what);
  for (const { id, hook, request } of changes.resources.values()) {
    const before = stored.resources.get(id)?.hook ?? null;
    if (before && before.token !== hook?.token)
      must(said(id, before.token, 'cleared'), `${id} no longer waits, but no event reports it`);
    must(hook === null || request?.action !== 'delete', `${id} waits at ${hook?.name}, but is deleted`);
    if (!hook || before?.token === hook.token) continue;
    must(said(id, hook.token, 'waiting'), `${id} waits at ${hook.name}, but no event reports it`);
    const verb = /^(?:pre|post)-(create|delete)$/.exec(hook.name)?.[1]?.toUpperCase();
    must(
      verb === undefined || verb === stack.action,
      `${id} waits at ${hook.name}, which is no hook of ${stack.action}`,
    );
    must(hook.last === null || (hook.deadline ?? '') <= hook.last, `${id} waits at a hook beyond its latest deadline`);
  }
  for (const { resource_id: id = '', hook, reason } of changes.events) {
    if (hook?.name !== 'launching' || hook.state !== 'cleared' || reason !== 'Failure occurred while waiting.')
      continue;
    const goes = state.doomed.has(id) || !state.resources.has(id) || state.resources.get(id)?.action === 'DELETE';
    must(goes || stack.phase === 'idle', `${id} stays, but its wait at launching ended without a result`);
  }
  for (const id of changes.removed.keys()) {
    const resource = stored.resources.get(id);
    // After a failure, nothing continues from here, so nothing waits.
    const goes = phase === 'converging' && stack.action === 'DELETE' && !stack.abandoned && stack.status !== 'FAILED';
    const deleted = resource?.request?.action === 'delete' && goes && stack.phase !== 'draining';
    must(!deleted || !resource.hooks.includes('post-delete'), `${id} passed post-delete before a client cleared it`);
  }
}
