import { eventually } from '@anneal/runtime/testing.ts';
import { describe, expect, it } from 'vitest';
import { project, startTestGateway } from '../testing/test-gateway.ts';
import { RequestsInProgress } from './requests-in-progress.ts';

const ann = { user: { id: 'a', name: 'ann' }, project: 'p' };

describe('the requests that a user has in progress', () => {
  it('are counted by user and project until they end', () => {
    const requests = new RequestsInProgress({ most: 2, setting: 'SETTING' });
    const ends = [requests.begin(ann), requests.begin(ann)];
    expect(() => requests.begin(ann)).toThrow(
      'User ann has 2 requests in progress, long polls and event streams included, which is the limit (SETTING). Send the next one when one of them has ended.',
    );
    requests.begin({ ...ann, project: null });
    requests.begin({ ...ann, user: { id: 'b', name: 'bob' } });
    for (const end of ends) end();
    requests.begin(ann);
  });

  it('are refused over the limit with 429 in every API, and go on when others have ended', async () => {
    const gateway = await startTestGateway({ ANNEAL_GATEWAY_USER_CONCURRENCY: '2' });
    try {
      const held = new AbortController();
      const polls = [1, 2].map(() =>
        fetch(`${gateway.url}/messaging/v2/queues/later/claims?wait=20`, {
          method: 'POST',
          body: JSON.stringify({ ttl: 60, grace: 60 }),
          headers: {
            'x-auth-token': gateway.token,
            'content-type': 'application/json',
            'client-id': crypto.randomUUID(),
          },
          signal: held.signal,
        }).catch(() => undefined),
      );
      await eventually(async () => ((await gateway.call('GET', '/api/v1/hosts')).status === 429 ? true : undefined), {
        what: 'two long polls',
      });
      for (const path of ['/api/v1/hosts', `/orchestration/v1/${project}/stacks`, '/messaging/v2/queues']) {
        const refused = await gateway.call('GET', path);
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
        expect(refused.text).toContain('User admin has 2 requests in progress');
      }
      held.abort();
      await Promise.all(polls);
      const isFree = () =>
        eventually(async () => ((await gateway.call('GET', '/api/v1/hosts')).status === 200 ? true : undefined), {
          what: 'a request after those before',
        });
      await isFree();
      // Some of them leave while their token is read.
      for (let n = 0; n < 20; n += 1) {
        const leaving = AbortSignal.timeout(n % 5);
        const headers = { 'x-auth-token': gateway.token };
        await fetch(`${gateway.url}/api/v1/hosts`, { headers, signal: leaving }).catch(() => undefined);
      }
      await isFree();
    } finally {
      await gateway.stop();
    }
  });
});
