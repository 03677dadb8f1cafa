/** Options of domains, and domains in the form of projects. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const v3 = '/identity/v3';
const configOf = async (method: string, path: string, config?: object) => {
  const { status, json } = await gateway.call(method, `${v3}/domains/${path}`, config && { config });
  return [status, json['config']];
};

it('the options of a domain are kept as they are, until they are changed or deleted', async () => {
  const config = { identity: { driver: 'ldap' }, ldap: { url: 'ldap://a', user_tree_dn: 'ou=Users' } };
  const path = 'default/config';
  expect(await configOf('GET', path)).toMatchObject([404, undefined]);
  expect(await configOf('PUT', path, config)).toEqual([201, config]);
  expect(await configOf('PUT', path, config)).toEqual([200, config]);
  expect(await configOf('GET', `${path}/ldap`)).toEqual([200, { ldap: config.ldap }]);
  expect(await configOf('GET', `${path}/ldap/url`)).toEqual([200, { url: 'ldap://a' }]);
  const ldap = { ...config.ldap, url: 'ldap://b' };
  expect(await configOf('PATCH', `${path}/ldap/url`, { url: 'ldap://b' })).toEqual([200, { ...config, ldap }]);
  expect(await configOf('PATCH', `${path}/identity`, { identity: { list_limit: 5 } })).toEqual([
    200,
    { identity: { driver: 'ldap', list_limit: 5 }, ldap },
  ]);
  // A change of the domain keeps them.
  await gateway.call('PATCH', `${v3}/domains/default`, { domain: { description: 'changed' } });
  expect(await configOf('DELETE', `${path}/ldap/url`)).toEqual([204, undefined]);
  expect(await configOf('GET', `${path}/ldap`)).toEqual([200, { ldap: { user_tree_dn: 'ou=Users' } }]);
  expect((await configOf('DELETE', `${path}/ldap`))[0]).toBe(204);
  for (const absent of [`${path}/ldap`, `${path}/ldap/url`, `${path}/identity/constructor`, `${path}/toString`]) {
    expect([absent, (await configOf('GET', absent))[0]]).toEqual([absent, 404]);
  }
  expect((await configOf('DELETE', path))[0]).toBe(204);
  expect((await configOf('GET', path))[0]).toBe(404);
  expect((await configOf('GET', 'config/identity/driver/default'))[1]).toEqual({ driver: 'sql' });
});

it('unknown groups, secrets and options elsewhere than in the address are refused', async () => {
  const path = 'default/config';
  await configOf('PUT', path, { ldap: { url: 'ldap://a' } });
  const refused: [string, string, object][] = [
    ['PUT', path, { token: { provider: 'fernet' } }],
    ['PUT', path, { ldap: { password: 'secret' } }],
    ['PATCH', `${path}/ldap`, { identity: { driver: 'sql' } }],
    ['PATCH', `${path}/ldap/url`, { suffix: 'a' }],
  ];
  for (const [method, place, config] of refused) {
    expect([place, config, (await configOf(method, place, config))[0]]).toEqual([place, config, 400]);
  }
  expect((await configOf('PATCH', `${path}/identity`, { identity: { driver: 'sql' } }))[0]).toBe(404);
  expect(await configOf('GET', path)).toEqual([200, { ldap: { url: 'ldap://a' } }]);
});

it('a domain is a project with is_domain, and both addresses change the same', async () => {
  const made = await gateway.call('POST', `${v3}/projects`, { project: { name: 'whole', is_domain: true } });
  const { id } = made.json['project'] as unknown as { id: string };
  expect([made.status, made.json['project']]).toMatchObject([
    201,
    { name: 'whole', is_domain: true, domain_id: null, parent_id: null, enabled: true },
  ]);
  const idsOf = async (path: string, plural: string) =>
    ((await gateway.call('GET', `${v3}/${path}`)).json[plural] as unknown as { id: string }[]).map((each) => each.id);
  expect(await idsOf('projects?is_domain=True', 'projects')).toEqual(await idsOf('domains', 'domains'));
  expect(await idsOf('domains', 'domains')).toContain(id);
  expect(await idsOf('projects', 'projects')).not.toContain(id);
  const one = `${v3}/projects/${id}`;
  const wrong = await gateway.call('PATCH', one, { project: { is_domain: false } });
  expect([wrong.status, wrong.json['error']]).toMatchObject([400, { message: 'Cannot change is_domain' }]);
  expect((await gateway.call('DELETE', one)).status).toBe(403);
  expect((await gateway.call('PATCH', one, { project: { enabled: false } })).json['project']).toMatchObject({
    enabled: false,
    is_domain: true,
  });
  expect((await gateway.call('GET', `${v3}/domains/${id}`)).json['domain']).toMatchObject({ enabled: false });
  expect((await gateway.call('DELETE', one)).status).toBe(204);
  expect((await gateway.call('GET', one)).status).toBe(404);
  const inside = { project: { name: 'inside', is_domain: true, domain_id: 'default' } };
  expect((await gateway.call('POST', `${v3}/projects`, inside)).status).toBe(400);
});
