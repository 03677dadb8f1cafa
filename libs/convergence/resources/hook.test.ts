import { describe, expect, it } from 'vitest';
import { Driver, desiredResource } from '../simulation/driver.ts';
import { simulatedPlan } from '../simulation/model.ts';

const hookOf = (stack: Driver) => {
  const { hook } = stack.find('a');
  if (!hook) throw new Error('a does not wait');
  return hook;
};
const launching = (result: 'continue' | 'abandon', more: { global_timeout?: number } = {}) => {
  const stack = new Driver();
  const lifecycle = [{ transition: 'launching', heartbeat_timeout: 10, default_result: result, ...more } as const];
  stack.create({ a: desiredResource({ lifecycle }), b: desiredResource({ requires: ['a'] }) });
  stack.answer('a');
  return stack;
};

describe('a lifecycle hook', () => {
  it('uses the given result: `abandon` fails the resource and its stack', () => {
    const stack = launching('continue');
    const { token } = hookOf(stack);
    stack.act('a', { kind: 'complete hook', hook: 'launching', token, result: 'abandon' });
    expect(stack.status).toBe('CREATE_FAILED');
    expect(stack.find('a')).toMatchObject({ action: 'CREATE', status: 'FAILED', hook: null });
  });

  it('uses its default result at its timeout, and not before', () => {
    for (const [result, status] of [
      ['continue', 'CREATE_IN_PROGRESS'],
      ['abandon', 'CREATE_FAILED'],
    ] as const) {
      const stack = launching(result);
      const timer = { kind: 'hook', resource: stack.find('a').id, token: hookOf(stack).token } as const;
      stack.now = 9000;
      stack.timer(timer);
      expect(stack.find('a').hook).not.toBeNull();
      stack.now = 10_000;
      stack.timer({ ...timer, token: 'an older token' });
      expect(stack.find('a').hook).not.toBeNull();
      expect(stack.timer(timer)).toEqual(result === 'continue' ? ['create b'] : []);
      expect(stack.status).toBe(status);
    }
  });

  it('is completed only with its name and its token', () => {
    const stack = launching('continue');
    const { token } = hookOf(stack);
    for (const wrong of [
      { hook: 'launching', token: 'another' },
      { hook: 'updating', token },
    ]) {
      const action = { kind: 'complete hook', result: 'continue', ...wrong } as const;
      const { refusals } = stack.step({ kind: 'resource', id: stack.id('word'), resource: 'a', action });
      expect([...refusals.values()]).toMatchObject([{ code: 'Conflict' }]);
    }
    expect(stack.find('a').hook).not.toBeNull();
  });

  it('never waits beyond its maximum, by its timeout or by heartbeats', () => {
    const stack = launching('continue', { global_timeout: 5 });
    const last = new Date(5000).toISOString();
    expect(hookOf(stack)).toMatchObject({ deadline: last, last });
    stack.now = 4000;
    stack.act('a', { kind: 'heartbeat', hook: 'launching', token: hookOf(stack).token });
    expect(hookOf(stack).deadline).toBe(last);
  });

  it('has a date for its end, also when its maximum has none', () => {
    const { last } = hookOf(launching('continue', { global_timeout: 1e15 }));
    expect(last).toMatch(/^2070-/);
  });

  it('of a terminating resource leads to its deletion for every result', () => {
    const stack = new Driver();
    const lifecycle = [{ transition: 'terminating', heartbeat_timeout: 10, default_result: 'continue' } as const];
    stack.finish(stack.create({ a: desiredResource({ lifecycle }) }));
    expect(stack.remove()).toEqual([]);
    const { token } = hookOf(stack);
    const said = { kind: 'complete hook', hook: 'terminating', token, result: 'abandon' } as const;
    expect(stack.act('a', said)).toEqual(['delete a']);
  });
});

describe('a hook', () => {
  it('belongs to its action: a resource created by an update does not wait at create hooks', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: desiredResource() }));
    expect(
      stack.update({ a: desiredResource(), b: desiredResource({ hooks: ['pre-create', 'post-create'] }) }),
    ).toEqual(['create b']);
    stack.answer('b');
    expect(stack.status).toBe('UPDATE_COMPLETE');
  });

  it('at pre-update also holds a rollback', () => {
    const stack = new Driver({}, { replaceFailed: false });
    const hooks = ['pre-update'];
    stack.finish(stack.create({ a: desiredResource({ hooks }) }));
    stack.update({ a: desiredResource({ hooks, value: 2 }) });
    stack.act('a', { kind: 'clear hook', hook: 'pre-update' });
    stack.fail('a');
    expect(stack.take({ kind: 'rollback', id: 'back', cancel: false })).toEqual([]);
    expect(hookOf(stack).name).toBe('pre-update');
  });

  it('reports in events when a wait begins, and when it ends in another way', () => {
    const stack = new Driver();
    const reasons = (changes: ReturnType<Driver['step']>['changes']) =>
      changes.events.flatMap(({ hook, reason }) => (hook ? [`${hook.state} ${hook.name}: ${reason}`] : []));
    const wishes = { a: desiredResource({ hooks: ['pre-create'] }), b: desiredResource() };
    const { changes } = stack.step({ kind: 'create', id: 'create', plan: simulatedPlan(wishes) });
    expect(reasons(changes)).toEqual(['waiting pre-create: CREATE paused until Hook pre-create is cleared']);
    const ended = stack.step({ kind: 'delete', id: 'delete' }).changes;
    expect(reasons(ended)).toEqual(['cleared pre-create: Failure occurred while waiting.']);
  });
});
