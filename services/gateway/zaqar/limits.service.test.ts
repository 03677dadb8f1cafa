import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    ANNEAL_GATEWAY_QUEUE_PAGE: '3',
    ANNEAL_GATEWAY_QUEUE_POP: '2',
    ANNEAL_GATEWAY_MESSAGE_SECONDS: '100',
    ANNEAL_GATEWAY_CLAIM_SECONDS: '90',
  });
  await gateway.behind.post('work', { n: 0 });
});
afterAll(() => gateway.stop());

const messages = (count: number, ttl = 60) => ({ messages: Array.from({ length: count }, () => ({ body: 1, ttl })) });
type Row = [method: string, within: string, over: string, setting: string, smaller?: unknown, larger?: unknown];
const requests: Row[] = [
  ['GET', '/queues?limit=3', '/queues?limit=4', 'QUEUE_PAGE'],
  ['GET', '/queues/work/messages?limit=3', '/queues/work/messages?limit=4', 'QUEUE_PAGE'],
  ['POST', '/queues/work/claims?limit=3', '/queues/work/claims?limit=4', 'QUEUE_PAGE'],
  ['POST', '/queues/work/messages', '/queues/work/messages', 'QUEUE_PAGE', messages(3), messages(4)],
  ['POST', '/queues/work/messages', '/queues/work/messages', 'MESSAGE_SECONDS', messages(1, 100), messages(1, 101)],
  ['POST', '/queues/work/claims', '/queues/work/claims', 'CLAIM_SECONDS', { ttl: 90 }, { ttl: 91 }],
  ['POST', '/queues/work/claims', '/queues/work/claims', 'CLAIM_SECONDS', { grace: 90 }, { grace: 91 }],
  ['DELETE', '/queues/work/messages?pop=2', '/queues/work/messages?pop=3', 'QUEUE_POP'],
  ['DELETE', '/queues/work/messages?ids=a,b', '/queues/work/messages?ids=a,b,c', 'QUEUE_POP'],
];

it.each(requests)(
  '%s %s is within the limit; %s is refused with the setting %s',
  async (method, within, over, setting, smaller, larger) => {
    const call = (path: string, body: unknown) =>
      gateway.call(method, `/messaging/v2${path}`, body, { 'client-id': '3381af92-2b9e-11e3-b191-71861300734c' });
    expect((await call(within, smaller)).status).toBeLessThan(300);
    const refused = await call(over, larger);
    expect([refused.status, refused.json['description']]).toEqual([
      400,
      expect.stringContaining(`(ANNEAL_GATEWAY_${setting})`),
    ]);
  },
);
