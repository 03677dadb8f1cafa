import { afterAll, beforeAll, expect, it } from 'vitest';
import { trustToken } from '@anneal/runtime/secrets/trust-token.ts';
import { startTestGateway, type HttpAnswer, type TestGateway } from '../../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const v3 = '/identity/v3';
interface Named {
  readonly id: string;
  readonly name: string;
}
let count = 0;

async function make(kind: string, body: object): Promise<Named> {
  const { json } = await gateway.call('POST', `${v3}/${kind}s`, { [kind]: body });
  return json[kind] as unknown as Named;
}

const tokenFor = (user: Named, scope?: object): Promise<HttpAnswer> =>
  gateway.call('POST', `${v3}/auth/tokens`, {
    auth: {
      identity: { methods: ['password'], password: { user: { id: user.id, password: 'a good password' } } },
      ...(scope && { scope }),
    },
  });

/** A trustor who is member of a project, a trustee without any role, and calls with the trustor's token. */
async function world() {
  count += 1;
  const project = await make('project', { name: `p${count}` });
  const [trustor, trustee] = [
    await make('user', { name: `trustor${count}`, password: 'a good password' }),
    await make('user', { name: `trustee${count}`, password: 'a good password' }),
  ];
  const { json } = await gateway.call('GET', `${v3}/roles?name=member`);
  const [member] = json['roles'] as unknown as Named[];
  const grant = `${v3}/projects/${project.id}/users/${trustor.id}/roles/${member?.id}`;
  expect((await gateway.call('PUT', grant)).status).toBe(204);
  const own = (await tokenFor(trustor, { project: { id: project.id } })).headers.get('x-subject-token') ?? '';
  const asTrustor = (method: string, path: string, body?: object): Promise<HttpAnswer> =>
    gateway.call(method, `${v3}/OS-TRUST/trusts${path}`, body, { 'x-auth-token': own });
  const wanted = {
    trustor_user_id: trustor.id,
    trustee_user_id: trustee.id,
    project_id: project.id,
    impersonation: false,
    roles: [{ name: 'member' }],
  };
  const create = async (more: object = {}): Promise<{ status: number; id: string }> => {
    const { status, json: made } = await asTrustor('POST', '', { trust: { ...wanted, ...more } });
    return { status, id: (made['trust'] as unknown as Named | undefined)?.id ?? '' };
  };
  const use = (id: string): Promise<HttpAnswer> => tokenFor(trustee, { 'OS-TRUST:trust': { id } });
  return { project, trustor, trustee, grant, asTrustor, create, use };
}

it('a trustee logs in with the roles of the trust, as itself or as the trustor', async () => {
  const { project, trustor, trustee, create, use } = await world();
  for (const [impersonation, user] of [
    [false, trustee],
    [true, trustor],
  ] as const) {
    const { id } = await create({ impersonation });
    const { status, headers, json } = await use(id);
    expect([status, json]).toMatchObject([
      201,
      {
        token: {
          user: { id: user.id },
          project: { id: project.id },
          'OS-TRUST:trust': { id, impersonation, trustor_user: { id: trustor.id }, trustee_user: { id: trustee.id } },
        },
      },
    ]);
    const token = headers.get('x-subject-token') ?? '';
    const stacks = `/orchestration/v1/${project.id}/stacks`;
    expect((await gateway.call('GET', stacks, undefined, { 'x-auth-token': token })).status).toBe(200);
    // The trustee cannot pass the trust on.
    const again = { auth: { identity: { methods: ['token'], token: { id: token } } } };
    expect((await gateway.call('POST', `${v3}/auth/tokens`, again)).status).toBe(403);
    const credential = { application_credential: { name: 'own' } };
    const path = `${v3}/users/${user.id}/application_credentials`;
    expect((await gateway.call('POST', path, credential, { 'x-auth-token': token })).status).toBe(403);
  }
});

it('only the trustee uses a trust, as often as it allows, until it ends', async () => {
  const { trustor, asTrustor, create, use, grant } = await world();
  const twice = await create({ remaining_uses: 2 });
  expect([(await use(twice.id)).status, (await use(twice.id)).status]).toEqual([201, 201]);
  expect((await use(twice.id)).status).toBe(401);
  expect((await asTrustor('GET', `/${twice.id}`)).status).toBe(404);
  const { id } = await create();
  expect((await tokenFor(trustor, { 'OS-TRUST:trust': { id } })).status).toBe(403);
  const given = await use(id);
  const check = async () => {
    const headers = { 'x-auth-token': given.headers.get('x-subject-token') ?? '' };
    return (await gateway.call('GET', `${v3}/auth/projects`, undefined, headers)).status;
  };
  expect(await check()).toBe(200);
  expect((await asTrustor('DELETE', `/${id}`)).status).toBe(204);
  expect([await check(), (await use(id)).status]).toEqual([401, 401]);
  // A role that the trustor loses is lost by the trust.
  const last = await create();
  expect((await gateway.call('DELETE', grant)).status).toBe(204);
  expect((await use(last.id)).status).toBe(401);
});

it('is shown to its two users, and made only by the trustor with own roles', async () => {
  const { trustor, trustee, asTrustor, create } = await world();
  const { id } = await create({ expires_at: '2099-01-02T03:04:05Z' });
  const { json } = await asTrustor('GET', `/${id}`);
  expect(json['trust']).toMatchObject({ expires_at: '2099-01-02T03:04:05.000000Z', roles: [{ name: 'member' }] });
  const listed = await asTrustor('GET', `?trustor_user_id=${trustor.id}`);
  expect(listed.json['trusts']).toMatchObject([{ id }]);
  expect((await asTrustor('GET', `?trustor_user_id=${trustee.id}`)).status).toBe(403);
  const refused = [
    [{ roles: [{ name: 'admin' }] }, 404],
    [{ roles: [] }, 403],
    [{ trustor_user_id: trustee.id }, 403],
    [{ trustee_user_id: 'absent' }, 404],
    [{ impersonation: 'yes' }, 400],
    [{ allow_redelegation: true }, 400],
    [{ expires_at: 'soon' }, 400],
    [{ remaining_uses: 0 }, 400],
  ] as const;
  for (const [more, status] of refused) expect([more, (await create(more)).status]).toEqual([more, status]);
  expect((await asTrustor('GET', `?trustor_user_id=${trustor.id}`)).json['trusts']).toHaveLength(1);
});

it('a service acts for the trustor by a token of minutes, until the trust ends', async () => {
  const { project, create, trustor, asTrustor } = await world();
  const { id } = await create({ impersonation: true });
  const { secrets } = gateway.context;
  const showAs = (token: string) =>
    gateway.call('GET', `${v3}/auth/tokens`, undefined, { 'x-auth-token': token, 'x-subject-token': token });
  const token = trustToken(secrets, id, Date.now());
  expect((await showAs(token)).json['token']).toMatchObject({
    user: { id: trustor.id },
    project: { id: project.id },
    'OS-TRUST:trust': { id },
  });
  const [, body = '', mac = ''] = token.split('.');
  const other = Buffer.from(body, 'base64url').toString().replace(id, 'another');
  const refused = [
    trustToken(secrets, id, Date.now() - 600_000),
    trustToken(secrets, 'of-no-trust', Date.now()),
    `trust.${Buffer.from(other).toString('base64url')}.${mac}`,
    // Another text that is signed with the same key.
    `trust.${body}.${secrets.sign(body)}`,
  ];
  for (const each of refused) expect((await showAs(each)).status).toBe(401);
  expect((await asTrustor('DELETE', `/${id}`)).status).toBe(204);
  expect((await showAs(token)).status).toBe(401);
});
