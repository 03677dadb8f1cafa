import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { host, hostToken } from '../testing/stand-ins.ts';
import { login, password, project, startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const tokens = '/identity/v3/auth/tokens';

describe('logging in', () => {
  it('is found by discovery, and returns a token with the catalog of the same address', async () => {
    const root = await gateway.call('GET', '/identity');
    expect(root.status).toBe(300);
    const v3 = await gateway.call('GET', '/identity/v3');
    expect(v3.json).toMatchObject({
      version: { id: 'v3.14', status: 'stable', links: [{ rel: 'self', href: `${gateway.url}/identity/v3/` }] },
    });
    const { status, headers, json } = await gateway.call('POST', tokens, login());
    expect(status).toBe(201);
    expect(headers.get('x-subject-token')).toMatch(/^.{40,}$/);
    expect(headers.get('x-openstack-request-id')).toMatch(/^req-/);
    const { token } = json as unknown as {
      token: { catalog: { type: string; endpoints: { interface: string; url: string }[] }[] };
    };
    expect(token).toMatchObject({
      methods: ['password'],
      user: { name: 'admin', domain: { id: 'default', name: 'Default' }, password_expires_at: null },
      project: { id: project, name: 'admin', domain: { id: 'default', name: 'Default' } },
      is_domain: false,
    });
    const urls = Object.fromEntries(
      token.catalog.map(({ type, endpoints }) => [type, endpoints.find((each) => each.interface === 'public')?.url]),
    );
    expect(urls).toEqual({
      identity: `${gateway.url}/identity/v3/`,
      orchestration: `${gateway.url}/orchestration/v1/${project}`,
      messaging: `${gateway.url}/messaging`,
      workflowv2: `${gateway.url}/workflow/v2`,
      image: `${gateway.url}/image`,
      baremetal: `${gateway.url}/baremetal`,
    });
  });

  it('accepts user and project by id', async () => {
    const body = {
      auth: {
        identity: { methods: ['password'], password: { user: { id: '00000000000000000000000000000002', password } } },
        scope: { project: { id: project } },
      },
    };
    expect((await gateway.call('POST', tokens, body)).status).toBe(201);
  });

  it('with a token returns another token that expires no later', async () => {
    const first = await gateway.call('POST', tokens, login());
    const id = first.headers.get('x-subject-token');
    const second = await gateway.call('POST', tokens, {
      auth: { identity: { methods: ['token'], token: { id } }, scope: { project: { id: project } } },
    });
    expect(second.status).toBe(201);
    const expiry = ({ json }: { json: unknown }) => (json as { token: { expires_at: string } }).token.expires_at;
    expect(expiry(second)).toBe(expiry(first));
    expect(second.json).toMatchObject({ token: { methods: ['token', 'password'] } });
  });

  it('is 401 with the login address for an unknown user or project', async () => {
    const other = await startTestGateway();
    try {
      const wrong = structuredClone(login());
      wrong.auth.identity.password.user.password = 'wrong password';
      const refused = await other.call('POST', tokens, wrong);
      expect(refused.status).toBe(401);
      expect(refused.headers.get('www-authenticate')).toBe(`Keystone uri="${other.url}/identity"`);
      expect(refused.json).toEqual({
        error: { code: 401, title: 'Unauthorized', message: 'The request you have made requires authentication.' },
      });
      const elsewhere = login({ scope: { project: { name: 'other', domain: { id: 'default' } } } });
      expect((await other.call('POST', tokens, elsewhere)).status).toBe(401);
      // After some failures the next ones have to wait.
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 8; attempt += 1) statuses.push((await other.call('POST', tokens, wrong)).status);
      expect(statuses).toContain(429);
      expect(statuses.lastIndexOf(401)).toBeLessThan(statuses.indexOf(429));
      // The right password is accepted at once, from the same address.
      expect((await other.call('POST', tokens, login())).status).toBe(201);
    } finally {
      await other.stop();
    }
  });

  it('stays possible with the correct password while other clients at the same address guess, also after a restart', async () => {
    const other = await startTestGateway();
    try {
      await other.restart({ ANNEAL_GATEWAY_ADMIN_PASSWORD: '' });
      const wrong = structuredClone(login());
      wrong.auth.identity.password.user.password = 'wrong password';
      await Promise.all(Array.from({ length: 8 }, () => other.call('POST', tokens, wrong)));
      // Each failure doubles the wait, so that a slow machine is refused some attempts later.
      await eventually(async () => (await other.call('POST', tokens, wrong)).status === 429);
      expect((await other.call('POST', tokens, login())).status).toBe(201);
    } finally {
      await other.stop();
    }
  });

  it('waits at an address that tries one password on many users, and not at another one', async () => {
    const other = await startTestGateway({ ANNEAL_GATEWAY_TRUSTED_PROXIES: '127.0.0.1' });
    try {
      const from = (address: string, name: string, guess = 'a common password') => {
        const auth = structuredClone(login());
        Object.assign(auth.auth.identity.password.user, { name, password: guess });
        return other.call('POST', tokens, auth, { 'x-forwarded-for': address });
      };
      const statuses = await Promise.all(
        Array.from({ length: 60 }, async (_, i) => (await from('192.0.2.1', `user-${i}`)).status),
      );
      expect(statuses.filter((status) => status === 401).length).toBeGreaterThanOrEqual(50);
      const refused = await from('192.0.2.1', 'another');
      expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
      expect((await from('192.0.2.2', 'another')).status).toBe(401);
      // A password that was right since the start is not slowed down.
      const { user } = login().auth.identity.password;
      expect((await from('192.0.2.1', user.name, user.password)).status).toBe(201);
    } finally {
      await other.stop();
    }
  });

  it('as a host, with id and token, returns a token for only its own queues', async () => {
    const asHost = (id: string, secret: string) =>
      gateway.call('POST', tokens, {
        auth: {
          identity: { methods: ['password'], password: { user: { id, password: secret } } },
          scope: { project: { id: project } },
        },
      });
    const { status, headers, json } = await asHost(host.host_id, hostToken);
    expect(status).toBe(201);
    expect(json).toMatchObject({ token: { user: { id: host.host_id, name: host.name }, project: { id: project } } });
    const { token } = json as unknown as { token: { catalog: { type: string }[] } };
    expect(token.catalog.map(({ type }) => type)).toContain('messaging');
    const mine = { 'x-auth-token': headers.get('x-subject-token') ?? '' };
    const pop = (queue: string) =>
      gateway.call('DELETE', `/messaging/v2/queues/${queue}/messages?pop=1`, undefined, mine);
    expect((await pop(host.requests_queue)).status).toBe(200);
    expect((await pop('of-another')).status).toBe(403);
    expect((await gateway.call('GET', `/orchestration/v1/${project}/stacks`, undefined, mine)).status).toBe(403);
    expect((await asHost(host.host_id, 'wrong')).status).toBe(401);
    expect((await asHost('another', hostToken)).status).toBe(401);
  });

  it('is 400 with every wrong field when malformed', async () => {
    const { status, json } = await gateway.call('POST', tokens, { auth: { identity: { methods: [] } } });
    expect(status).toBe(400);
    expect(json).toMatchObject({ error: { code: 400, message: expect.stringContaining('auth.identity.methods') } });
    expect((await gateway.call('POST', tokens, '{oops')).status).toBe(400);
  });
});

