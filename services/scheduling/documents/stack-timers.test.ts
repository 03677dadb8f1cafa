import { timerFired } from '@anneal/contracts/calls/stacks.ts';
import { stackTimerName, type StackTimer } from '@anneal/contracts/stack-timer.ts';
import { describe, expect, it } from 'vitest';
import { dueOf, firedTimer, requireTimer, stackTimers, timerOfStack } from './stack-timers.ts';

const stack = { stack_id: 's', traversal: 't' };
/** Timers with their names and ids of release 0.1.0. */
const known: readonly (readonly [StackTimer, string, string])[] = [
  [{ kind: 'deadline' }, 'deadline', 's:t:deadline'],
  [{ kind: 'grace' }, 'grace', 's:t:grace'],
  [{ kind: 'batch' }, 'batch', 's:t:batch'],
  [{ kind: 'retry', resource: 'r', fence: 7 }, 'retry:r:7', 's:t:retry:r:7'],
  [{ kind: 'hook', resource: 'r', token: 'x' }, 'hook:r:x', 's:t:hook:r:x'],
  [{ kind: 'route', resource: 'r', fence: 7 }, 'route:r:7', 's:route:r'],
  [{ kind: 'group', wait: { kind: 'decide', token: 'x' } }, 'group:decide:x', 's:t:group:decide:x'],
  [
    { kind: 'group', wait: { kind: 'due', request: 'r:5:schedule' } },
    'group:due:r:5:schedule',
    's:t:group:due:r:5:schedule',
  ],
  [{ kind: 'group', wait: { kind: 'fill' } }, 'group:fill', 's:t:group:fill'],
  [{ kind: 'group', wait: { kind: 'lost', member: '3' } }, 'group:lost:3', 's:t:group:lost:3'],
  [{ kind: 'group', wait: { kind: 'next' } }, 'group:next', 's:t:group:next'],
  [{ kind: 'task wait', task: 3, attempt: 2 }, 'wait.3.2', 's:wait.3.2'],
  [{ kind: 'task timeout', task: 3, attempt: 2 }, 'timeout.3.2', 's:timeout.3.2'],
];

describe('a timer of a stack or an execution', () => {
  it.each(known)(
    '%j has the name and the id of release 0.1.0, so that setting it again replaces it',
    (timer, name, id) => {
      expect(stackTimerName(timer)).toBe(name);
      const stored = stackTimers.at(timerOfStack(stack, timer), 5);
      expect(stored).toEqual({ id, dueAt: 5, data: { kind: 'stack', ...stack, timer: name, due: timer } });
      expect(stackTimers.read(stored)).toEqual(stored.data);
    },
  );

  it.each(known)('%j is read from what release 0.1.0 stored and sent', (timer, name, id) => {
    const data = { ...stack, timer: name };
    expect(stackTimers.read({ id, dueAt: 5, data })).toEqual({ ...data, kind: 'stack', due: timer });
    expect(firedTimer({ type: timerFired.type, data })).toEqual(timer);
  });

  it('is what the message says, whatever its name is', () => {
    expect(dueOf({ timer: 'a newer name', due: { kind: 'grace' } })).toEqual({ kind: 'grace' });
    expect(firedTimer({ type: 'stack.update', data: { timer: 'grace' } })).toBeUndefined();
  });

  it.each(['', 'snooze', 'retry:r', 'retry:r:soon', 'hook:r', 'hook', 'group:other', 'wait.1', 'wait.a.b'])(
    'with the name "%s" is refused as an invalid message',
    (timer) => {
      expect(() => dueOf({ timer })).toThrow(expect.objectContaining({ code: 'InvalidMessage' }) as Error);
    },
  );

  it('is refused when its stack or execution sets none of its kind', () => {
    const message = (timer: StackTimer) =>
      ({ type: timerFired.type, data: { ...stack, timer: stackTimerName(timer), due: timer } }) as never;
    const wait = { kind: 'task wait', task: 1, attempt: 1 } as const;
    requireTimer(message({ kind: 'grace' }), 's');
    requireTimer(message(wait), 'run-1');
    expect(() => requireTimer(message({ kind: 'grace' }), 'run-1')).toThrow('grace: the execution run-1 sets none');
    expect(() => requireTimer(message(wait), 's')).toThrow('wait.1.1: the stack s sets none');
  });
});

describe('the timer of a lost server', () => {
  const lost = { server: 'r', sign: 'fault', reason: 'ECC', since: '2026-11-30T00:00:00.000Z', event: 'e' } as const;

  it('is stored under the id of its loss, and read from what release 0.1.0 stored', () => {
    const stored = stackTimers.at({ kind: 'lost', lost }, 5);
    expect(stored).toEqual({ id: 'lost:r:fault', dueAt: 5, data: { kind: 'lost', lost } });
    expect(stackTimers.read({ ...stored, data: { lost } })).toEqual(stored.data);
  });
});
