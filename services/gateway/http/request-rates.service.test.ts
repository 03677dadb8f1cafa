import { eventually } from '@anneal/runtime/testing.ts';
import { describe, expect, it } from 'vitest';
import { project, startTestGateway } from '../testing/test-gateway.ts';
import { RequestRates } from './request-rates.ts';

const ann = { user: { id: 'a', name: 'ann' }, project: 'p' };

describe('the rate of requests', () => {
  it('lets a user send the requests of ten seconds at once, then as many as time has passed for', () => {
    let now = 0;
    const rates = new RequestRates({ perSecond: 2, setting: 'SETTING', elapsed: () => now });
    for (let sent = 0; sent < 20; sent += 1) rates.count(ann);
    expect(() => rates.count(ann)).toThrow(
      'User ann sends more than 2 requests per second (SETTING). The next request is possible in 1 s.',
    );
    now = 500;
    rates.count(ann);
    expect(() => rates.count(ann)).toThrow(/more than 2/);
    // Other users, and the user in another project, have a count of their own.
    rates.count({ ...ann, user: { id: 'b', name: 'bob' } });
    rates.count({ ...ann, project: null });
    // A long pause saves up no more.
    now = 3_600_000;
    for (let sent = 0; sent < 20; sent += 1) rates.count(ann);
    expect(() => rates.count(ann)).toThrow(/more than 2/);
  });

  it('names the seconds to wait, and forgets the oldest of too many users', () => {
    const slow = new RequestRates({ perSecond: 0.1, setting: 'SETTING', elapsed: () => 0, mostUsers: 1 });
    slow.count(ann);
    expect(() => slow.count(ann)).toThrow(
      expect.objectContaining({ code: 'LimitReached', details: { retry_after_seconds: 10 } }),
    );
    slow.count({ ...ann, project: 'q' });
    slow.count(ann);
  });

  it('is kept in every API: more requests are refused with 429 and Retry-After, in its form', async () => {
    const gateway = await startTestGateway({ ANNEAL_GATEWAY_USER_REQUESTS: '1' });
    try {
      for (const path of ['/api/v1/hosts', `/orchestration/v1/${project}/stacks`, '/messaging/v2/queues']) {
        const refused = await eventually(
          async () => {
            const all = await Promise.all(Array.from({ length: 20 }, () => gateway.call('GET', path)));
            return all.find(({ status }) => status === 429);
          },
          { what: `a refused request to ${path}` },
        );
        expect(refused.headers.get('retry-after')).toBe('1');
        expect(refused.text).toContain(
          'User admin sends more than 1 requests per second (ANNEAL_GATEWAY_USER_REQUESTS)',
        );
      }
    } finally {
      await gateway.stop();
    }
  });
});
