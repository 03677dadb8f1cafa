/** Identity resources over the real bus and store: what a stack may change, and that repeats have no second effect. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import { Probe } from '@anneal/provider/conformance/probe.ts';
import type { Request } from '@anneal/provider/document.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { project, startTestGateway, type TestGateway } from '@anneal/gateway/testing/test-gateway.ts';
import { adminUser } from '@anneal/directory/principals.ts';

const v3 = '/identity/v3';
const secret = 'a long enough password';

let gateway: TestGateway;
let probe: Probe;
beforeAll(async () => {
  gateway = await startTestGateway();
  const { bus, mint, newId, now } = gateway.context;
  const queue = requestsQueue('identity');
  probe = await Probe.open({ bus, mint, newId, now: () => now().getTime(), queue, project, withinMs: 20_000 });
});
afterAll(async () => {
  await probe.close();
  await gateway.stop();
});

type Action = Parameters<Probe['request']>[0];
type About = Parameters<Probe['request']>[1];

/** A request of a stack that acts for this operator. */
function requestFor(operator: string | undefined, action: Action, about: About, changed?: JsonObject): Request {
  const request = probe.request(action, about, changed ? { changed } : {});
  return operator === undefined ? request : { ...request, data: { ...request.data, operator } };
}

async function answerTo(request: Request): Promise<ResourceResponse> {
  await probe.send(request);
  return (await probe.final(request)).data;
}

/** Creates a resource for admin. */
async function create(type: string, properties: JsonObject): Promise<{ request: Request; id: string }> {
  const request = requestFor(adminUser.id, 'create', { type: `OS::Keystone::${type}`, properties });
  const answer = await answerTo(request);
  expect(answer).toMatchObject({ status: 'complete', physical_id: expect.any(String) });
  return { request, id: answer.physical_id ?? '' };
}
const asAdmin = (action: Action, about: Request, changed?: JsonObject) =>
  answerTo(requestFor(adminUser.id, action, about, changed));

async function show(path: string): Promise<JsonObject> {
  const { status, json, text } = await gateway.call('GET', `${v3}/${path}`);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return Object.values(json)[0] as unknown as JsonObject;
}
const statusOf = async (path: string): Promise<number> => (await gateway.call('GET', `${v3}/${path}`)).status;

/** The status of a login, and the token. */
async function logIn(name: string, password: string, scope: object): Promise<{ status: number; token: string }> {
  const identity = { methods: ['password'], password: { user: { name, domain: { id: 'default' }, password } } };
  const body = { auth: { identity, scope } };
  const { status, headers } = await gateway.call('POST', `${v3}/auth/tokens`, body, { 'x-auth-token': '' });
  return { status, token: headers.get('x-subject-token') ?? '' };
}

