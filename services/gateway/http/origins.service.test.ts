import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { gatewaySettings } from '../settings.ts';
import { startTestGateway, type HttpAnswer, type TestGateway } from '../testing/test-gateway.ts';

const page = 'https://page.example.org';
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ ANNEAL_GATEWAY_ALLOWED_ORIGINS: `${page}, http://localhost:5173` });
});
afterAll(() => gateway.stop());

const send = (path: string, { method = 'GET', ...headers }: Record<string, string>): Promise<HttpAnswer> =>
  gateway.call(method, path, undefined, headers);
const preflight = (path: string, origin: string): Promise<HttpAnswer> =>
  send(path, { method: 'OPTIONS', 'x-auth-token': '', origin, 'access-control-request-method': 'POST' });
const allowed = ({ headers }: HttpAnswer): string | null => headers.get('access-control-allow-origin');

describe('pages of other origins', () => {
  it('get permission in a preflight without a token, when the setting lists their origin', async () => {
    const answer = await preflight('/api/v1/stacks/a/actions', page);
    expect([answer.status, allowed(answer), answer.headers.get('vary')]).toEqual([204, page, 'Origin']);
    expect(answer.headers.get('access-control-allow-headers')).toContain('X-Auth-Token');
    expect(answer.headers.get('access-control-allow-methods')).toContain('POST');
    for (const origin of ['https://other.example.org', 'null', `${page}.evil.org`])
      expect(allowed(await preflight('/api/v1/stacks/a/actions', origin))).toBeNull();
  });

  it('read answers and errors with a token, and the headers that they need', async () => {
    const [list, refused] = [
      await send('/api/v1/hosts', { origin: page }),
      await send('/api/v1/none', { origin: page }),
    ];
    expect([list.status, allowed(list), refused.status, allowed(refused)]).toEqual([200, page, 404, page]);
    expect(list.headers.get('access-control-expose-headers')).toContain('ETag');
    expect(list.headers.get('vary')).toBe('Origin, Accept-Encoding');
  });

  it('have no use of the session of the console, and no other API', async () => {
    const made = await gateway.call('POST', '/api/v1/session');
    const cookie = made.headers.get('set-cookie')?.split(';')[0] ?? '';
    const statusOf = async (origin: string): Promise<number> =>
      (await send('/api/v1/session', { 'x-auth-token': '', cookie, origin })).status;
    expect(await statusOf(gateway.url)).toBe(200);
    for (const origin of [page, 'https://other.example.org']) expect(await statusOf(origin)).toBe(401);
    const answer = await send('/api/v1/info', { origin: page, cookie });
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    expect(allowed(await send('/identity/v3', { origin: page }))).toBeNull();
  });

  it('get no permission without the setting', async () => {
    await gateway.restart({ ANNEAL_GATEWAY_ALLOWED_ORIGINS: 'https://other.example.org' });
    expect(allowed(await preflight('/api/v1/hosts', page))).toBeNull();
  });

  it('are listed without a path and without *', () => {
    for (const text of ['*', 'https://*.example.org/', `${page}/`, 'page.example.org', 'ftp://a', `${page},`])
      expect(() => readSettings(gatewaySettings, { ANNEAL_GATEWAY_ALLOWED_ORIGINS: text })).toThrow('must be origins');
    expect(readSettings(gatewaySettings, {}).allowedOrigins).toEqual([]);
  });
});

it('answers errors of the own API as problem details', async () => {
  const { status, headers, json } = await gateway.call('GET', '/api/v1/events?limit=0&wrong=1');
  expect(status).toBe(400);
  expect(headers.get('content-type')).toContain('application/problem+json');
  expect(json).toMatchObject({
    type: '/docs/reference/errors#InvalidRequest',
    title: 'Invalid request',
    status: 400,
    detail: json['error']?.['message'],
    error: { code: 'InvalidRequest', mistakes: [{ path: 'limit' }, { path: 'wrong' }] },
  });
  const unknown = await gateway.call('GET', '/api/v1/none');
  expect(unknown.headers.get('content-type')).toContain('application/problem+json');
  expect(unknown.json['title']).toBe('Not found');
  expect((await gateway.call('GET', '/identity/v3/none')).headers.get('content-type')).toContain('application/json');
});
