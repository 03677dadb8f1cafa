import { describe, expect, it } from 'vitest';
import { Driver, desiredResource } from '../simulation/driver.ts';
import type { DesiredResource, DesiredResources } from '../simulation/model.ts';
import { loadState } from '../state.ts';
import { step } from '../step.ts';
import { simulatedPlan, simulatedTarget, toolsAt } from '../simulation/model.ts';

/** A requirement at the second place only sets the order. */
const behind = (name: string, more: Partial<DesiredResource> = {}): DesiredResource =>
  desiredResource({ type: 'Latest', requires: ['base', name], ...more });
const base = desiredResource();
const chain = (more: Partial<Record<'a' | 'b' | 'c', Partial<DesiredResource>>> = {}): DesiredResources => ({
  base,
  a: desiredResource({ type: 'Latest', requires: ['base'], ...more.a }),
  b: behind('a', more.b),
  c: behind('b', more.c),
});
const begun = (more: Parameters<typeof chain>[0] = {}, stack: ConstructorParameters<typeof Driver>[0] = {}): Driver => {
  const driver = new Driver(stack);
  expect(driver.create(chain(more))).toEqual(['create base']);
  driver.answer('base');
  return driver;
};
const recalled = (driver: Driver, input: Parameters<Driver['step']>[0]): string[] => endedBy('cancel', driver, input);
const endedBy = (kind: 'cancel' | 'withdraw', driver: Driver, input: Parameters<Driver['step']>[0]): string[] => {
  const { changes } = driver.step(input);
  return changes.effects.flatMap((effect) =>
    effect.kind === kind ? [driver.state.resources.get(effect.resource)?.name ?? ''] : [],
  );
};

