import { describe, expect, it } from 'vitest';
import { Driver, desiredResource } from '../simulation/driver.ts';
import { simulatedPlan, simulatedTarget } from '../simulation/model.ts';

describe('an update of a resource', () => {
  it('keeps a resource whose properties failed to evaluate in an earlier update', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: desiredResource() }));
    const { id } = stack.find('a');
    stack.update({ a: desiredResource({ broken: true }) });
    expect(stack.state.stack.reason).toBe('Resource UPDATE failed: InvalidTemplate: resources.a: broken');
    expect(stack.find('a')).toMatchObject({ id, action: 'UPDATE', status: 'FAILED' });
    expect(stack.state.resources.size).toBe(1);
    expect(stack.update({ a: desiredResource({ value: 2 }) })).toEqual(['update a']);
  });

  it('reports a failed creation for a resource that was never created and cannot be evaluated', () => {
    const stack = new Driver();
    stack.create({ a: desiredResource({ broken: true }) });
    expect(stack.find('a')).toMatchObject({ action: 'CREATE', status: 'FAILED' });
    expect(stack.update({ a: desiredResource({ broken: true }) })).toEqual([]);
    expect(stack.state.resources.size).toBe(1);
  });

  it('keeps the unhealthy mark when the properties cannot be evaluated', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: desiredResource() }));
    stack.act('a', { kind: 'mark', unhealthy: true, reason: 'bad' });
    stack.update({ a: desiredResource({ broken: true }) });
    expect(stack.update({ a: desiredResource() })).toEqual(['create a']);
  });

  it('links a replacement to its original, and the original to its replacement', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: desiredResource() }));
    const original = stack.find('a').id;
    stack.update({ a: desiredResource({ kind: 2 }) });
    const replacement = stack.find('a', ({ replaces }) => replaces === original);
    expect(stack.find('a', ({ id }) => id === original).replaced_by).toBe(replacement.id);
  });

  it('updates a resource after a failed update, also when the earlier plan is restored', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: desiredResource() }));
    stack.update({ a: desiredResource({ value: 2 }) });
    stack.fail('a');
    stack.finish(stack.take({ kind: 'visit', id: 'check', action: 'CHECK' }));
    expect(stack.status).toBe('CHECK_COMPLETE');
    expect(stack.update({ a: desiredResource() })).toEqual(['update a']);
    expect(stack.find('a').request?.changed).toEqual(['value']);
  });

  it('sends every property that one of several failed updates changed', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: desiredResource(), b: desiredResource(), c: desiredResource({ requires: ['b'] }) }));
    stack.update({ a: desiredResource({ value: 2 }), b: desiredResource(), c: desiredResource({ requires: ['b'] }) });
    stack.fail('a');
    stack.update({ a: desiredResource(), b: desiredResource(), c: desiredResource({ requires: ['b'] }) });
    stack.fail('a');
    expect(
      stack.update({ a: desiredResource(), b: desiredResource(), c: desiredResource({ requires: ['b'] }) }),
    ).toEqual(['update a']);
    expect(stack.find('a').request?.changed).toEqual(['value']);
  });

  it('clears a skip that was given for another plan', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: desiredResource() }));
    stack.update({ a: desiredResource({ value: 2 }) });
    stack.fail('a');
    stack.act('a', { kind: 'skip' });
    expect(stack.status).toBe('UPDATE_COMPLETE');
    expect(stack.update({ a: desiredResource() })).toEqual(['update a']);
    stack.answer('a');
    expect(stack.find('a').skipped).toBeNull();
  });

  it('holds the dependents of a launched resource until its hook is cleared, in every action', () => {
    const stack = new Driver();
    const launching = { transition: 'launching', heartbeat_timeout: 60, default_result: 'continue' } as const;
    const wishes = { a: desiredResource({ lifecycle: [launching] }), b: desiredResource({ requires: ['a'] }) };
    stack.create(wishes);
    expect(stack.answer('a')).toEqual([]);
    const { hook } = stack.find('a');
    expect(stack.update(wishes)).toEqual([]);
    expect(stack.update({ ...wishes, a: desiredResource({ lifecycle: [launching], value: 2 }) })).toEqual([]);
    expect(stack.find('a').hook).toEqual(hook);
    const said = { hook: 'launching', token: hook?.token ?? '', result: 'continue' } as const;
    expect(stack.act('a', { kind: 'complete hook', ...said })).toEqual(['update a']);
  });

  it('waits at pre-update also without a change', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: desiredResource({ hooks: ['pre-update'] }) }));
    stack.update({ a: desiredResource({ hooks: ['pre-update'] }) });
    expect(stack.find('a').hook?.name).toBe('pre-update');
    stack.act('a', { kind: 'clear hook', hook: 'pre-update' });
    expect(stack.status).toBe('UPDATE_COMPLETE');
  });

  it('creates a resource that a hook held, also when its predecessors are deleted first', () => {
    const stack = new Driver();
    stack.create({ a: desiredResource({ hooks: ['pre-create'], deleteFirst: true }) });
    expect(stack.act('a', { kind: 'clear hook', hook: 'pre-create' })).toEqual(['create a']);
    stack.answer('a');
    expect(stack.status).toBe('CREATE_COMPLETE');
  });

  it('waits for a deletion that still occupies its place', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: desiredResource(), b: desiredResource() }));
    expect(stack.update({ b: desiredResource() })).toEqual(['delete a']);
    expect(stack.update({ a: desiredResource({ deleteFirst: true }), b: desiredResource() })).toEqual([]);
    expect(stack.answer('a')).toEqual(['create a']);
  });

  it('waits for a request in flight, also when the properties cannot be evaluated', () => {
    const stack = new Driver();
    stack.create({ a: desiredResource() });
    expect(stack.update({ a: desiredResource({ broken: true }) })).toEqual([]);
    expect(stack.status).toBe('UPDATE_IN_PROGRESS');
    stack.answer('a');
    expect(stack.status).toBe('UPDATE_FAILED');
    expect(stack.state.resources.size).toBe(1);
  });

  it('checks each nested stack once when it observes reality', () => {
    const stack = new Driver();
    const wishes = {
      n: desiredResource({ type: 'Nested' }),
      a: desiredResource({ type: 'Plain' }),
      b: desiredResource(),
    };
    stack.finish(stack.create(wishes));
    expect(stack.finish(stack.update(wishes, { observe: true }))).toEqual(['update n', 'check b']);
    expect(stack.status).toBe('UPDATE_COMPLETE');
  });

  it('updates a nested stack whose template changed, even if nothing else changed', () => {
    const stack = new Driver();
    const plan = simulatedPlan({ n: desiredResource({ type: 'Nested' }) });
    stack.finish(stack.take({ kind: 'create', id: 'create', plan }));
    const { n } = plan.resources;
    if (!n?.nested) throw new Error('n is not nested');
    const other = { ...plan, resources: { n: { ...n, nested: { ...n.nested, digest: 'two' } } } };
    const update = { kind: 'update', id: 'update', plan: other, target: simulatedTarget('two') } as const;
    expect(stack.finish(stack.take(update))).toEqual(['update n']);
    expect(stack.find('n').source).toBe('two');
    expect(stack.take({ ...update, id: 'again', target: simulatedTarget('three') })).toEqual([]);
  });

  it('sends no second request for a resource that it has updated', () => {
    const stack = new Driver();
    const hooks = ['pre-update', 'post-update'];
    stack.finish(stack.create({ a: desiredResource({ hooks }) }));
    for (const value of [2, 3]) {
      stack.update({ a: desiredResource({ hooks, value }) });
      expect(stack.act('a', { kind: 'clear hook', hook: 'pre-update' })).toEqual(['update a']);
      stack.answer('a');
      expect(stack.find('a').hook?.name).toBe('post-update');
      expect(stack.act('a', { kind: 'clear hook', hook: 'post-update' })).toEqual([]);
      expect(stack.status).toBe('UPDATE_COMPLETE');
    }
  });
});

describe('a resource that the plan no longer contains', () => {
  it('sends a nested stack its deletion during its creation', () => {
    const stack = new Driver();
    stack.create({ n: desiredResource({ type: 'Nested' }) });
    expect(stack.remove()).toEqual(['delete n']);
    expect(stack.find('n').request?.fence).toBe(2);
  });

  it('sends no request again after an operator skips its failed deletion', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: desiredResource(), b: desiredResource() }));
    stack.update({ b: desiredResource() });
    stack.fail('a');
    expect(stack.status).toBe('UPDATE_FAILED');
    expect(stack.act('a', { kind: 'skip' })).toEqual([]);
    expect(stack.status).toBe('UPDATE_COMPLETE');
    expect([...stack.state.byName.keys()]).toEqual(['b']);
  });

  it('is deleted only once when it waits at a hook after its deletion', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: desiredResource({ hooks: ['post-delete'] }) }));
    stack.remove();
    stack.answer('a');
    expect(stack.find('a').hook?.name).toBe('post-delete');
    expect(stack.act('a', { kind: 'clear hook', hook: 'post-delete' })).toEqual([]);
    expect(stack.status).toBe('DELETE_COMPLETE');
  });
});