describe('a token', () => {
  it('can be checked and revoked', async () => {
    const id = (await gateway.call('POST', tokens, login())).headers.get('x-subject-token') ?? '';
    const about = { 'x-subject-token': id };
    expect((await gateway.call('GET', tokens, undefined, about)).json).toMatchObject({
      token: { project: { id: project } },
    });
    expect((await gateway.call('HEAD', tokens, undefined, about)).status).toBe(200);
    expect((await gateway.call('DELETE', tokens, undefined, about)).status).toBe(204);
    expect((await gateway.call('GET', tokens, undefined, about)).status).toBe(404);
    expect(
      (await gateway.call('GET', `${gateway.url}/identity/v3/projects`, undefined, { 'x-auth-token': id })).status,
    ).toBe(401);
  });

  it('answers HEAD wherever it answers GET, without a body', async () => {
    for (const path of [
      '/identity/v3',
      '/identity/v3/auth/catalog',
      '/identity/v3/users',
      '/identity/v3/users/missing',
      '/identity/v3/limits/missing',
    ]) {
      const [get, head] = [await gateway.call('GET', path), await gateway.call('HEAD', path)];
      expect([path, head.status, head.text]).toEqual([path, get.status, '']);
      expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
    }
    expect((await gateway.call('HEAD', '/identity/v3/users', undefined, { 'x-auth-token': '' })).status).toBe(401);
    expect((await gateway.call('HEAD', '/identity/v3/auth/tokens')).status).toBe(400);
  });

  it('survives a restart, and is not stored in clear text', async () => {
    const before = gateway.token;
    await gateway.restart();
    const { status, json } = await gateway.call('GET', '/identity/v3/projects?name=admin');
    expect(status).toBe(200);
    expect(json).toMatchObject({ projects: [{ id: project, name: 'admin' }] });
    const kept = await gateway.context.store.collection<{ id: string; version: number; expires_at: string }>({
      name: 'gateway_tokens',
      indexes: [{ fields: ['expires_at'] }],
    });
    const found = await kept.find({ where: { expires_at: { gt: '' } } });
    expect(found.length).toBeGreaterThan(0);
    expect(JSON.stringify(found)).not.toContain(before);
  });

  it('is refused when it has expired', async () => {
    const short = await startTestGateway({ ANNEAL_GATEWAY_TOKEN_HOURS: '0.001' });
    try {
      expect(short.token).not.toBe('');
      await eventually(async () => (await short.call('GET', '/identity/v3/projects')).status === 401);
    } finally {
      await short.stop();
    }
  });
});

