import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { project, startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const text = expect.stringContaining('Cannot read the address of the request') as string;
const heat = { code: 400, title: 'Bad Request', error: { type: 'HTTPBadRequest', message: text } };
const zaqar = { title: 'Invalid API request', description: text };
const own = { error: { code: 'InvalidRequest', message: text } };
const families: [string, object][] = [
  [`/orchestration/v1/${project}/stacks`, heat],
  ['/orchestration', heat],
  ['/messaging/v2/queues', zaqar],
  ['/v1', zaqar],
  ['/v1.1/queues', zaqar],
  ['/v2/queues', zaqar],
  ['/identity/v3/projects', { error: { code: 400, title: 'Bad Request', message: text } }],
  ['/baremetal/v1/nodes', { error_message: text }],
  ['/cfn/v1/signal', own],
  ['/boot/v1', own],
  ['/join', own],
  ['/agent/v1', own],
  ['/api/v1/hosts', own],
  ['', own],
];

describe.each([
  ['an escape that is not UTF-8', '%E0%A4%A'],
  ['a % without digits', 'a%zz'],
])('%s in an address', (_what, part) => {
  it.each(families)('is refused below "%s" in the form of that API', async (path, body) => {
    for (const method of ['GET', 'POST']) {
      const answer = await gateway.call(method, `${path}/${part}`, method === 'POST' ? {} : undefined);
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject(body);
      expect(answer.headers.get('x-openstack-request-id')).toMatch(/^req-/);
      expect(answer.text).not.toContain(part);
    }
  });
});

it('refuses a too long part of an address in the form of its API', async () => {
  const answer = await gateway.call('GET', `/orchestration/v1/${project}/stacks/${'x'.repeat(3000)}`);
  expect(answer.status).toBe(400);
  expect(answer.json).toMatchObject(heat);
});

it('refuses in its own form also what begins as the prefix of another API', async () => {
  const answer = await gateway.call('GET', '/v1x/%zz');
  expect(answer.json).toMatchObject(own);
});

it.each(['part-of-a-token', 'a'.repeat(200), 'a%20b'])(
  'refuses %s as a line to join, and names a remedy',
  async (token) => {
    for (const [method, path] of [
      ['GET', `/join/${token}`],
      ['POST', `/join/${token}/exchange`],
    ] as const) {
      const answer = await gateway.call(
        method,
        path,
        method === 'POST' ? { key: 'a-key-of-a-machine-with-a-length' } : undefined,
      );
      expect(answer.status).toBe(404);
      expect(answer.text).toContain('anneal host join NAME');
    }
  },
);
