/** Logins by a real OpenID provider: who gets in, with which roles, and what is refused. */
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { deviceLogin } from '@anneal/client/device-login.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { startIdentity } from '@anneal/identity/testing/start-identity.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { SignJWT, UnsecuredJWT, generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freeLocalPort } from '../backends/free-port.ts';
import {
  clients,
  confirmDevice,
  FormBrowser,
  startOpenIdProvider,
  type OpenIdProvider,
} from '../backends/oidc-provider.ts';

useQuickClock({ stepMs: 20 });

let context: TestContext;
let gateway: RunningService;
let identity: RunningService;
let provider: OpenIdProvider;
let url = '';
let admin = '';

const start = async (more: Record<string, string> = {}): Promise<void> => {
  identity = await startIdentity(context, 'correct horse', {
    ANNEAL_GATEWAY_OIDC_ISSUER: provider.issuer,
    ANNEAL_GATEWAY_OIDC_CLIENT_ID: 'anneal',
    ANNEAL_GATEWAY_OIDC_CLIENT_SECRET: clients.anneal,
    ANNEAL_GATEWAY_OIDC_SCOPES: 'openid profile groups',
    ANNEAL_GATEWAY_OIDC_NAME: 'company',
    ANNEAL_GATEWAY_OIDC_ROLES: 'web-team=member@web,ops=admin@admin',
    ...more,
  });
  const settings = readSettings(gatewayService.settings, { ANNEAL_GATEWAY_PORT: new URL(url).port });
  gateway = await gatewayService.start(context, settings);
};
const stop = async (): Promise<void> => {
  await gateway.stop();
  await identity.stop();
};
const restart = async (more?: Record<string, string>): Promise<void> => {
  await stop();
  await start(more);
};

