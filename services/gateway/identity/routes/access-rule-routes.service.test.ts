/** Application credentials with access rules: their tokens send the listed requests and no other. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { project, startTestGateway, type TestGateway } from '../../testing/test-gateway.ts';

let gateway: TestGateway;
const admin = '00000000000000000000000000000002';
const credentials = `/identity/v3/users/${admin}/application_credentials`;
const rulesAt = `/identity/v3/users/${admin}/access_rules`;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

interface Made {
  id: string;
  secret: string;
  access_rules: { id: string; service: string; method: string; path: string }[];
}
const make = async (name: string, more: object): Promise<Made> => {
  const { status, json, text } = await gateway.call('POST', credentials, { application_credential: { name, ...more } });
  expect([status, text]).toEqual([201, expect.any(String)]);
  return json['application_credential'] as unknown as Made;
};
const logIn = async ({ id, secret }: Made) => {
  const identity = { methods: ['application_credential'], application_credential: { id, secret } };
  const { headers, json } = await gateway.call('POST', '/identity/v3/auth/tokens', { auth: { identity } });
  return { token: headers.get('x-subject-token') ?? '', json };
};
const statusWith = async (token: string, method: string, path: string, body?: object): Promise<number> =>
  (await gateway.call(method, path, body, { 'x-auth-token': token })).status;

const list = { service: 'orchestration', method: 'GET', path: '/v1/{project_id}/stacks' };

it('allows the requests of its rules, and refuses every other one of every API', async () => {
  const made = await make('lists', { access_rules: [list] });
  const { token, json } = await logIn(made);
  expect(json['token']).toMatchObject({ application_credential: { access_rules: [list] } });
  expect(await statusWith(token, 'GET', `/orchestration/v1/${project}/stacks`)).toBe(200);
  expect(await statusWith(token, 'GET', `/orchestration/v1/${project}/stacks?limit=1`)).toBe(200);
  for (const [method, path] of [
    ['POST', `/orchestration/v1/${project}/stacks`],
    ['GET', `/orchestration/v1/${project}/stacks/`],
    ['GET', `/orchestration/v1/${project}/stacks/web`],
    ['GET', `/orchestration/v1/${project}/%73tacks`],
    ['GET', `/orchestration/v1/${project}/stacks%2Fweb`],
    ['GET', '/api/v1/overview'],
    ['GET', '/baremetal/v1/nodes'],
    ['GET', '/image/v2/images'],
    ['GET', '/v2/queues'],
    ['GET', '/identity/v3/users'],
    ['POST', '/api/v1/session'],
  ] as const) {
    expect([path, await statusWith(token, method, path, method === 'POST' ? {} : undefined)]).toEqual([path, 403]);
  }
  expect(await statusWith(token, 'DELETE', '/identity/v3/auth/tokens')).toBe(400);
});

it('names the rules in the refusal', async () => {
  const { token } = await logIn(await make('named', { access_rules: [list] }));
  const { text } = await gateway.call('GET', '/api/v1/overview', undefined, { 'x-auth-token': token });
  expect(text).toContain('They allow GET orchestration /v1/{project_id}/stacks.');
});

it('keeps the rules of a user for other credentials, until no credential uses them', async () => {
  const rule = { service: 'api', method: 'GET', path: '/v1/overview' };
  const first = await make('first', { access_rules: [rule] });
  const [{ id } = { id: '' }] = first.access_rules;
  const second = await make('second', { access_rules: [{ id }] });
  expect(second.access_rules).toEqual([{ id, ...rule }]);
  const shown = await gateway.call('GET', `${rulesAt}/${id}`);
  expect(shown.json['access_rule']).toMatchObject({ id, ...rule });
  expect((await gateway.call('DELETE', `${rulesAt}/${id}`)).status).toBe(403);
  for (const each of [first, second]) await gateway.call('DELETE', `${credentials}/${each.id}`);
  const { json } = await gateway.call('GET', rulesAt);
  expect(json['access_rules']).toContainEqual(expect.objectContaining({ id }));
  expect((await gateway.call('DELETE', `${rulesAt}/${id}`)).status).toBe(204);
  expect((await gateway.call('GET', `${rulesAt}/${id}`)).status).toBe(404);
});

it('passes its rules on to the credentials that it makes', async () => {
  const rules = [{ service: 'identity', method: 'POST', path: `/v3/users/${admin}/application_credentials` }];
  const { token } = await logIn(await make('maker', { unrestricted: true, access_rules: rules }));
  const wide = { name: 'made', access_rules: [{ service: 'api', method: 'GET', path: '/**' }] };
  const made = await gateway.call('POST', credentials, { application_credential: wide }, { 'x-auth-token': token });
  expect([made.status, made.json]).toMatchObject([201, { application_credential: { access_rules: rules } }]);
});

it('is refused with a wrong rule, and with the rule of another user', async () => {
  const refuse = async (rule: object): Promise<number> =>
    (await gateway.call('POST', credentials, { application_credential: { name: 'wrong', access_rules: [rule] } }))
      .status;
  expect(await refuse({ service: 'api', method: 'GET', path: 'v1' })).toBe(400);
  expect(await refuse({ service: 'api', method: 'READ', path: '/v1' })).toBe(400);
  expect(await refuse({ service: 'api', method: 'GET' })).toBe(400);
  expect(await refuse({ id: 'unknown' })).toBe(404);
});
