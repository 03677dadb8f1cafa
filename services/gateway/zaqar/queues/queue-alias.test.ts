import { describe, expect, it } from 'vitest';
import { aliasOf, queueNameOf } from './queue-alias.ts';

describe('the names of the queues of hosts', () => {
  it('have no dots in a list, and map back to the queue', () => {
    const name = 'host.0192aaaa-0000-7000-8000-000000000001.requests';
    expect(aliasOf(name)).toBe('host-0192aaaa-0000-7000-8000-000000000001-requests');
    expect(queueNameOf(aliasOf(name))).toBe(name);
  });

  it('are the only names that change', () => {
    for (const name of ['mine', 'host-one-requests', 'host.one.requests', 'x-host-y']) {
      expect(aliasOf(name)).toBe(name);
      expect(queueNameOf(name)).toBe(name);
    }
  });
});
