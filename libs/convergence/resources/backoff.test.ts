import { describe, expect, it } from 'vitest';
import { maxRequestAttempts } from './backoff.ts';
import { Driver, desiredResource } from '../simulation/driver.ts';

const conflict = { status: 'failed', error: { code: 'Conflict', message: 'busy' } } as const;

/** Fires the retry timer of a resource at its time. */
function retry(stack: Driver, name: string): string[] {
  const { id, fence, request } = stack.find(name);
  stack.now = Date.parse(request?.not_before ?? '');
  return stack.timer({ kind: 'retry', resource: id, fence });
}

describe('a conflict', () => {
  it('is retried later each time, with a higher fence, and fails after the last attempt', () => {
    const stack = new Driver();
    stack.create({ a: desiredResource() });
    for (let attempt = 1; attempt < maxRequestAttempts; attempt += 1) {
      const { fence } = stack.find('a');
      const before = stack.now;
      expect(stack.answer('a', conflict)).toEqual([]);
      const waiting = stack.find('a');
      expect(waiting.fence).toBe(fence + 1);
      expect(waiting.reason).toContain(`Attempt ${attempt + 1} of ${maxRequestAttempts} follows`);
      const wait = Date.parse(waiting.request?.not_before ?? '') - before;
      expect(wait).toBeGreaterThanOrEqual(500 * 2 ** (attempt - 1));
      expect(wait).toBeLessThanOrEqual(1500 * 2 ** (attempt - 1));
      expect(retry(stack, 'a')).toEqual(['create a']);
    }
    stack.answer('a', conflict);
    expect(stack.status).toBe('CREATE_FAILED');
  });

  it('is retried also for an error that a provider marks as retryable, but not for other errors', () => {
    const retryable = { code: 'ResourceFailed', message: 'soon', details: { retryable: true } };
    const stack = new Driver();
    stack.create({ a: desiredResource(), b: desiredResource() });
    stack.answer('a', { status: 'failed', error: retryable });
    expect(stack.find('a').request?.not_before).toEqual(expect.any(String));
    stack.answer('b', { status: 'failed', error: { ...retryable, details: { retryable: 'yes' } } });
    expect(stack.find('b').status).toBe('FAILED');
  });

  it('is not retried by a timer of an earlier attempt, or by one that fires twice', () => {
    const stack = new Driver();
    stack.create({ a: desiredResource() });
    const earlier = stack.find('a').fence;
    stack.answer('a', conflict);
    const { id, fence } = stack.find('a');
    expect(stack.timer({ kind: 'retry', resource: id, fence: earlier })).toEqual([]);
    expect(stack.timer({ kind: 'retry', resource: id, fence })).toEqual(['create a']);
    expect(stack.timer({ kind: 'retry', resource: id, fence })).toEqual([]);
  });

  it('is not retried for an action that a newer one replaced, because the newer one decides again', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: desiredResource() }));
    stack.update({ a: desiredResource({ value: 2 }) });
    stack.answer('a', conflict);
    const { id, fence } = stack.find('a');
    expect(stack.update({ a: desiredResource({ value: 3 }) })).toEqual([]);
    stack.now = Date.parse(stack.find('a').request?.not_before ?? '');
    expect(stack.timer({ kind: 'retry', resource: id, fence })).toEqual(['update a']);
    expect(stack.find('a').request?.properties).toMatchObject({ value: 3 });
    stack.answer('a');
    expect(stack.status).toBe('UPDATE_COMPLETE');
  });

  it('is not retried when it answers a replaced action', () => {
    const stack = new Driver({}, { replaceFailed: false });
    stack.finish(stack.create({ a: desiredResource() }));
    stack.update({ a: desiredResource({ value: 2 }) });
    stack.update({ a: desiredResource({ value: 3 }) });
    expect(stack.answer('a', conflict)).toEqual(['update a']);
    expect(stack.find('a').request?.properties).toMatchObject({ value: 3 });
  });

  it('is not retried while the stack drains', () => {
    const stack = new Driver();
    stack.create({ a: desiredResource(), b: desiredResource() });
    stack.fail('b');
    stack.answer('a', conflict);
    expect(stack.find('a').status).toBe('FAILED');
    expect(stack.status).toBe('CREATE_FAILED');
  });
});
