import { describe, expect, it } from 'vitest';
import { Driver, desiredResource } from '../simulation/driver.ts';

describe('a repeated action', () => {
  it('rolls back again after a failed rollback', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: desiredResource() }));
    stack.update({ a: desiredResource({ value: 2 }) });
    stack.fail('a');
    stack.take({ kind: 'rollback', id: 'back', cancel: false });
    stack.fail('a');
    expect(stack.status).toBe('ROLLBACK_FAILED');
    stack.finish(stack.take({ kind: 'retry', id: 'again' }));
    expect(stack.status).toBe('ROLLBACK_COMPLETE');
    expect(stack.find('a').properties['value']).toBe(1);
  });

  it('still abandons when the first attempt did not end', () => {
    const stack = new Driver();
    stack.finish(stack.create({ n: desiredResource({ type: 'Nested' }), a: desiredResource() }));
    stack.remove(true);
    stack.fail('n');
    expect(stack.status).toBe('DELETE_FAILED');
    expect(stack.take({ kind: 'retry', id: 'again' })).toEqual(['delete n']);
    expect(stack.state.stack.abandoned).toBe(true);
  });

  it('still observes reality after a pause', () => {
    const stack = new Driver({ on_failure: 'pause' }, { replaceFailed: false });
    const wishes = { a: desiredResource(), b: desiredResource({ requires: ['a'] }) };
    stack.finish(stack.create(wishes));
    const other = { ...wishes, a: desiredResource({ value: 2 }) };
    expect(stack.update(other, { observe: true })).toEqual(['check a']);
    stack.answer('a');
    stack.fail('a');
    expect(stack.state.stack.phase).toBe('paused');
    stack.take({ kind: 'retry', id: 'again' });
    expect(stack.answer('a')).toEqual(['check b']);
  });
});

describe('a reported failure', () => {
  it('contains its path, with numbers as Heat writes them, and a check reports every failure', () => {
    const stack = new Driver();
    stack.finish(stack.create({ n: desiredResource({ type: 'Nested' }), a: desiredResource() }));
    stack.take({ kind: 'visit', id: 'check', action: 'CHECK' });
    const failure = { code: 'ResourceFailed', message: 'no' };
    stack.answer('n', { status: 'failed', failures: [{ resource: '0.resources.x', type: 'Test', failure }] });
    stack.fail('a');
    expect(stack.state.stack.reason).toBe(
      'Resource CHECK failed: ResourceFailed: resources.n.resources[0].resources.x: no; ResourceFailed: resources.a: no',
    );
  });

  it('contains its path, when a check finds a nested stack that was not created', () => {
    const stack = new Driver();
    stack.create({ n: desiredResource({ type: 'Nested' }) });
    const failure = { code: 'ResourceFailed', message: 'no' };
    stack.answer('n', { status: 'failed', failures: [{ resource: 'x', type: 'Test', failure }] });
    stack.take({ kind: 'visit', id: 'check', action: 'CHECK' });
    expect(stack.state.stack.reason).toBe(
      'Resource CHECK failed: NotCreated: resources.n: Its create failed: ResourceFailed: resources.n.resources.x: no',
    );
  });

  it('is limited in size', () => {
    const stack = new Driver();
    stack.create({ n: desiredResource({ type: 'Nested' }) });
    const failure = { code: 'ResourceFailed', message: 'm'.repeat(50_000) };
    const failures = Array.from({ length: 200 }, (_, index) => ({ resource: `r${index}`, type: 'Test', failure }));
    stack.answer('n', { status: 'failed', failures });
    const { stack: document } = stack.state;
    expect(document.failures.length).toBeLessThan(101);
    expect(document.reason.length).toBeLessThan(4097);
    expect(document.failures[0]?.failure.message.length).toBeLessThan(20_000);
  });
});
