import { describe, expect, it } from 'vitest';
import type { NodeDocument } from '../documents/node.ts';
import { bmcHealth, readingIntervalMs } from './health.ts';

const time = (ms: number): string => new Date(ms).toISOString();
const pace = { now: 100_000, pollMs: 60_000 };
const error = { code: 'BmcUnreachable', message: 'no answer' };
const node = (change: object = {}): NodeDocument =>
  ({
    state: 'available',
    maintenance: false,
    work: null,
    fault: null,
    poll: { failures: 0 },
    ...change,
  }) as NodeDocument;

describe('the health of a BMC', () => {
  it('prefers what this process has seen to an older stored time', () => {
    const stored = node({ poll: { failures: 0, answered_at: time(50_000) } });
    expect(bmcHealth(stored, undefined)).toMatchObject({ last_contact: time(50_000), breaker: 'closed' });
    expect(bmcHealth(stored, { triedAt: 90_000, answeredAt: 90_000 }, pace)).toMatchObject({
      last_contact: time(90_000),
      next_try: time(150_000),
    });
    expect(bmcHealth(stored, { triedAt: 9, answeredAt: 9 })).toMatchObject({ last_contact: time(50_000) });
  });

  it('opens the breaker after three failures in a row, and keeps the last contact', () => {
    const poll = { failures: 2, answered_at: time(1), tried_at: time(90_000), error };
    expect(bmcHealth(node({ poll }), undefined)).toMatchObject({ failures: 2, breaker: 'closed', last_error: error });
    expect(bmcHealth(node({ poll: { ...poll, failures: 3 } }), undefined, pace)).toEqual({
      last_contact: time(1),
      failures: 3,
      last_error: error,
      breaker: 'open',
      next_try: time(150_000),
    });
  });

  it('plans rare tries for a controller that refuses the credentials, so that it does not lock the account', () => {
    const refused = { code: 'BmcMisconfigured', message: '401' };
    const poll = { failures: 3, tried_at: time(90_000), error: refused };
    expect(bmcHealth(node({ poll }), undefined, pace).next_try).toBe(time(690_000));
    expect(bmcHealth(node({ poll: { ...poll, failures: 2 } }), undefined, pace).next_try).toBe(time(150_000));
    expect(readingIntervalMs(node({ poll }), 3_600_000)).toBe(3_600_000);
  });

  it('reports the attempts and the next attempt of work in progress', () => {
    const work = { attempts: 4, next_at: 120_000 };
    expect(bmcHealth(node({ work, last_error: error }), undefined, pace)).toMatchObject({
      failures: 4,
      last_error: error,
      next_try: time(120_000),
    });
    expect(bmcHealth(node({ work: { attempts: 0, next_at: 0 } }), undefined, pace).next_try).toBeNull();
  });

  it('plans no try for a node in maintenance, and one within the interval where another replica reads', () => {
    expect(bmcHealth(node({ maintenance: true }), undefined, pace).next_try).toBeNull();
    expect(bmcHealth(node(), undefined, pace).next_try).toBe(time(160_000));
  });
});
