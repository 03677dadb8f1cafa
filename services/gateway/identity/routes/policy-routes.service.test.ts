/** Policies: texts that the identity API keeps for services beside Anneal. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const policies = '/identity/v3/policies';

it('are kept as they are, until they are changed or deleted', async () => {
  const policy = { type: 'application/json', blob: '{"compute:start": "role:member"}' };
  const made = await gateway.call('POST', policies, { policy });
  expect([made.status, made.json['policy']]).toMatchObject([201, policy]);
  const { id } = made.json['policy'] as unknown as { id: string };
  expect((await gateway.call('PATCH', `${policies}/${id}`, { policy: { blob: '{}' } })).json['policy']).toMatchObject({
    id,
    type: 'application/json',
    blob: '{}',
  });
  const listed = await gateway.call('GET', `${policies}?type=application/json`);
  expect(listed.json['policies']).toMatchObject([{ id, blob: '{}' }]);
  expect((await gateway.call('GET', `${policies}?type=other`)).json['policies']).toEqual([]);
  expect((await gateway.call('DELETE', `${policies}/${id}`)).status).toBe(204);
  for (const method of ['GET', 'DELETE']) {
    expect((await gateway.call(method, `${policies}/${id}`)).status).toBe(404);
  }
});

it('need a type and a text', async () => {
  for (const policy of [{ type: 'a' }, { blob: 'a' }, { type: '', blob: 'a' }, { type: 'a', blob: {} }]) {
    expect([policy, (await gateway.call('POST', policies, { policy })).status]).toEqual([policy, 400]);
  }
});