it('a new password in the settings replaces the old one, and without any the old one stays', async () => {
  // Three starts of a gateway, each with the hash of a password, take their time on a busy machine.
  const other = await startTestGateway();
  try {
    await other.restart({ ANNEAL_GATEWAY_ADMIN_PASSWORD: 'another password' });
    expect((await other.call('POST', tokens, login())).status).toBe(401);
    await other.restart({ ANNEAL_GATEWAY_ADMIN_PASSWORD: '' });
    const changed = structuredClone(login());
    changed.auth.identity.password.user.password = 'another password';
    expect((await other.call('POST', tokens, changed)).status).toBe(201);
  } finally {
    await other.stop();
  }
});

describe('behind a proxy', () => {
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'cloud.example', 'x-auth-token': '' };
  const self = async (behind: TestGateway): Promise<string> => {
    const { json } = await behind.call('GET', '/identity/v3', undefined, forwarded);
    return (json as unknown as { version: { links: { href: string }[] } }).version.links[0]?.href ?? '';
  };

  it('links contain the address that clients use only if the proxy is trusted', async () => {
    expect(await self(gateway)).toBe(`${gateway.url}/identity/v3/`);
    for (const [proxies, expected] of [
      ['10.0.0.0/8', 'the gateway'],
      ['10.0.0.0/8, 127.0.0.1', 'https://cloud.example/identity/v3/'],
      ['loopback', 'https://cloud.example/identity/v3/'],
    ] as const) {
      const behind = await startTestGateway({ ANNEAL_GATEWAY_TRUSTED_PROXIES: proxies });
      expect(await self(behind)).toBe(expected === 'the gateway' ? `${behind.url}/identity/v3/` : expected);
      await behind.stop();
    }
  });

  it('an invalid proxy address is refused at the start', async () => {
    for (const wrong of ['everybody', '10.0.0.0/33', '10.0.0.0/8/8', '']) {
      const starting = startTestGateway({ ANNEAL_GATEWAY_TRUSTED_PROXIES: `127.0.0.1,${wrong}` });
      await expect(starting).rejects.toMatchObject({ code: 'InvalidRequest' });
    }
  });
});

describe('the tags of a project', () => {
  it('answer with an address that is a valid header, whatever their characters are', async () => {
    const tag = encodeURIComponent('\u{6A051}l\u0012');
    const path = `/identity/v3/projects/${project}/tags/${tag}`;
    const { status, headers } = await gateway.call('PUT', path);
    expect([status, headers.get('location')]).toEqual([201, `${gateway.url}${path}`]);
    for (const method of ['GET', 'HEAD']) expect((await gateway.call(method, path)).status).toBe(204);
    expect((await gateway.call('DELETE', path)).status).toBe(204);
  });
});
