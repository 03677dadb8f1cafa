import { describe, expect, it } from 'vitest';
import { addSignal, dataText, judgeSignals, timeoutOf, type Signals } from './signals.ts';

const add = (signals: Signals, body: object | null, message: string, dialect: 'aws' | 'heat' = 'heat') =>
  addSignal(signals, { body: body as never, message, dialect });
const taken = (signals: Signals, body: object | null, message: string): Signals => {
  const added = add(signals, body, message);
  if (!added.ok) throw new Error(added.failure.message);
  return added.signals;
};

describe('signals of a wait condition', () => {
  it('are counted by id, which is a running number if they have none', () => {
    let signals = taken({}, null, 'm1');
    signals = taken(signals, { id: 'a', data: { x: 1 } }, 'm2');
    signals = taken(signals, { id: 'a', data: 'again' }, 'm3');
    expect(Object.keys(signals)).toEqual(['1', 'a']);
    expect(dataText(signals)).toBe('{"1": null, "a": "again"}');
    expect(judgeSignals(signals, { count: 3 })).toBeUndefined();
    expect(judgeSignals(signals, { count: 2 })).toEqual({ ok: true });
  });

  it('are counted once when delivered again', () => {
    const once = taken({}, {}, 'm1');
    expect(taken(once, {}, 'm1')).toEqual(once);
  });

  it('with status FAILURE fail the wait at once, with all their reasons', () => {
    const signals = taken(
      taken({}, { status: 'FAILURE', reason: 'disk' }, 'm1'),
      { status: 'FAILURE', reason: 'net' },
      'm2',
    );
    expect(judgeSignals(signals, { count: 9 })).toMatchObject({
      failure: { code: 'WaitConditionFailure', message: 'disk;net' },
    });
  });

  it('are reported when they arrived before the deadline', () => {
    expect(timeoutOf({}, { count: 1 }).message).toBe('0 of 1 received');
    expect(timeoutOf(taken({}, {}, 'm'), { count: 2 }).message).toBe('1 of 2 received - Signal 1 received');
  });

  it.each([
    [{ state: 'SUCCESS' }, 'state is not a field'],
    [{ status: 'success' }, 'status is SUCCESS or FAILURE'],
    [{ id: {} }, 'id is a text or a number'],
    ['x', 'a signal is a map'],
  ])('are refused when malformed: %j', (body, message) => {
    expect(add({}, body as never, 'm')).toMatchObject({ failure: { message: expect.stringContaining(message) } });
  });

  it('of CloudFormation must have all four fields', () => {
    const body = { Status: 'SUCCESS', Reason: 'r', Data: 'd', UniqueId: 'u' };
    expect(add({}, body, 'm', 'aws')).toMatchObject({ ok: true, signals: { u: { data: 'd' } } });
    expect(add({}, { Status: 'SUCCESS' }, 'm', 'aws')).toMatchObject({
      failure: { message: 'Metadata format invalid: Reason, Data, UniqueId is missing.' },
    });
  });
});