describe('identity resources', () => {
  it('make a project, and a user with a role in it who logs in', async () => {
    const web = await create('Project', { name: 'web', description: 'the shop', tags: ['eu'] });
    expect(await show(`projects/${web.id}`)).toMatchObject({
      name: 'web',
      description: 'the shop',
      tags: ['eu'],
      domain_id: 'default',
    });
    const sealed = gateway.context.secrets.seal(secret);
    const roles = [{ role: 'member', project: web.id }];
    const ann = await create('User', {
      name: 'ann',
      password: sealed,
      email: 'ann@example.org',
      default_project: 'web',
    });
    expect(await show(`users/${ann.id}`)).toMatchObject({ email: 'ann@example.org', default_project_id: web.id });
    const scope = { project: { id: web.id } };
    expect((await logIn('ann', secret, scope)).status).toBe(401);
    const grant = await create('UserRoleAssignment', { user: 'ann', roles });
    const first = await logIn('ann', secret, scope);
    expect(first.status).toBe(201);

    const updated = await asAdmin('update', ann.request, { description: 'the first' });
    expect(updated).toMatchObject({ status: 'complete', attributes: { name: 'ann', enabled: true } });
    const own = { 'x-auth-token': first.token };
    expect((await gateway.call('GET', `${v3}/users/${ann.id}`, undefined, own)).status).toBe(200);
    const another = gateway.context.secrets.seal('another long password');
    const latest = probe.request('update', ann.request, { changed: { password: another }, fence: 3 });
    await answerTo({ ...latest, data: { ...latest.data, operator: adminUser.id } });
    expect((await gateway.call('GET', `${v3}/users/${ann.id}`, undefined, own)).status).toBe(401);
    expect((await logIn('ann', secret, scope)).status).toBe(401);
    expect((await logIn('ann', 'another long password', scope)).status).toBe(201);

    expect(await asAdmin('delete', grant.request)).toMatchObject({ status: 'complete' });
    expect((await logIn('ann', 'another long password', scope)).status).toBe(401);
    for (const each of [latest, web.request]) expect((await asAdmin('delete', each)).status).toBe('complete');
    expect([await statusOf(`users/${ann.id}`), await statusOf(`projects/${web.id}`)]).toEqual([404, 404]);
  });

  it('are made by a request that version 0.1.0 has sent to the gateway', async () => {
    const early = requestFor(adminUser.id, 'create', { type: 'OS::Keystone::Project', properties: { name: 'early' } });
    await gateway.context.bus.send({ queue: requestsQueue('gateway'), messages: [early] });
    expect((await probe.final(early)).data).toMatchObject({ status: 'complete' });
  });

  it('make a group with roles, whose members have them, and a role', async () => {
    const role = await create('Role', { name: 'auditor' });
    const home = await create('Project', { name: 'home' });
    const group = await create('Group', { name: 'people', roles: [{ role: 'auditor', project: 'home' }] });
    await create('GroupRoleAssignment', { group: group.id, roles: [{ role: 'reader', domain: 'default' }] });
    const ben = await create('User', { name: 'ben', password: secret, groups: ['people'] });
    const list = async (): Promise<unknown[]> =>
      (await show(`role_assignments?user.id=${ben.id}&effective`)) as unknown as unknown[];
    expect(await list()).toHaveLength(2);
    expect((await logIn('ben', secret, { project: { id: home.id } })).status).toBe(201);
    await asAdmin('update', ben.request, { groups: [] });
    expect(await list()).toHaveLength(0);
    await asAdmin('update', role.request, { name: 'inspector' });
    expect(await show(`roles/${role.id}`)).toMatchObject({ name: 'inspector' });
    expect(await asAdmin('check', group.request)).toMatchObject({ status: 'complete' });
    await gateway.call('DELETE', `${v3}/groups/${group.id}`);
    const check = probe.request('check', group.request, { fence: 3 });
    expect(await answerTo(check)).toMatchObject({ status: 'failed', error: { code: 'NotFound' } });
    const removal = probe.request('delete', group.request, { fence: 4 });
    expect(await answerTo(removal)).toMatchObject({ status: 'complete' });
  });

  it('leave a role that the user had before, and revoke only their own', async () => {
    const place = await create('Project', { name: 'place' });
    const cy = await create('User', { name: 'cy' });
    const { roles } = (await gateway.call('GET', `${v3}/roles?name=reader`)).json as unknown as {
      roles: { id: string }[];
    };
    const path = `${v3}/projects/${place.id}/users/${cy.id}/roles`;
    expect((await gateway.call('PUT', `${path}/${roles[0]?.id}`)).status).toBe(204);
    const both = ['reader', 'member'].map((role) => ({ role, project: 'place' }));
    const grant = await create('UserRoleAssignment', { user: cy.id, roles: both });
    expect(await show(`projects/${place.id}/users/${cy.id}/roles`)).toHaveLength(2);
    await asAdmin('delete', grant.request);
    expect(await show(`projects/${place.id}/users/${cy.id}/roles`)).toMatchObject([{ name: 'reader' }]);
  });

  it('move the roles with a changed user', async () => {
    const [old, next] = [await create('User', { name: 'old' }), await create('User', { name: 'next' })];
    const roles = [{ role: 'reader', project: 'admin' }];
    const grant = await create('UserRoleAssignment', { user: old.id, roles });
    expect((await asAdmin('update', grant.request, { user: next.id })).status).toBe('complete');
    expect(await show(`projects/${project}/users/${old.id}/roles`)).toHaveLength(0);
    expect(await show(`projects/${project}/users/${next.id}/roles`)).toHaveLength(1);
  });

  it('take over no object with the same name, and leave it when they are deleted', async () => {
    const request = requestFor(adminUser.id, 'create', { type: 'OS::Keystone::User', properties: { name: 'admin' } });
    const refused = await answerTo(request);
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'AlreadyExists' } });
    expect(refused.error?.message).toContain('a stack takes over none');
    expect(await asAdmin('delete', request)).toMatchObject({ status: 'complete' });
    expect(await show(`users/${adminUser.id}`)).toMatchObject({ name: 'admin' });
  });

  it('ask for a new object when theirs is gone', async () => {
    const { request, id } = await create('Project', { name: 'gone' });
    await gateway.call('DELETE', `${v3}/projects/${id}`);
    const answer = await asAdmin('update', request, { description: 'back' });
    expect(answer).toMatchObject({ status: 'failed', replace: true });
  });

  it('refuse what the API refuses, and name what does not exist', async () => {
    const failure = async (type: string, properties: JsonObject): Promise<string> => {
      const sample = { type: `OS::Keystone::${type}`, properties };
      const answer = await answerTo(requestFor(adminUser.id, 'create', sample));
      expect(answer.status).toBe('failed');
      return answer.error?.message ?? '';
    };
    expect(await failure('Project', { parent: 'nowhere' })).toContain('Could not find project: nowhere');
    expect(await failure('User', { roles: [{ role: 'member' }] })).toContain('either a project or a domain');
    expect(await failure('UserRoleAssignment', { user: 'stranger' })).toContain('Could not find user: stranger');
    const long = 'x'.repeat(4097);
    expect(await failure('User', { password: long })).not.toContain('xxxx');
  });

  it.each(['provider.recorded', 'provider.answered', 'provider.sent'])(
    'have one effect when a process dies at %s, and when a request comes twice',
    async (point) => {
      const name = point.replace('.', '-');
      const request = requestFor(adminUser.id, 'create', {
        type: 'OS::Keystone::User',
        properties: { name, password: secret, roles: [{ role: 'reader', project: 'admin' }] },
      });
      const disarm = armFault(point, () => {
        disarm();
        throw new Error(`fault ${point}`);
      });
      await probe.send(request, request);
      const { data } = await probe.final(request);
      expect(data).toMatchObject({ status: 'complete' });
      const { users } = (await gateway.call('GET', `${v3}/users?name=${name}`)).json as unknown as {
        users: { id: string }[];
      };
      expect(users.map(({ id }) => id)).toEqual([request.data.resource.id.replaceAll('-', '')]);
      expect(await show(`projects/${project}/users/${data.physical_id}/roles`)).toHaveLength(1);
      expect((await logIn(name, secret, { project: { id: project } })).status).toBe(201);
    },
  );

  it('make a domain, whose deletion removes what is in it', async () => {
    const sales = await create('Domain', { name: 'sales', description: 'a department' });
    expect(await show(`domains/${sales.id}`)).toMatchObject({
      name: 'sales',
      description: 'a department',
      enabled: true,
    });
    const body = { user: { name: 'bob', domain_id: sales.id } };
    const { json } = await gateway.call('POST', `${v3}/users`, body);
    const user = String(json['user']?.['id']);
    expect(await asAdmin('update', sales.request, { enabled: false })).toMatchObject({ status: 'complete' });
    expect(await show(`domains/${sales.id}`)).toMatchObject({ name: 'sales', enabled: false });
    const end = probe.request('delete', sales.request, { fence: 3 });
    expect(await answerTo({ ...end, data: { ...end.data, operator: adminUser.id } })).toMatchObject({
      status: 'complete',
    });
    expect([await statusOf(`domains/${sales.id}`), await statusOf(`users/${user}`)]).toEqual([404, 404]);
  });

  it('make a region, a service and an endpoint, which tokens then list', async () => {
    const north = await create('Region', { id: 'north', description: 'cold' });
    expect(north.id).toBe('north');
    const shop = await create('Service', { name: 'shop', type: 'shop' });
    const url = 'http://shop.example.org/';
    const wanted = { name: 'public', service: 'shop', interface: 'public', url, region: 'north' };
    const endpoint = await create('Endpoint', wanted);
    const catalog = async (): Promise<string> => (await gateway.call('GET', `${v3}/auth/catalog`)).text;
    expect(await catalog()).toContain(url);

    const moved = 'http://shop.example.net/';
    expect(await asAdmin('update', endpoint.request, { url: moved })).toMatchObject({ status: 'complete' });
    expect(await show(`endpoints/${endpoint.id}`)).toMatchObject({ url: moved, region_id: 'north', name: 'public' });

    expect(await asAdmin('delete', north.request)).toMatchObject({ status: 'failed', error: { code: 'Forbidden' } });
    expect(await asAdmin('delete', shop.request)).toMatchObject({ status: 'complete' });
    expect(await statusOf(`endpoints/${endpoint.id}`)).toBe(404);
    const again = probe.request('delete', north.request, { fence: 3 });
    expect(await answerTo({ ...again, data: { ...again.data, operator: adminUser.id } })).toMatchObject({
      status: 'complete',
    });
    expect(await statusOf('regions/north')).toBe(404);
  });

  it('refuse a region, a service and an endpoint that do not fit', async () => {
    const refusal = async (type: string, properties: JsonObject) =>
      (await answerTo(requestFor(adminUser.id, 'create', { type: `OS::Keystone::${type}`, properties }))).error;
    const url = 'http://a.example.org/';
    expect(await refusal('Endpoint', { service: 'none', interface: 'public', url })).toMatchObject({
      code: 'InvalidRequest',
    });
    expect(await refusal('Region', { id: 'RegionOne' })).toMatchObject({ code: 'AlreadyExists' });
    expect(await refusal('Region', { parent_region: 'none' })).toMatchObject({ code: 'NotFound' });
    const request = requestFor(undefined, 'create', { type: 'OS::Keystone::Service', properties: { type: 'x' } });
    expect((await answerTo(request)).error).toMatchObject({ code: 'Forbidden' });
  });
});

