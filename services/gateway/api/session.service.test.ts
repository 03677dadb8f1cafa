/** Sessions of browsers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostToken } from '../testing/stand-ins.ts';
import { project, startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

/** A session with a token of its own, so that a test may end it. */
async function begin(): Promise<{ cookie: string; proof: string }> {
  const again = await gateway.call('POST', '/identity/v3/auth/tokens', {
    auth: { identity: { methods: ['token'], token: { id: gateway.token } }, scope: { project: { id: project } } },
  });
  const token = again.headers.get('x-subject-token') ?? '';
  const started = await gateway.call('POST', '/api/v1/session', undefined, { 'x-auth-token': token });
  expect(started.status).toBe(201);
  return { cookie: started.headers.get('set-cookie') ?? '', proof: String(started.json['proof']) };
}
const pair = (cookie: string): string => cookie.split(';', 1)[0] ?? '';
const asBrowser = (cookie: string, more: Record<string, string> = {}) => ({
  'x-auth-token': '',
  cookie: `other=1; ${pair(cookie)}`,
  ...more,
});

describe('a session', () => {
  it('is a cookie that scripts cannot read and other sites cannot send', async () => {
    const { cookie } = await begin();
    expect(cookie).toMatch(/^anneal_session_\d+=\S+; Path=\/; HttpOnly; SameSite=Strict; Expires=/);
    const shown = await gateway.call('GET', '/api/v1/session', undefined, asBrowser(cookie));
    expect([shown.status, shown.json]).toMatchObject([
      200,
      { user: { name: 'admin' }, project: { name: 'admin' }, paths: { baremetal: '/baremetal' } },
    ]);
  });

  it('is Secure behind a proxy that speaks TLS', async () => {
    await gateway.restart({ ANNEAL_GATEWAY_TRUSTED_PROXIES: 'loopback' });
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'anneal.example' };
    const { headers: got } = await gateway.call('POST', '/api/v1/session', undefined, headers);
    expect(got.get('set-cookie')).toMatch(/^anneal_session=.*; Secure$/);
    await gateway.restart();
  });

  it('reads with the cookie alone, and changes something only with the proof', async () => {
    const { cookie, proof } = await begin();
    const post = (more: Record<string, string>) =>
      gateway.call('POST', '/messaging/v2/queues/session-test/messages', '{"messages": []}', {
        'client-id': '3381af92-2b9e-11e3-b191-71861300734c',
        ...asBrowser(cookie, more),
      });
    expect((await gateway.call('GET', '/api/v1/services', undefined, asBrowser(cookie))).status).toBe(200);
    expect((await post({})).status).toBe(403);
    expect((await post({ 'x-anneal-proof': `${proof.slice(1)}x` })).status).toBe(403);
    // The queue API refuses an empty list, which shows that the request got past the check.
    expect((await post({ 'x-anneal-proof': proof })).status).toBe(400);
  });

  it('ends when it is deleted: the token is revoked', async () => {
    const { cookie, proof } = await begin();
    const ended = await gateway.call(
      'DELETE',
      '/api/v1/session',
      undefined,
      asBrowser(cookie, { 'x-anneal-proof': proof }),
    );
    expect([ended.status, ended.headers.get('set-cookie')]).toEqual([
      204,
      expect.stringContaining('Expires=Thu, 01 Jan 1970'),
    ]);
    expect((await gateway.call('GET', '/api/v1/session', undefined, asBrowser(cookie))).status).toBe(401);
  });

  it('is refused to a host, and to a request without a token', async () => {
    expect((await gateway.call('POST', '/api/v1/session', undefined, { 'x-auth-token': hostToken })).status).toBe(403);
    expect((await gateway.call('POST', '/api/v1/session', undefined, { 'x-auth-token': '' })).status).toBe(401);
  });
});

describe('the page of the console', () => {
  const page = { accept: 'text/html,application/xhtml+xml', 'x-auth-token': '' };

  it('is at every address outside the APIs, for a browser only', async () => {
    for (const path of ['/', '/stacks/web', '/unknown']) {
      const shown = await gateway.call('GET', path, undefined, page);
      expect([path, shown.status, shown.headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8']);
      expect(shown.headers.get('content-security-policy')).toContain("script-src 'self'");
    }
    expect((await gateway.call('GET', '/unknown')).status).toBe(404);
    expect((await gateway.call('GET', '/')).json).toMatchObject({ name: 'anneal' });
    expect((await gateway.call('GET', '/api/v1/unknown', undefined, page)).status).toBe(401);
  });

  it('says how to build the console when it is not built', async () => {
    await gateway.restart({ ANNEAL_GATEWAY_CONSOLE: '/nonexistent' });
    expect((await gateway.call('GET', '/', undefined, page)).text).toContain('npm run build:console');
    expect((await gateway.call('GET', '/assets/..%2f..%2fpackage.json')).status).toBeGreaterThanOrEqual(400);
    await gateway.restart();
  });
});
