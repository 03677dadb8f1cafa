/** The gateway while no identity service answers. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { login, project, startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
/** A token that this gateway has not seen before the identity service went away. */
let unseen: string;
beforeAll(async () => {
  gateway = await startTestGateway({ ANNEAL_GATEWAY_ANSWER_TIMEOUT_MS: '300' });
  unseen = (await logIn()).headers.get('x-subject-token') ?? '';
  await gateway.loseIdentity();
});
afterAll(() => gateway.stop());

const v3 = '/identity/v3';
const stacks = `/orchestration/v1/${project}/stacks`;
const logIn = () => gateway.call('POST', `${v3}/auth/tokens`, login(), { 'x-auth-token': '' });

it('serves every API to users with a token, also one that it has not seen', async () => {
  for (const token of [gateway.token, unseen]) {
    for (const path of ['/api/v1/projects', `${v3}/users`, `${v3}/auth/catalog`, stacks]) {
      expect([path, (await gateway.call('GET', path, undefined, { 'x-auth-token': token })).status]).toEqual([
        path,
        200,
      ]);
    }
  }
});

it('shows tokens to services that check them', async () => {
  const { status, json } = await gateway.call('GET', `${v3}/auth/tokens`, undefined, { 'x-subject-token': unseen });
  expect([status, json]).toMatchObject([200, { token: { user: { name: 'admin' } } }]);
});

it('answers 503 to a login and to a change, and names the service', async () => {
  for (const { status, text } of [
    await logIn(),
    await gateway.call('POST', `${v3}/projects`, { project: { name: 'late' } }),
    await gateway.call('DELETE', `${v3}/auth/tokens`, undefined, { 'x-subject-token': unseen }),
  ]) {
    expect([status, text]).toEqual([503, expect.stringContaining('The identity service did not answer') as string]);
  }
});
