import { afterAll, beforeAll, expect, it } from 'vitest';
import { login, project, startTestGateway, type TestGateway } from '../../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const v3 = '/identity/v3';
type Row = Record<string, unknown> & { id: string };
const make = async (kind: string, body: object): Promise<Row> => {
  const { status, json, text } = await gateway.call('POST', `${v3}/${kind}s`, { [kind]: body });
  expect([status, text]).toEqual([201, expect.any(String)]);
  return json[kind] as unknown as Row;
};
const statusOf = async (method: string, path: string, body?: object): Promise<number> =>
  (await gateway.call(method, `${v3}${path}`, body)).status;
/** The entry of a type in the catalog of a new token. */
async function catalogOf(type: string) {
  const { json } = await gateway.call('POST', `${v3}/auth/tokens`, login());
  const { catalog } = json['token'] as unknown as { catalog: { type: string; endpoints: Row[] }[] };
  return catalog.find((each) => each.type === type);
}

it('the operator adds a service, and the catalog of each token has its endpoints', async () => {
  const service = await make('service', { type: 'object-store', name: 'swift', team: 'storage' });
  expect(service).toMatchObject({ description: '', enabled: true, team: 'storage' });
  const url = 'https://swift.example/v1/AUTH_$(project_id)s';
  const endpoint = await make('endpoint', { service_id: service.id, interface: 'public', url, region: 'East' });
  expect(endpoint).toMatchObject({ region_id: 'East', region: 'East', enabled: true });
  // The older field made the region.
  expect(await statusOf('GET', '/regions/East')).toBe(200);
  expect((await catalogOf('object-store'))?.endpoints).toMatchObject([
    { interface: 'public', region: 'East', url: `https://swift.example/v1/AUTH_${project}` },
  ]);
  expect(await statusOf('DELETE', '/regions/East')).toBe(403);
  await gateway.call('PATCH', `${v3}/endpoints/${endpoint.id}`, { endpoint: { enabled: false } });
  expect((await catalogOf('object-store'))?.endpoints).toEqual([]);
  await gateway.call('PATCH', `${v3}/services/${service.id}`, { service: { description: 'objects' } });
  const shown = await gateway.call('GET', `${v3}/services/${service.id}`);
  expect(shown.json['service']).toMatchObject({ name: 'swift', description: 'objects' });
  // The endpoints go with their service.
  expect(await statusOf('DELETE', `/services/${service.id}`)).toBe(204);
  expect(await statusOf('GET', `/endpoints/${endpoint.id}`)).toBe(404);
  expect(await catalogOf('object-store')).toBeUndefined();
  expect(await statusOf('DELETE', '/regions/East')).toBe(204);
});

it('Anneal’s own services, endpoints and region stay as they are', async () => {
  const { json } = await gateway.call('GET', `${v3}/services?type=orchestration`);
  const [own] = json['services'] as unknown as Row[];
  expect(await statusOf('PATCH', `/services/${own?.id}`, { service: { name: 'x' } })).toBe(403);
  expect(await statusOf('DELETE', '/regions/RegionOne')).toBe(403);
  expect(await statusOf('POST', '/regions', { region: { id: 'RegionOne' } })).toBe(409);
  // An address of it in another region may be added.
  // The client sends null for what it was not given.
  const west = await make('region', { id: 'West', parent_region_id: 'RegionOne', description: null });
  expect(west).toMatchObject({ description: '' });
  const url = 'https://west.example/v1';
  await make('endpoint', { service_id: own?.id, interface: 'public', url, region_id: 'West' });
  const urls = (await catalogOf('orchestration'))?.endpoints.map((each) => each['url']);
  expect(urls).toEqual([expect.any(String), expect.any(String), expect.any(String), url]);
});

it('a wrong object is refused, and nothing is stored', async () => {
  const { json } = await gateway.call('GET', `${v3}/services`);
  const id = (json['services'] as unknown as Row[])[0]?.id;
  const wrong = [
    ['services', { service: {} }],
    ['endpoints', { endpoint: { service_id: id, interface: 'public', url: 'https://x', enabled: 'True' } }],
    ['endpoints', { endpoint: { service_id: id, interface: 'sideways', url: 'https://x' } }],
    ['endpoints', { endpoint: { service_id: 'none', interface: 'public', url: 'https://x' } }],
    ['endpoints', { endpoint: { service_id: id, interface: 'public', url: 'https://x', region_id: 'none' } }],
  ] as const;
  const before = await gateway.call('GET', `${v3}/endpoints`);
  for (const [kind, body] of wrong) expect(await statusOf('POST', `/${kind}`, body)).toBe(400);
  expect((await gateway.call('GET', `${v3}/endpoints`)).json).toEqual(before.json);
});
