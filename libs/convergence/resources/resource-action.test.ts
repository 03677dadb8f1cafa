import { describe, expect, it } from 'vitest';
import { Driver, desiredResource } from '../simulation/driver.ts';

const mark = (unhealthy: boolean, reason = '') => ({ kind: 'mark', unhealthy, reason }) as const;
const created = (): Driver => {
  const stack = new Driver({}, { replaceFailed: true });
  stack.finish(stack.create({ a: desiredResource(), b: desiredResource({ requires: ['a'] }) }));
  return stack;
};
const refusalOf = (stack: Driver, resource: string, action: ReturnType<typeof mark>) =>
  [...stack.step({ kind: 'resource', id: stack.id('mark'), resource, action }).refusals.values()][0];

describe('marking a resource', () => {
  it('unhealthy fails its check with the reason, and the next update replaces it', () => {
    const stack = created();
    stack.act('a', mark(true, 'disk is full'));
    expect(stack.find('a')).toMatchObject({
      action: 'CHECK',
      status: 'FAILED',
      reason: 'disk is full',
      failure: { code: 'Unhealthy', message: 'disk is full' },
    });
    expect(stack.update({ a: desiredResource(), b: desiredResource({ requires: ['a'] }) })).toEqual(['create a']);
  });

  it('unhealthy has a default reason', () => {
    const stack = created();
    stack.act('a', mark(true));
    expect(stack.find('a').reason).toBe('marked unhealthy');
  });

  it('healthy clears the mark, and the next update changes nothing', () => {
    const stack = created();
    stack.act('a', mark(true));
    stack.act('a', mark(false, 'replaced the disk'));
    expect(stack.find('a')).toMatchObject({
      action: 'CHECK',
      status: 'COMPLETE',
      reason: 'replaced the disk',
      failure: null,
    });
    expect(stack.update({ a: desiredResource(), b: desiredResource({ requires: ['a'] }) })).toEqual([]);
  });

  it('unhealthy works again after the mark was cleared', () => {
    const stack = created();
    stack.act('a', mark(true));
    stack.act('a', mark(false));
    stack.act('a', mark(true, 'again'));
    expect(stack.find('a')).toMatchObject({ action: 'CHECK', status: 'FAILED', reason: 'again' });
  });

  it('changes nothing when the resource already has that mark', () => {
    const stack = created();
    const { version } = stack.find('a');
    stack.act('a', mark(false));
    expect(stack.find('a').version).toBe(version);
    stack.act('a', mark(true, 'first'));
    stack.act('a', mark(true, 'second'));
    expect(stack.find('a').reason).toBe('first');
  });

  it('does not change a failed creation, because the next update replaces it anyway', () => {
    const stack = new Driver();
    stack.create({ a: desiredResource() });
    stack.fail('a');
    stack.act('a', mark(true, 'again'));
    expect(stack.find('a')).toMatchObject({ action: 'CREATE', status: 'FAILED' });
  });

  it('is refused while the stack is in progress, also for a resource that is complete', () => {
    const stack = created();
    stack.update({ a: desiredResource(), b: desiredResource({ requires: ['a'], value: 2 }) });
    expect(refusalOf(stack, 'b', mark(true))).toMatchObject({ code: 'Conflict' });
    expect(refusalOf(stack, 'a', mark(true))).toBeDefined();
    expect(stack.find('a')).toMatchObject({ action: 'CREATE', status: 'COMPLETE' });
  });

  it('is refused for a resource that does not exist', () => {
    expect(refusalOf(created(), 'nope', mark(true))).toMatchObject({ code: 'NotFound' });
  });
});
