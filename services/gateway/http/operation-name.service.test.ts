/** The names of operations in the OpenAPI document. */
import { expect, it } from 'vitest';
import { apiEndpoints, type ApiOptions } from '../api/family.ts';
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

it('gives each operation a name of its own', () => {
  const names = apiEndpoints({} as ApiOptions).map(({ method, path }) => operationName(method, path));
  expect(new Set(names).size).toBe(names.length);
});
