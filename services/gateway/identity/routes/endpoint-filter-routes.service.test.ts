/** Which endpoints the catalog of a project shows. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { host, hostToken } from '../../testing/stand-ins.ts';
import { login, project, startTestGateway, type TestGateway } from '../../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const v3 = '/identity/v3';
const filter = `${v3}/OS-EP-FILTER`;
interface Row {
  readonly id: string;
  readonly type: string;
  readonly interface: string;
  readonly service_id: string;
}
const listed = async (path: string, plural: string): Promise<Row[]> =>
  (await gateway.call('GET', path)).json[plural] as unknown as Row[];
const statusOf = async (method: string, path: string, body?: object): Promise<number> =>
  (await gateway.call(method, path, body)).status;
/** The types in the catalog of a new token, with the sides of their endpoints. */
async function catalog(): Promise<Record<string, string[]>> {
  const { json } = await gateway.call('POST', `${v3}/auth/tokens`, login());
  const entries = (json['token'] as unknown as { catalog: { type: string; endpoints: Row[] }[] }).catalog;
  return Object.fromEntries(entries.map(({ type, endpoints }) => [type, endpoints.map((each) => each.interface)]));
}
const newGroup = async (name: string, filters: object): Promise<string> => {
  const { json, text } = await gateway.call('POST', `${filter}/endpoint_groups`, { endpoint_group: { name, filters } });
  expect(json['endpoint_group'], text).toMatchObject({ name, filters });
  return (json['endpoint_group'] as unknown as Row).id;
};

it('a project is limited to the endpoints and groups that were added to it', async () => {
  const whole = await catalog();
  const [identity] = await listed(`${v3}/services?type=identity`, 'services');
  const group = await newGroup('identity only', { service_id: identity?.id, interface: 'public' });
  expect(await listed(`${filter}/endpoint_groups/${group}/endpoints`, 'endpoints')).toMatchObject([
    { interface: 'public', service_id: identity?.id },
  ]);
  const inProject = `${filter}/endpoint_groups/${group}/projects/${project}`;
  expect(await statusOf('GET', inProject)).toBe(404);
  expect(await statusOf('PUT', inProject)).toBe(204);
  expect(await catalog()).toEqual({ identity: ['public'] });
  expect(await listed(`${filter}/endpoint_groups/${group}/projects`, 'projects')).toMatchObject([{ id: project }]);
  expect(await listed(`${filter}/projects/${project}/endpoint_groups`, 'endpoint_groups')).toMatchObject([
    { id: group },
  ]);
  const messaging = (await listed(`${v3}/services?type=messaging`, 'services'))[0]?.id;
  const [endpoint] = await listed(`${v3}/endpoints?service_id=${messaging}&interface=admin`, 'endpoints');
  const added = `${filter}/projects/${project}/endpoints/${endpoint?.id}`;
  expect([await statusOf('GET', added), await statusOf('PUT', added), await statusOf('HEAD', added)]).toEqual([
    404, 204, 204,
  ]);
  expect(await catalog()).toEqual({ identity: ['public'], messaging: ['admin'] });
  expect(await listed(`${filter}/endpoints/${endpoint?.id}/projects`, 'projects')).toMatchObject([{ id: project }]);
  expect(await listed(`${filter}/projects/${project}/endpoints`, 'endpoints')).toHaveLength(2);
  expect([await statusOf('DELETE', added), await statusOf('DELETE', added)]).toEqual([204, 404]);
  // A deleted group limits no longer.
  expect(await statusOf('DELETE', `${filter}/endpoint_groups/${group}`)).toBe(204);
  expect(await catalog()).toEqual(whole);
});

it('the filters of a group can be changed, and must be known ones', async () => {
  const group = await newGroup('sides', { interface: 'public' });
  const path = `${filter}/endpoint_groups/${group}`;
  const changed = await gateway.call('PATCH', path, {
    endpoint_group: { name: null, filters: { region_id: 'elsewhere' } },
  });
  expect(changed.json['endpoint_group']).toMatchObject({ name: 'sides', filters: { region_id: 'elsewhere' } });
  expect(await statusOf('HEAD', path)).toBe(200);
  expect(await listed(`${path}/endpoints`, 'endpoints')).toEqual([]);
  for (const filters of [{}, { colour: 'red' }, { interface: 'sideways' }, undefined]) {
    const endpoint_group = { name: 'wrong', filters };
    expect([filters, await statusOf('POST', `${filter}/endpoint_groups`, { endpoint_group })]).toEqual([filters, 400]);
  }
  const again = { endpoint_group: { name: 'sides', filters: { interface: 'public' } } };
  expect(await statusOf('POST', `${filter}/endpoint_groups`, again)).toBe(409);
});

it('hosts of a limited project still find the addresses that they need', async () => {
  const group = await newGroup('nothing of Anneal', { region_id: 'elsewhere' });
  expect(await statusOf('PUT', `${filter}/endpoint_groups/${group}/projects/${project}`)).toBe(204);
  expect(await catalog()).toEqual({});
  const asHost = {
    identity: { methods: ['password'], password: { user: { id: host.host_id, password: hostToken } } },
    scope: { project: { id: project } },
  };
  const { json } = await gateway.call('POST', `${v3}/auth/tokens`, { auth: asHost });
  const entries = (json['token'] as unknown as { catalog: { type: string }[] }).catalog;
  expect(entries.map(({ type }) => type)).toContain('messaging');
});
