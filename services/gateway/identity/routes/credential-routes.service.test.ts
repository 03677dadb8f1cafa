import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { project, startTestGateway, type TestGateway } from '../../testing/test-gateway.ts';
import { adminUser } from '@anneal/directory/principals.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const v3 = '/identity/v3';
interface Key {
  readonly access: string;
  readonly secret: string;
}
const keys = `${v3}/users/${adminUser.id}/credentials/OS-EC2`;
async function newKey(): Promise<Key> {
  const { status, json } = await gateway.call('POST', keys, { tenant_id: project });
  expect(status).toBe(201);
  return json['credential'] as unknown as Key;
}

/** A request signed with version 2, as `Ec2Signer` of python-keystoneclient does. */
function signed({ access, secret }: Key, verb = 'GET') {
  const params = {
    AWSAccessKeyId: access,
    Action: 'DescribeStackResource',
    SignatureMethod: 'HmacSHA256',
    SignatureVersion: '2',
  };
  const query = Object.entries(params).map(([name, value]) => `${name}=${value}`);
  const text = `${verb}\nheat.example\n/v1/\n${query.join('&')}`;
  const signature = createHmac('sha256', secret).update(text).digest('base64');
  return { ec2Credentials: { access, signature, host: 'heat.example', verb, path: '/v1/', params } };
}

it('an EC2 key is listed with its secret, logs its user in by a signed request, and ends with its deletion', async () => {
  const key = await newKey();
  const { json } = await gateway.call('GET', keys);
  expect(json['credentials']).toMatchObject([{ ...key, tenant_id: project, user_id: adminUser.id }]);
  const second = await newKey();
  const page = await gateway.call('GET', `${keys}?limit=1`);
  const { next } = page.json['links'] as unknown as { next: string };
  const pages = [page, await gateway.call('GET', next)].flatMap(
    ({ json: each }) => each['credentials'] as unknown as Key[],
  );
  expect(pages.map(({ access }) => access).sort()).toEqual([key.access, second.access].sort());
  const issued = await gateway.call('POST', `${v3}/ec2tokens`, signed(key));
  expect([issued.status, issued.json]).toMatchObject([
    200,
    { token: { methods: ['ec2credential'], user: { id: adminUser.id }, project: { id: project } } },
  ]);
  const token = issued.headers.get('x-subject-token') ?? '';
  const stacks = `/orchestration/v1/${project}/stacks`;
  expect((await gateway.call('GET', stacks, undefined, { 'x-auth-token': token })).status).toBe(200);
  const other = await gateway.call('POST', `${v3}/ec2tokens`, signed({ ...key, secret: 'guessed' }));
  expect(other.status).toBe(401);
  expect((await gateway.call('DELETE', `${keys}/${key.access}`)).status).toBe(204);
  expect((await gateway.call('GET', `${keys}/${key.access}`)).status).toBe(404);
  expect((await gateway.call('POST', `${v3}/ec2tokens`, signed(key))).status).toBe(404);
});

it('a credential is sealed at rest, belongs to its user, and changes only its blob', async () => {
  const made = await gateway.call('POST', `${v3}/credentials`, { credential: { type: 'totp', blob: 'the-blob' } });
  const { id } = made.json['credential'] as unknown as { id: string };
  expect(made.json['credential']).toMatchObject({ type: 'totp', blob: 'the-blob', user_id: adminUser.id });
  const stored = await gateway.context.store.collection({ name: 'gateway_directory_credentials', indexes: [] });
  expect(JSON.stringify(await stored.get(id))).not.toContain('the-blob');
  const change = (credential: object) => gateway.call('PATCH', `${v3}/credentials/${id}`, { credential });
  expect((await change({ blob: 'another' })).json['credential']).toMatchObject({ id, blob: 'another' });
  expect((await change({ user_id: 'x' })).status).toBe(400);
  const wrong = [{ type: 'ec2', blob: '{"access": "a"}', project_id: project }, { type: 'ec2', blob: '{}' }, {}];
  for (const credential of wrong) {
    expect((await gateway.call('POST', `${v3}/credentials`, { credential })).status).toBe(400);
  }
  const user = { name: 'plain', password: 'a good password' };
  await gateway.call('POST', `${v3}/users`, { user });
  const identity = { methods: ['password'], password: { user: { ...user, domain: { id: 'default' } } } };
  const login = await gateway.call('POST', `${v3}/auth/tokens`, { auth: { identity } });
  const headers = { 'x-auth-token': login.headers.get('x-subject-token') ?? '' };
  expect((await gateway.call('GET', `${v3}/credentials/${id}`, undefined, headers)).status).toBe(403);
  expect((await gateway.call('GET', `${v3}/credentials`, undefined, headers)).json['credentials']).toEqual([]);
  expect((await gateway.call('DELETE', `${v3}/credentials/${id}`)).status).toBe(204);
  expect((await gateway.call('GET', `${v3}/credentials/${id}`)).status).toBe(404);
});