interface Answer {
  status: number;
  headers: Headers;
  json: Record<string, unknown>;
}
const call = async (method: string, path: string, body?: unknown, token = admin): Promise<Answer> => {
  const response = await fetch(`${url}/identity${path}`, {
    method,
    headers: { 'x-auth-token': token, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    json: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
};
const make = async (kind: string, fields: object): Promise<string> => {
  const { json } = await call('POST', `/v3/${kind}s`, { [kind]: fields });
  return (json[kind] as { id: string }).id;
};

beforeAll(async () => {
  url = `http://127.0.0.1:${await freeLocalPort()}`;
  provider = await startOpenIdProvider(`${url}/identity/oidc/callback`);
  context = await createTestContext({ name: 'gateway' });
  await start();
  const user = { name: 'admin', domain: { id: 'default' }, password: 'correct horse' };
  const scope = { project: { name: 'admin', domain: { id: 'default' } } };
  const { headers } = await call('POST', '/v3/auth/tokens', {
    auth: { identity: { methods: ['password'], password: { user } }, scope },
  });
  admin = headers.get('x-subject-token') ?? '';
  await make('project', { name: 'web' });
});
afterAll(async () => {
  await stop();
  await provider.stop();
  await context.dispose();
});

/** Adds a user at the provider, in these groups. */
const at = (subject: string, ...groups: string[]): string => {
  provider.accounts.set(subject, { preferred_username: `${subject}.name`, groups });
  return subject;
};

/** Logs in through the pages of the provider, and shows where the browser ends and its session. */
async function inBrowser(subject: string, path = '/identity/oidc/login') {
  const browser = new FormBrowser();
  const callback = await browser.logIn(`${url}${path}`, { subject, end: `${url}/identity/oidc/callback` });
  const end = await browser.request(callback);
  const shown = await fetch(`${url}/api/v1/session`, { headers: { cookie: browser.cookies(url) } });
  return {
    browser,
    callback,
    end: end.headers.get('location'),
    session: (shown.ok ? await shown.json() : undefined) as
      | { user: { id: string; name: string }; project: { name: string }; operator: boolean }
      | undefined,
  };
}

const federated = (token: string): Promise<Response> =>
  fetch(`${url}/identity/v3/OS-FEDERATION/identity_providers/company/protocols/openid/auth`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  });
const statusOf = async (token: string): Promise<number> => (await federated(token)).status;

describe('a login in a browser', () => {
  it('creates the user at the first login, with the roles that the groups map to, and finds it again', async () => {
    const first = await inBrowser(at('ann', 'web-team'));
    expect(first).toMatchObject({
      end: '/',
      session: { user: { name: 'ann.name' }, project: { name: 'web' }, operator: false },
    });
    provider.accounts.set('ann', { preferred_username: 'ann.married', groups: ['web-team'] });
    const again = await inBrowser('ann');
    expect(again.session?.user).toEqual(first.session?.user);
  });

  it('has the groups and roles that the provider names then, and no others of the mapping', async () => {
    await inBrowser(at('bob', 'ops'));
    const both = await inBrowser(at('bob', 'ops', 'web-team'), '/identity/oidc/login?project=web');
    expect(both.session).toMatchObject({ project: { name: 'web' } });
    expect((await inBrowser(at('bob', 'ops'))).session).toMatchObject({ project: { name: 'admin' }, operator: true });
    const refused = await inBrowser('bob', '/identity/oidc/login?project=web');
    expect(refused).toMatchObject({ end: '/?login=refused', session: undefined });
  });

  it('makes the user a member of the groups of the domain of the provider', async () => {
    await inBrowser(at('cleo', 'ops'));
    const { json } = await call('GET', '/v3/domains?name=company');
    const [{ id: domain_id } = { id: '' }] = json['domains'] as { id: string }[];
    const group = await make('group', { name: 'night shift', domain_id });
    const { session } = await inBrowser(at('cleo', 'ops', 'night shift'));
    const groups = async () => (await call('GET', `/v3/users/${session?.user.id}/groups`)).json['groups'];
    expect(await groups()).toMatchObject([{ id: group }]);
    await inBrowser(at('cleo', 'ops'));
    expect(await groups()).toEqual([]);
  });

  it('ends only in the browser that began it, and only once', async () => {
    const began = new FormBrowser();
    const callback = await began.logIn(`${url}/identity/oidc/login`, {
      subject: at('dan', 'ops'),
      end: `${url}/identity/oidc/callback`,
    });
    const ends = async (browser: FormBrowser) => (await browser.request(callback)).headers.get('location');
    expect(await ends(new FormBrowser())).toBe('/?login=expired');
    // A login that the victim's browser has begun does not take the code of an attacker.
    const victim = new FormBrowser();
    await victim.request(`${url}/identity/oidc/login`);
    expect(await ends(victim)).toBe('/?login=refused');
    expect(await ends(began)).toBe('/');
    expect(await ends(began)).toBe('/?login=expired');
  });

  it('ends at a page of this server, whatever address the link names', async () => {
    const { end } = await inBrowser(at('eve', 'ops'), '/identity/oidc/login?return=https://evil.example&next=//evil');
    expect(end).toBe('/');
  });

  it('sends PKCE, a state and a nonce, and keeps them in a cookie that no script reads', async () => {
    const response = await fetch(`${url}/identity/oidc/login`, { redirect: 'manual' });
    const asked = new URL(response.headers.get('location') ?? '').searchParams;
    expect(asked.get('code_challenge_method')).toBe('S256');
    for (const name of ['code_challenge', 'state', 'nonce']) expect(asked.get(name)?.length).toBeGreaterThan(20);
    const cookie = response.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^anneal_oidc_\d+=\S+; Path=\/identity\/oidc; HttpOnly; SameSite=Lax; Expires=/);
    expect(Buffer.from(cookie, 'base64url').toString()).not.toContain(asked.get('state'));
  });

  it('is refused to a user without a role, a disabled user, and in a disabled project', async () => {
    expect((await inBrowser(at('finn'))).end).toBe('/?login=refused');
    const { session } = await inBrowser(at('gus', 'web-team'));
    await call('PATCH', `/v3/users/${session?.user.id}`, { user: { enabled: false } });
    expect((await inBrowser('gus')).end).toBe('/?login=refused');
    expect(await statusOf(await provider.accessToken('anneal', 'gus'))).toBe(401);
    const { json } = await call('GET', '/v3/projects?name=web');
    const [{ id } = { id: '' }] = json['projects'] as { id: string }[];
    await call('PATCH', `/v3/projects/${id}`, { project: { enabled: false } });
    expect((await inBrowser('ann')).end).toBe('/?login=refused');
    await call('PATCH', `/v3/projects/${id}`, { project: { enabled: true } });
    expect((await inBrowser('ann')).end).toBe('/');
  });

  it('never becomes another user of the same name', async () => {
    const { json } = await call('GET', '/v3/domains?name=company');
    const [{ id: domain_id } = { id: '' }] = json['domains'] as { id: string }[];
    await make('user', { name: 'hal.name', domain_id, password: 'a local password' });
    expect((await inBrowser(at('hal', 'ops'))).end).toBe('/?login=refused');
    provider.accounts.set('not ann', { preferred_username: 'ann.name', groups: ['ops'] });
    expect((await inBrowser('not ann')).end).toBe('/?login=refused');
    provider.accounts.set('not admin', { preferred_username: 'admin', groups: ['web-team'] });
    const { session } = await inBrowser('not admin');
    expect(session).toMatchObject({ user: { name: 'admin' }, operator: false });
    expect(session?.user.id).not.toBe('00000000000000000000000000000002');
  });

  it('is refused to users whom no operator has created, when the setting says so', async () => {
    await restart({ ANNEAL_GATEWAY_OIDC_USERS: 'refuse' });
    expect((await inBrowser(at('ida', 'ops'))).end).toBe('/?login=refused');
    const { json } = await call('GET', '/v3/domains?name=company');
    const [{ id: domain_id } = { id: '' }] = json['domains'] as { id: string }[];
    const id = await make('user', { name: 'ida.name', domain_id });
    expect((await inBrowser('ida')).session?.user.id).toBe(id);
    await restart();
  });

  it('shows that the provider does not answer, and works again when it does', async () => {
    const browser = new FormBrowser();
    const callback = await browser.logIn(`${url}/identity/oidc/login`, {
      subject: 'ann',
      end: `${url}/identity/oidc/callback`,
    });
    provider.pause(true);
    expect((await browser.request(callback)).headers.get('location')).toBe('/?login=unavailable');
    await restart();
    expect((await fetch(`${url}/identity/oidc/login`, { redirect: 'manual' })).status).toBe(503);
    provider.pause(false);
    expect((await inBrowser('ann')).end).toBe('/');
  });
});

describe('a token of the provider at the federation address of Keystone', () => {
  const claims = (more: object = {}) => ({
    iss: provider.issuer,
    aud: 'anneal',
    sub: 'jan',
    preferred_username: 'jan.name',
    groups: ['web-team'],
    exp: Math.floor(Date.now() / 1000) + 60,
    ...more,
  });

  it('gives a token without a scope, which gets a project as any other does', async () => {
    const response = await federated(await provider.accessToken('anneal', at('kim', 'web-team')));
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ token: { methods: ['openid'], user: { name: 'kim.name' } } });
    const id = response.headers.get('x-subject-token') ?? '';
    const scope = { project: { name: 'web', domain: { id: 'default' } } };
    const auth = { identity: { methods: ['token'], token: { id } }, scope };
    const scoped = await call('POST', '/v3/auth/tokens', { auth }, '');
    expect([scoped.status, scoped.json]).toMatchObject([201, { token: { project: { name: 'web' } } }]);
  });

  it('changes no group when it says nothing about groups, which a login in a browser does', async () => {
    const roles = async (): Promise<unknown> => {
      const named = await call('GET', '/v3/users?name=jan.name');
      const [{ id } = { id: '' }] = named.json['users'] as { id: string }[];
      return (await call('GET', `/v3/role_assignments?user.id=${id}`)).json['role_assignments'];
    };
    expect(await statusOf(await provider.sign(claims()))).toBe(201);
    expect(await statusOf(await provider.sign(claims({ groups: undefined })))).toBe(201);
    expect(await roles()).toHaveLength(1);
    provider.accounts.set('jan', { preferred_username: 'jan.name' });
    expect((await inBrowser('jan')).end).toBe('/?login=refused');
    expect(await roles()).toEqual([]);
  });

  it('is refused when it is for another program, is not active, or has no provider of that name', async () => {
    expect(await statusOf(await provider.accessToken('other', at('lea', 'web-team')))).toBe(401);
    expect(await statusOf('an-unknown-token')).toBe(401);
    const elsewhere = `${url}/identity/v3/OS-FEDERATION/identity_providers/other/protocols/openid/auth`;
    expect((await fetch(elsewhere, { method: 'POST' })).status).toBe(404);
  });

  it('may be a JWT of the issuer for this client, with clocks that differ by 30 s', async () => {
    const now = Math.floor(Date.now() / 1000);
    expect(await statusOf(await provider.sign(claims()))).toBe(201);
    expect(await statusOf(await provider.sign(claims({ exp: now - 10 })))).toBe(201);
    const wrong = [
      { exp: now - 60 },
      { exp: undefined },
      { nbf: now + 60 },
      { aud: 'other' },
      { aud: undefined },
      { iss: 'https://evil.example' },
      { sub: undefined },
      { preferred_username: '' },
    ];
    for (const each of wrong) expect([each, await statusOf(await provider.sign(claims(each)))]).toEqual([each, 401]);
  });

  it('has the audience and the claims that the settings name', async () => {
    const other = { aud: 'portal', email: 'nora@company.example', realm: { roles: ['web-team'] }, groups: undefined };
    const token = await provider.sign(claims({ sub: 'nora', preferred_username: undefined, ...other }));
    expect(await statusOf(token)).toBe(401);
    await restart({
      ANNEAL_GATEWAY_OIDC_AUDIENCE: 'portal',
      ANNEAL_GATEWAY_OIDC_NAME_CLAIM: 'email',
      ANNEAL_GATEWAY_OIDC_GROUPS_CLAIM: 'realm.roles',
    });
    const response = await federated(token);
    expect(await response.json()).toMatchObject({ token: { user: { name: 'nora@company.example' } } });
    const id = response.headers.get('x-subject-token') ?? '';
    // The group of the claim has a role in the project web.
    const scope = { project: { name: 'web', domain: { id: 'default' } } };
    const auth = { identity: { methods: ['token'], token: { id } }, scope };
    expect((await call('POST', '/v3/auth/tokens', { auth }, '')).status).toBe(201);
    await restart();
  });

  it('is refused when the issuer has not signed it', async () => {
    await restart();
    const { privateKey } = await generateKeyPair('RS256');
    const forged = await new SignJWT(claims()).setProtectedHeader({ alg: 'RS256', kid: 'key-1' }).sign(privateKey);
    const shared = new TextEncoder().encode(clients.anneal);
    const symmetric = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256' }).sign(shared);
    const unsigned = new UnsecuredJWT(claims()).encode();
    for (const token of [forged, symmetric, unsigned]) expect(await statusOf(token)).toBe(401);
  });

  it('makes an address wait that sends many wrong ones', async () => {
    await restart();
    const statuses: number[] = [];
    for (let sent = 0; sent < 12; sent += 1) statuses.push(await statusOf('an-unknown-token'));
    expect(statuses.slice(0, 11)).toEqual(Array.from({ length: 11 }, () => 401));
    expect(statuses[11]).toBe(429);
    await restart();
  });

  it('may be signed with a key that the provider has begun to use since', async () => {
    const old = await provider.sign(claims());
    expect(await statusOf(old)).toBe(201);
    await provider.rotate();
    const next = await provider.sign(claims());
    await eventually(async () => (await statusOf(next)) === 201, { what: 'a token with the new key' });
    expect(await statusOf(old)).toBe(401);
    await restart();
  });
});

describe('a login on another machine', () => {
  it('gets a token when the user has confirmed the code in any browser', async () => {
    let waits = 0;
    let where = { address: '', code: '' };
    const login = await deviceLogin({
      authUrl: `${url}/identity/v3`,
      show: (shown) => {
        where = shown;
      },
      wait: async () => {
        waits += 1;
        // The first question comes before the user has confirmed.
        if (waits === 2) await confirmDevice(where.address, at('mia', 'web-team'));
      },
    });
    expect(login).toMatchObject({ user: 'mia.name', project: 'web' });
    expect(where.code).not.toBe('');
    const shown = await call('GET', '/v3/auth/projects', undefined, login.token);
    expect(shown.json['projects']).toMatchObject([{ name: 'web' }]);
    expect(waits).toBe(2);
  });

  it('is refused with a code that the provider does not know', async () => {
    expect((await call('POST', '/oidc/device/token', { device_code: 'guessed' }, '')).status).toBe(401);
  });
});
