import { describe, expect, it } from 'vitest';
import { Driver, wish } from '../simulation/driver.ts';
import { planOf, targetOf } from '../simulation/model.ts';

describe('what an update does with a resource', () => {
  it('keeps a resource whose properties failed to evaluate in an earlier update', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: wish() }));
    const { id } = stack.find('a');
    stack.update({ a: wish({ broken: true }) });
    expect(stack.state.stack.reason).toBe('Resource UPDATE failed: InvalidTemplate: resources.a: broken');
    expect(stack.find('a')).toMatchObject({ id, action: 'UPDATE', status: 'FAILED' });
    expect(stack.state.resources.size).toBe(1);
    expect(stack.update({ a: wish({ value: 2 }) })).toEqual(['update a']);
  });

  it('says of one that was never made, and cannot be evaluated, that its creation failed', () => {
    const stack = new Driver();
    stack.create({ a: wish({ broken: true }) });
    expect(stack.find('a')).toMatchObject({ action: 'CREATE', status: 'FAILED' });
    expect(stack.update({ a: wish({ broken: true }) })).toEqual([]);
    expect(stack.state.resources.size).toBe(1);
  });

  it('does not forget that one is unhealthy, when it cannot be evaluated either', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: wish() }));
    stack.word('a', { kind: 'mark', unhealthy: true, reason: 'bad' });
    stack.update({ a: wish({ broken: true }) });
    expect(stack.update({ a: wish() })).toEqual(['create a']);
  });

  it('knows by a replacement what it replaces, and by the original what replaces it', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: wish() }));
    const original = stack.find('a').id;
    stack.update({ a: wish({ kind: 2 }) });
    const replacement = stack.find('a', ({ replaces }) => replaces === original);
    expect(stack.find('a', ({ id }) => id === original).replaced_by).toBe(replacement.id);
  });

  it('updates a resource after a failed update, also when the earlier plan is restored', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: wish() }));
    stack.update({ a: wish({ value: 2 }) });
    stack.fail('a');
    stack.finish(stack.take({ kind: 'visit', id: 'check', action: 'CHECK' }));
    expect(stack.status).toBe('CHECK_COMPLETE');
    expect(stack.update({ a: wish() })).toEqual(['update a']);
    expect(stack.find('a').request?.changed).toEqual(['value']);
  });

  it('sends all that any of several failed updates has touched', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: wish(), b: wish(), c: wish({ requires: ['b'] }) }));
    stack.update({ a: wish({ value: 2 }), b: wish(), c: wish({ requires: ['b'] }) });
    stack.fail('a');
    stack.update({ a: wish(), b: wish(), c: wish({ requires: ['b'] }) });
    stack.fail('a');
    expect(stack.update({ a: wish(), b: wish(), c: wish({ requires: ['b'] }) })).toEqual(['update a']);
    expect(stack.find('a').request?.changed).toEqual(['value']);
  });

  it('no longer skips what was skipped for another plan', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: wish() }));
    stack.update({ a: wish({ value: 2 }) });
    stack.fail('a');
    stack.word('a', { kind: 'skip' });
    expect(stack.status).toBe('UPDATE_COMPLETE');
    expect(stack.update({ a: wish() })).toEqual(['update a']);
    stack.answer('a');
    expect(stack.find('a').skipped).toBeNull();
  });

  it('lets nothing use what is launched before its hook is cleared, whatever action comes', () => {
    const stack = new Driver();
    const launching = { transition: 'launching', heartbeat_timeout: 60, default_result: 'continue' } as const;
    const wishes = { a: wish({ lifecycle: [launching] }), b: wish({ requires: ['a'] }) };
    stack.create(wishes);
    expect(stack.answer('a')).toEqual([]);
    const { hook } = stack.find('a');
    expect(stack.update(wishes)).toEqual([]);
    expect(stack.update({ ...wishes, a: wish({ lifecycle: [launching], value: 2 }) })).toEqual([]);
    expect(stack.find('a').hook).toEqual(hook);
    const said = { hook: 'launching', token: hook?.token ?? '', result: 'continue' } as const;
    expect(stack.word('a', { kind: 'complete hook', ...said })).toEqual(['update a']);
  });

  it('asks at pre-update also where nothing has changed', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: wish({ hooks: ['pre-update'] }) }));
    stack.update({ a: wish({ hooks: ['pre-update'] }) });
    expect(stack.find('a').hook?.name).toBe('pre-update');
    stack.word('a', { kind: 'clear hook', hook: 'pre-update' });
    expect(stack.status).toBe('UPDATE_COMPLETE');
  });

  it('makes what was held before its creation, also where all of its name goes first', () => {
    const stack = new Driver();
    stack.create({ a: wish({ hooks: ['pre-create'], deleteFirst: true }) });
    expect(stack.word('a', { kind: 'clear hook', hook: 'pre-create' })).toEqual(['create a']);
    stack.answer('a');
    expect(stack.status).toBe('CREATE_COMPLETE');
  });

  it('waits for the place of what is being deleted', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: wish(), b: wish() }));
    expect(stack.update({ b: wish() })).toEqual(['delete a']);
    expect(stack.update({ a: wish({ deleteFirst: true }), b: wish() })).toEqual([]);
    expect(stack.answer('a')).toEqual(['create a']);
  });

  it('waits for what is in flight, also when it cannot be evaluated', () => {
    const stack = new Driver();
    stack.create({ a: wish() });
    expect(stack.update({ a: wish({ broken: true }) })).toEqual([]);
    expect(stack.status).toBe('UPDATE_IN_PROGRESS');
    stack.answer('a');
    expect(stack.status).toBe('UPDATE_FAILED');
    expect(stack.state.resources.size).toBe(1);
  });

  it('looks into nested stacks, once each, when it looks at reality', () => {
    const stack = new Driver();
    const wishes = { n: wish({ type: 'Nested' }), a: wish({ type: 'Plain' }), b: wish() };
    stack.finish(stack.create(wishes));
    expect(stack.finish(stack.update(wishes, { observe: true }))).toEqual(['update n', 'check b']);
    expect(stack.status).toBe('UPDATE_COMPLETE');
  });

  it('goes into a nested stack whose template is another, though nothing else has changed', () => {
    const stack = new Driver();
    const plan = planOf({ n: wish({ type: 'Nested' }) });
    stack.finish(stack.take({ kind: 'create', id: 'create', plan }));
    const { n } = plan.resources;
    if (!n?.nested) throw new Error('n is not nested');
    const other = { ...plan, resources: { n: { ...n, nested: { ...n.nested, digest: 'two' } } } };
    const update = { kind: 'update', id: 'update', plan: other, target: targetOf('two') } as const;
    expect(stack.finish(stack.take(update))).toEqual(['update n']);
    expect(stack.find('n').source).toBe('two');
    expect(stack.take({ ...update, id: 'again', target: targetOf('three') })).toEqual([]);
  });

  it('asks again for nothing that it has updated itself', () => {
    const stack = new Driver();
    const hooks = ['pre-update', 'post-update'];
    stack.finish(stack.create({ a: wish({ hooks }) }));
    for (const value of [2, 3]) {
      stack.update({ a: wish({ hooks, value }) });
      expect(stack.word('a', { kind: 'clear hook', hook: 'pre-update' })).toEqual(['update a']);
      stack.answer('a');
      expect(stack.find('a').hook?.name).toBe('post-update');
      expect(stack.word('a', { kind: 'clear hook', hook: 'post-update' })).toEqual([]);
      expect(stack.status).toBe('UPDATE_COMPLETE');
    }
  });
});

describe('what becomes of what is wanted no longer', () => {
  it('tells a nested stack of its deletion while it is being made', () => {
    const stack = new Driver();
    stack.create({ n: wish({ type: 'Nested' }) });
    expect(stack.remove()).toEqual(['delete n']);
    expect(stack.find('n').request?.fence).toBe(2);
  });

  it('leaves a failed deletion that a person skips, and asks for it no more', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: wish(), b: wish() }));
    stack.update({ b: wish() });
    stack.fail('a');
    expect(stack.status).toBe('UPDATE_FAILED');
    expect(stack.word('a', { kind: 'skip' })).toEqual([]);
    expect(stack.status).toBe('UPDATE_COMPLETE');
    expect([...stack.state.byName.keys()]).toEqual(['b']);
  });

  it('deletes once what waited after its deletion', () => {
    const stack = new Driver();
    stack.finish(stack.create({ a: wish({ hooks: ['post-delete'] }) }));
    stack.remove();
    stack.answer('a');
    expect(stack.find('a').hook?.name).toBe('post-delete');
    expect(stack.word('a', { kind: 'clear hook', hook: 'post-delete' })).toEqual([]);
    expect(stack.status).toBe('DELETE_COMPLETE');
  });
});
