import { describe, expect, it } from 'vitest';
import { isPublic } from '@anneal/runtime/network/public-address.ts';
import { decide, type OnRefusal } from './schedule.ts';
import { retryAfterOf, type DeliveryOutcome } from '../sinks/outcome.ts';

const retrySeconds = [5, 30, 120];
const outcome = (status: number | null, retryAfter: number | null = null): DeliveryOutcome => ({
  status,
  error: 'x',
  retryAfter,
});
const after = (given: DeliveryOutcome, tries: number, random = 0.5, onRefusal: OnRefusal = 'block') =>
  decide({ outcome: given, tries, retrySeconds, random, onRefusal });

describe('the verdict after an attempt', () => {
  it('is delivered for any 2xx, and disables the subscription for 410', () => {
    for (const status of [200, 201, 204, 299]) expect(after(outcome(status), 1)).toEqual({ kind: 'delivered' });
    expect(after(outcome(410), 1)).toEqual({ kind: 'gone' });
  });

  it('waits longer after each failure, and is dead after the last', () => {
    expect([1, 2, 3, 4].map((tries) => after(outcome(400), tries))).toEqual([
      { kind: 'again', inMs: 5_000, wide: false },
      { kind: 'again', inMs: 30_000, wide: false },
      { kind: 'again', inMs: 120_000, wide: false },
      { kind: 'dead' },
    ]);
  });

  it('is dead at once when the listener refuses and refusals are skipped, not when it is away', () => {
    const kinds = [400, 404, 408, 425, 429, 500, null].map((status) => after(outcome(status), 1, 0.5, 'skip').kind);
    expect(kinds).toEqual(['dead', 'dead', 'again', 'again', 'again', 'again', 'again']);
  });

  it('varies each wait by at most a fifth', () => {
    expect(after(outcome(500), 1, 0)).toMatchObject({ inMs: 4_000 });
    expect(after(outcome(500), 1, 1)).toMatchObject({ inMs: 6_000 });
  });

  it('blames the listener for no answer, 429 and 5xx, and the event for other answers', () => {
    const wide = [null, 429, 500, 503, 301, 400, 404].map((status) => {
      const decision = after(outcome(status), 1);
      return decision.kind === 'again' && decision.wide;
    });
    expect(wide).toEqual([true, true, true, true, false, false, false]);
  });

  it('waits as long as the listener requests, up to a day', () => {
    expect(after(outcome(503, 60), 1)).toMatchObject({ inMs: 60_000 });
    expect(after(outcome(503, 1), 1)).toMatchObject({ inMs: 5_000 });
    expect(after(outcome(503, 1e9), 1)).toMatchObject({ inMs: 86_400_000 });
  });
});

it('retryAfterOf reads seconds or a date, and ignores anything else', () => {
  expect(retryAfterOf('7', 0)).toBe(7);
  expect(retryAfterOf('Thu, 01 Jan 1970 00:01:00 GMT', 0)).toBe(60);
  expect(retryAfterOf('Thu, 01 Jan 1970 00:01:00 GMT', 120_000)).toBe(0);
  expect(retryAfterOf('soon', 0)).toBeNull();
  expect(retryAfterOf(undefined, 0)).toBeNull();
});

it('isPublic is true only for addresses of the public internet', () => {
  const hidden = [
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '224.0.0.1',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    'not an address',
  ];
  expect(hidden.filter(isPublic)).toEqual([]);
  expect(['93.184.216.34', '2606:2800:220:1::1'].filter((address) => !isPublic(address))).toEqual([]);
});
