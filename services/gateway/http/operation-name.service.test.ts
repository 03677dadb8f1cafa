/** The names of operations in the OpenAPI document. */
import { expect, it } from 'vitest';
import { startTestGateway } from '../testing/test-gateway.ts';
import { operationName } from './operation-name.ts';

it('says verb and object, in the plural for a list', () => {
  const names = [
    operationName('GET', '/hosts'),
    operationName('GET', '/hosts/{host}'),
    operationName('POST', '/cron_triggers'),
    operationName('DELETE', '/subscriptions/{id}'),
    operationName('POST', '/subscriptions/{id}/rotate-secret'),
    operationName('GET', '/stacks/{stack}/why'),
    operationName('POST', '/templates/check'),
  ];
  expect(names).toEqual([
    'listHosts',
    'getHost',
    'createCronTrigger',
    'deleteSubscription',
    'rotateSubscriptionSecret',
    'getStackWhy',
    'checkTemplate',
  ]);
});

it('gives each operation a name of its own', async () => {
  const gateway = await startTestGateway();
  const { json } = await gateway.call('GET', '/api/v1/openapi.json');
  await gateway.stop();
  const paths = json['paths'] as unknown as Record<string, Record<string, { operationId: string }>>;
  const names = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  expect(names.length).toBeGreaterThan(100);
  expect(new Set(names).size).toBe(names.length);
});
