/** A hook through the API and the CLI: its wait holds only its resource, and survives the death of the server. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Resource } from '@anneal/client/representation.ts';
import { settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 0 });
});
afterAll(() => server?.dispose());

const template = `heat_template_version: 2018-08-31
resources:
  a: {type: OS::Heat::TestResource, properties: {value: one}}
  b: {type: inner.yaml, properties: {word: {get_attr: [a, output]}}}
  free: {type: OS::Heat::Value, properties: {value: free}}
outputs: {said: {value: {get_attr: [b, said]}}}
`;
const inner = `heat_template_version: 2018-08-31
parameters: {word: {type: string}}
resources: {leaf: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}}
outputs: {said: {value: {get_attr: [leaf, output]}}}
`;
const resources = { a: { hooks: 'pre-create' }, b: { leaf: { hooks: 'pre-create' } } };
const bundle = {
  template,
  environmentFiles: ['env.json'],
  files: { 'inner.yaml': inner, 'env.json': JSON.stringify({ resource_registry: { resources } }) },
};

const resourceOf = (resource: string) => server.client.stacks.resource({ stack: 'held', resource });
const waiting = (resource: string): Promise<NonNullable<Resource['hook']>> =>
  eventually(async () => (await resourceOf(resource).catch(() => undefined))?.hook, {
    what: `${resource} waiting`,
  });
const clear = (resource: string) =>
  server.client.actions.actOn({ stack: 'held', resource, action: { kind: 'clear hook', hook: 'pre-create' } });

it('a hook holds its resource and its dependents, in nested stacks too, also when the server dies', async () => {
  await server.client.stacks.create({ name: 'held', bundle });
  await waiting('a');
  await eventually(async () => (await resourceOf('free')).resource_status === 'CREATE_COMPLETE');
  await server.kill();
  await server.start();
  expect((await waiting('a')).name).toBe('pre-create');
  expect((await server.anneal('why', 'held')).stdout).toContain('anneal hook clear held a pre-create');
  await clear('a');
  await waiting('b/leaf');
  const list = await server.anneal('hook', 'list', 'held');
  expect(list.stdout).toMatch(/b\/leaf\s+pre-create/);
  await clear('b/leaf');
  const stack = await settled(server, 'held');
  expect(stack.stack_status, stack.stack_status_reason ?? '').toBe('CREATE_COMPLETE');
  const events = await server.client.stacks.events({ stack: 'held', resource: 'a' });
  expect(events.slice(0, 2).map(({ resource_status_reason: reason }) => reason)).toEqual([
    'CREATE paused until Hook pre-create is cleared',
    'Hook pre-create is cleared',
  ]);
});
