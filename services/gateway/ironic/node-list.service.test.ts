/** Lists of nodes: they are read and sent in parts, which no client notices. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

interface Listed {
  nodes: Record<string, unknown>[];
  next?: string;
}

let gateway: TestGateway;
const names = Array.from({ length: 95 }, (_, index) => `n-${String(index).padStart(3, '0')}`);
beforeAll(async () => {
  gateway = await startTestGateway();
  for (const name of names) {
    const driver_info = { redfish_address: `https://${name}.example.com` };
    const body = { name, driver: 'redfish', driver_info, ...(name > 'n-050' && { resource_class: 'large' }) };
    expect((await gateway.call('POST', '/baremetal/v1/nodes', body)).status).toBe(201);
  }
});
afterAll(() => gateway.stop());

const list = async (query: string, version = '1.96') => {
  const headers = { 'x-openstack-ironic-api-version': version };
  const answer = await gateway.call('GET', `/baremetal/v1/nodes${query}`, undefined, headers);
  return { ...answer, body: answer.json as unknown as Listed };
};
const namesOf = ({ nodes }: Listed): unknown[] => nodes.map(({ name }) => name);

it('has all nodes once, in order, with the fields of its form and the headers of every answer', async () => {
  const all = await list('');
  expect([all.status, all.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  expect(all.headers.get('x-openstack-ironic-api-version')).toBe('1.96');
  expect(namesOf(all.body)).toEqual(names);
  expect(all.body).not.toHaveProperty('next');
  expect(all.body.nodes[94]).not.toHaveProperty('driver_info');
  const { body } = await list('/detail');
  expect(namesOf(body)).toEqual(names);
  expect(body.nodes[94]).toMatchObject({ driver_info: { redfish_address: 'https://n-094.example.com' } });
});

it('continues after a page of any size', async () => {
  for (const size of [40, 41, 80, 94]) {
    const { body } = await list(`?limit=${size}`);
    expect(namesOf(body)).toEqual(names.slice(0, size));
    const { search } = new URL(body.next ?? '');
    expect(namesOf((await list(search)).body)).toEqual(names.slice(size, 2 * size));
  }
});

it('keeps filters, chosen fields and the version of the request in every part', async () => {
  const large = await list('?resource_class=large&fields=name');
  expect(namesOf(large.body)).toEqual(names.slice(51));
  expect(large.body.nodes[40]).toEqual({ name: 'n-091', links: expect.anything() as unknown });
  expect(namesOf((await list('?resource_class=none')).body)).toEqual([]);
  const old = await list('/detail', '1.1');
  expect(old.body.nodes).toHaveLength(95);
  for (const node of old.body.nodes) expect(node).not.toHaveProperty('resource_class');
});

it('applies every filter to a list in an order of the client, too', async () => {
  const sorted = '?sort_key=name&sort_dir=desc';
  expect(namesOf((await list(`${sorted}&provision_state=enroll`)).body)).toEqual(names.toReversed());
  for (const filter of ['provision_state=active', 'instance_uuid=i', 'maintenance=true', 'parent_node=n'])
    expect(namesOf((await list(`${sorted}&${filter}`)).body), filter).toEqual([]);
  for (const wrong of ['provision_state=bogus', 'fault=bogus', 'limit=1000001', 'detail=1', 'include_children=1'])
    expect((await list(`${sorted}&${wrong}`)).status, wrong).toBe(400);
});

it('refuses a wrong field before it sends a part', async () => {
  expect((await list('?fields=bogus')).status).toBe(400);
  for (const query of ['?fields=name&detail=true', '/detail?fields=name', '/detail?detail=1'])
    expect((await list(query)).status, query).toBe(400);
  expect((await list('?resource_class=none&fields=name&detail=true')).status).toBe(400);
});

it('is read at an address that ends with the type of its content, until version 1.90', async () => {
  const statuses = ['1.80', '1.96'].map(async (version) => (await list('/n-000.json', version)).status);
  expect(await Promise.all(statuses)).toEqual([200, 404]);
});