describe('a list of resources in one queue', () => {
  it('H1, H2: is sent at once, each with the requests before it', () => {
    const stack = new Driver();
    stack.create(chain());
    expect(stack.answer('base')).toEqual(['create a', 'create b', 'create c']);
    const [a, b] = [stack.find('a'), stack.find('b')];
    expect(a.request?.after).toBeUndefined();
    expect(b.request?.after).toEqual([{ id: a.id, fence: 1 }]);
    expect(stack.find('c').request?.after).toEqual([{ id: b.id, fence: 1 }]);
    expect(stack.finish(['create a', 'create b', 'create c'])).toHaveLength(3);
    expect(stack.status).toBe('CREATE_COMPLETE');
    expect(stack.find('c').requires.toSorted()).toEqual([stack.find('base').id, b.id].toSorted());
  });

  it.each<[string, Partial<DesiredResource>, Partial<DesiredResource>]>([
    ['reads an attribute of the one before', {}, { requires: ['a'] }],
    ['is in another queue', {}, { type: 'Test' }],
    ['follows a hook', { hooks: ['post-create'] }, {}],
    ['has a hook', {}, { hooks: ['pre-create'] }],
    [
      'has a life-cycle hook',
      {},
      { lifecycle: [{ transition: 'launching', heartbeat_timeout: 5, default_result: 'continue' }] },
    ],
    ['makes room first', {}, { deleteFirst: true }],
  ])('H1: waits for the answer when it %s', (_, a, b) => {
    const stack = new Driver();
    stack.create({ base, a: desiredResource({ type: 'Latest', requires: ['base'], ...a }), b: behind('a', b) });
    expect(stack.answer('base')).toEqual(['create a']);
  });

  it('H1: waits for the answers in an update, and writes nothing in the next one', () => {
    const stack = begun();
    stack.finish(['create c', 'create a', 'create b']);
    const change = { value: 2 };
    expect(stack.update(chain({ a: change, b: change, c: change }))).toEqual(['update a']);
    expect(stack.finish(['update a'])).toEqual(['update a', 'update b', 'update c']);
    expect(stack.update(chain({ a: change, b: change, c: change }))).toEqual([]);
  });

  it('H3: is complete when the answers come in another order', () => {
    const stack = begun();
    stack.answer('c');
    stack.answer('b');
    expect(stack.status).toBe('CREATE_IN_PROGRESS');
    stack.answer('a');
    expect(stack.status).toBe('CREATE_COMPLETE');
  });

  it('H2: names the failed one as the cause, and shows those behind it as failed', () => {
    const stack = begun();
    stack.answer('a');
    stack.fail('b');
    stack.answer('c', { status: 'failed', error: { code: 'Skipped', message: 'b failed' } });
    expect(stack.status).toBe('CREATE_FAILED');
    expect(stack.state.stack.failures.map(({ resource }) => resource)).toEqual(['b']);
    expect(stack.find('c')).toMatchObject({ action: 'CREATE', status: 'FAILED', failure: { code: 'Skipped' } });
    expect(stack.find('a').status).toBe('COMPLETE');
  });

  it('H4: is recalled when another resource fails, up to the request that may run', () => {
    const stack = new Driver();
    stack.create({ ...chain(), other: desiredResource() });
    stack.answer('base');
    const { id, request } = stack.find('other');
    const response = { resource_id: id, stack_id: 's', action: 'create' as const, fence: request?.fence ?? 0 };
    const failed = { ...response, status: 'failed' as const, error: { code: 'ResourceFailed', message: 'no' } };
    expect(recalled(stack, { kind: 'response', id: 'failed', response: failed })).toEqual(['b', 'c']);
    const error = { code: 'Superseded', message: 'recalled' };
    stack.answer('c', { status: 'failed', error });
    stack.answer('b', { status: 'failed', error });
    expect(stack.status).toBe('CREATE_IN_PROGRESS');
    stack.answer('a');
    expect(stack.status).toBe('CREATE_FAILED');
    expect(stack.state.stack.failures.map(({ resource }) => resource)).toEqual(['other']);
  });

  it('is withdrawn when the action is cancelled, and what has begun keeps its result', () => {
    const stack = begun();
    expect(endedBy('withdraw', stack, { kind: 'cancel', id: 'cancel' })).toEqual(['a', 'b', 'c']);
    expect(stack.status).toBe('CREATE_FAILED');
    const error = { code: 'Cancelled', message: 'not run' };
    for (const name of ['b', 'c']) stack.answer(name, { status: 'failed', error });
    stack.answer('a');
    expect(stack.find('a')).toMatchObject({ status: 'COMPLETE', request: null });
    expect(stack.find('b')).toMatchObject({ status: 'FAILED', failure: error });
    expect(stack.state.stack).toMatchObject({ phase: 'idle', reason: 'Stack CREATE cancelled', failures: [] });
  });

  it('H4: is recalled by an update that wants something else of it', () => {
    const stack = begun();
    const plan = simulatedPlan({ ...chain({ b: { requires: ['a'], value: 2 } }), c: behind('a', { kind: 2 }) });
    expect(recalled(stack, { kind: 'update', id: 'u', plan, target: simulatedTarget('u') })).toEqual(['b', 'c']);
  });

  it('H4: is recalled by an update without it', () => {
    const stack = begun();
    const { a } = chain();
    const plan = simulatedPlan({ base, ...(a && { a }) });
    expect(recalled(stack, { kind: 'update', id: 'u', plan, target: simulatedTarget('u') })).toContain('b');
  });

  it('stays in flight when an update changes only the one before it', () => {
    const stack = begun();
    expect(stack.update(chain({ a: { value: 2 } }))).toEqual(['create a']);
    expect(stack.find('b').request?.fence).toBe(1);
    stack.finish(['create a', 'create b', 'create c']);
    expect(stack.status).toBe('UPDATE_COMPLETE');
  });

  it('is sent again behind the new request when an update changes all of it', () => {
    const stack = begun();
    const change = { value: 2 };
    expect(stack.update(chain({ a: change, b: change, c: change }))).toEqual(['create a', 'create b', 'create c']);
    expect(stack.find('b').request?.after).toEqual([{ id: stack.find('a').id, fence: 2 }]);
  });

  it('continues from the documents after a crash', () => {
    const { state } = begun();
    const plan = simulatedPlan(chain());
    const resources = [...state.resources.values()].filter(({ name }) => name !== 'c');
    const loaded = loadState({ stack: state.stack, resources, plan });
    const { changes } = step(loaded, [], toolsAt(0));
    const sent = changes.effects.map((effect) => 'resource' in effect && changes.resources.get(effect.resource)?.name);
    expect(sent).toEqual(['c']);
  });
});

describe('a request in flight of an earlier action', () => {
  const value = (number: number) => ({ a: desiredResource({ value: number }) });
  const inFlight = (): Driver => {
    const stack = new Driver();
    expect(stack.create(value(1))).toEqual(['create a']);
    return stack;
  };
  const withdrawnBy = (plan: Record<string, DesiredResource>): string[] =>
    endedBy('withdraw', inFlight(), {
      kind: 'update',
      id: 'u',
      plan: simulatedPlan(plan),
      target: simulatedTarget('u'),
    });

  it('is withdrawn when the new plan wants something else, and awaited when it wants the same', () => {
    expect(withdrawnBy(value(1))).toEqual([]);
    expect(withdrawnBy(value(2))).toEqual(['a']);
    expect(withdrawnBy({ b: desiredResource() })).toEqual(['a']);
  });

  it('is withdrawn by a deletion', () => {
    expect(endedBy('withdraw', inFlight(), { kind: 'delete', id: 'd' })).toEqual(['a']);
  });

  it('is made with the new values after it was withdrawn', () => {
    const stack = inFlight();
    stack.step({ kind: 'update', id: 'u', plan: simulatedPlan(value(2)), target: simulatedTarget('u') });
    const [sent] = stack.answer('a', { status: 'failed', error: { code: 'Cancelled', message: 'not begun' } });
    expect(sent).toBe('create a');
    stack.finish(['create a']);
    expect(stack.status).toBe('UPDATE_COMPLETE');
    expect(stack.state.stack.failures).toEqual([]);
  });
});