describe('a stack that acts for no operator', () => {
  const sample = (type: string, properties: JsonObject) => ({ type: `OS::Keystone::${type}`, properties });
  const refusal = { status: 'failed', error: { code: 'Forbidden' } };

  it.each([
    ['User', { name: 'intruder', roles: [{ role: 'admin', project: 'admin' }] }],
    ['UserRoleAssignment', { user: 'member', roles: [{ role: 'admin', project: 'admin' }] }],
    ['Group', { name: 'intruders' }],
    ['GroupRoleAssignment', { group: 'any', roles: [] }],
    ['Project', { name: 'intruders' }],
    ['Role', { name: 'intruder' }],
  ])('creates no %s', async (type, properties) => {
    const request = requestFor(undefined, 'create', sample(type, properties));
    const answer = await answerTo(request);
    expect(answer).toMatchObject(refusal);
    expect(answer.error?.message).toContain('does not act for an operator');
    expect(await answerTo(requestFor(undefined, 'delete', request))).toMatchObject({ status: 'complete' });
  });

  it('neither changes nor deletes what an operator made', async () => {
    const { request, id } = await create('User', { name: 'kept' });
    expect(await answerTo(requestFor(undefined, 'update', request, { name: 'other' }))).toMatchObject(refusal);
    const removal = probe.request('delete', request, { fence: 3 });
    expect(await answerTo(removal)).toMatchObject(refusal);
    expect(await show(`users/${id}`)).toMatchObject({ name: 'kept' });
  });

  it('has no rights by a user who is no operator any more', async () => {
    const roles = [{ role: 'admin', project: 'admin' }];
    const former = await create('User', { name: 'former', roles });
    const request = requestFor(former.id, 'create', sample('Role', { name: 'first' }));
    expect(await answerTo(request)).toMatchObject({ status: 'complete' });
    await asAdmin('update', former.request, { roles: [] });
    const late = await answerTo(requestFor(former.id, 'create', sample('Role', { name: 'second' })));
    expect(late).toMatchObject(refusal);
    expect(late.error?.message).toContain('no longer has the role admin');
  });
});
