import { describe, expect, it } from 'vitest';
import { Attempts, networkOf, type AttemptPlace } from './attempts.ts';

function counted(free = 5) {
  let at = 0;
  const attempts = new Attempts({ now: () => at, what: 'Logging in', free, longestWaitMs: 60_000 });
  const isRefused = (place: AttemptPlace): boolean => {
    try {
      attempts.check(place);
      return false;
    } catch {
      return true;
    }
  };
  const later = (ms: number): void => {
    at += ms;
  };
  return { attempts, isRefused, later };
}

describe('failed attempts', () => {
  it('F1: wait by name, until one succeeds', () => {
    const { attempts, isRefused, later } = counted();
    const ada = { address: '192.0.2.1', name: 'ada' };
    for (let i = 0; i < 6; i += 1) attempts.failed(ada);
    expect(isRefused(ada)).toBe(true);
    expect(isRefused({ ...ada, name: 'bob' })).toBe(false);
    expect(isRefused({ ...ada, address: '192.0.2.2' })).toBe(false);
    later(1001);
    expect(isRefused(ada)).toBe(false);
    attempts.succeeded(ada);
    for (let i = 0; i < 5; i += 1) attempts.failed(ada);
    expect(isRefused(ada)).toBe(false);
  });

  it('F2: wait by address, whatever the names, and however often one of them succeeds', () => {
    const { attempts, isRefused, later } = counted();
    const own = { address: '192.0.2.1', name: 'own' };
    for (let i = 0; i < 51; i += 1) {
      attempts.failed({ address: '192.0.2.1', name: `user-${i}` });
      attempts.succeeded(own);
    }
    expect(isRefused({ address: '192.0.2.1', name: 'new' })).toBe(true);
    expect(isRefused({ address: '192.0.2.9', name: 'new' })).toBe(false);
    expect(() => attempts.check(own)).toThrow(/failed 51 times from this address; .* in 1 s/);
    later(60 * 60_000 - 1);
    attempts.failed({ address: '192.0.2.1', name: 'late' });
    expect(isRefused(own)).toBe(true);
    later(15_001);
    expect(isRefused(own)).toBe(false);
  });

  it('F3: count all addresses of one IPv6 network', () => {
    const { attempts, isRefused } = counted();
    for (let i = 0; i < 51; i += 1) attempts.failed({ address: `2001:db8:0:7::${i.toString(16)}`, name: `user-${i}` });
    expect(isRefused({ address: '2001:db8:0:7:ffff::1', name: 'new' })).toBe(true);
    expect(isRefused({ address: '2001:db8:0:8::1', name: 'new' })).toBe(false);
  });

  it('keep the count of an address while its names push out older ones', () => {
    let at = 0;
    const attempts = new Attempts({ now: () => at, what: 'Logging in', free: 5, longestWaitMs: 1000, mostPlaces: 20 });
    for (let i = 0; i < 100; i += 1, at += 1) attempts.failed({ address: '192.0.2.1', name: `user-${i}` });
    expect(() => attempts.check({ address: '192.0.2.1', name: 'new' })).toThrow(/failed 100 times/);
  });
});

describe('the network of an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::1', '0:0:0:0::/64'],
    ['2001:DB8::1', '2001:db8:0:0::/64'],
    ['2001:0db8:0000:0007:1:2:3:4', '2001:db8:0:7::/64'],
    ['2001:db8:1:2:3::', '2001:db8:1:2::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['unix socket', 'unix socket'],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
