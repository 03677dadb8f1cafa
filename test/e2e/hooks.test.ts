/** Hooks through the API: a wait holds only its resource, survives restarts, and ends when a client completes it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Resource, Stack } from '@anneal/client/representation.ts';
import { deleted, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 0 });
}, 180_000);
afterAll(() => server?.dispose());

const template = `heat_template_version: 2018-08-31
parameters: {word: {type: string, default: one}}
resources:
  a: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
  b: {type: inner.yaml, properties: {word: {get_attr: [a, output]}}}
  free: {type: OS::Heat::Value, properties: {value: free}}
outputs: {said: {value: {get_attr: [b, said]}}}
`;
const inner = `heat_template_version: 2018-08-31
parameters: {word: {type: string}}
resources: {leaf: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}}
outputs: {said: {value: {get_attr: [leaf, output]}}}
`;
const hooked = (resources: object) => ({
  template,
  environmentFiles: ['env.json'],
  files: { 'inner.yaml': inner, 'env.json': JSON.stringify({ resource_registry: { resources } }) },
});
const create = (name: string, resources: object) => server.client.stacks.create({ name, bundle: hooked(resources) });
const ended = async (stack: string, status: string): Promise<Stack> => {
  const found = await settled(server, stack);
  expect(found.stack_status, found.stack_status_reason ?? '').toBe(status);
  return found;
};
const waiting = (stack: string, resource: string): Promise<NonNullable<Resource['hook']>> =>
  eventually(
    async () => {
      const found = await server.client.stacks.resource({ stack, resource }).catch(() => undefined);
      return found?.hook;
    },
    { within: 20_000, what: `${resource} of ${stack} waiting` },
  );
const clear = (stack: string, resource: string, hook: string) =>
  server.client.actions.actOn({ stack, resource, action: { kind: 'clear hook', hook } });
const reasonsOf = async (stack: string, resource: string): Promise<(string | null)[]> =>
  (await server.client.stacks.events({ stack, resource })).map(({ resource_status_reason: reason }) => reason);

describe('a hook', () => {
  it('holds its resource and its dependents, in nested stacks too, also when the server dies', async () => {
    await create('held', { a: { hooks: 'pre-create' }, b: { leaf: { hooks: 'pre-create' } } });
    await waiting('held', 'a');
    await eventually(async () => {
      const free = await server.client.stacks.resource({ stack: 'held', resource: 'free' });
      return free.resource_status === 'CREATE_COMPLETE' ? true : undefined;
    });
    await server.kill();
    await server.start();
    expect((await waiting('held', 'a')).name).toBe('pre-create');
    expect((await server.anneal('why', 'held')).stdout).toContain('anneal hook clear held a pre-create');
    await clear('held', 'a', 'pre-create');
    await waiting('held', 'b/leaf');
    const list = await server.anneal('hook', 'list', 'held');
    expect(list.stdout).toMatch(/b\/leaf\s+pre-create/);
    await clear('held', 'b/leaf', 'pre-create');
    await ended('held', 'CREATE_COMPLETE');
    expect((await reasonsOf('held', 'a')).slice(0, 2)).toEqual([
      'CREATE paused until Hook pre-create is cleared',
      'Hook pre-create is cleared',
    ]);
  });

  it('before updates holds unchanged resources too, but not new ones', async () => {
    await create('looked', { free: { hooks: ['pre-update'] } });
    await ended('looked', 'CREATE_COMPLETE');
    await server.client.stacks.update({ stack: 'looked', existing: true, parameters: { word: 'two' } });
    await waiting('looked', 'free');
    await clear('looked', 'free', 'pre-update');
    expect((await ended('looked', 'UPDATE_COMPLETE')).outputs?.[0]?.output_value).toBe('two');
  });

  it('ends with its action: a new update does not wait for it', async () => {
    await create('overtaken', { a: { hooks: ['pre-create'] } });
    await waiting('overtaken', 'a');
    await server.client.stacks.update({ stack: 'overtaken', existing: true, parameters: { word: 'two' } });
    expect((await ended('overtaken', 'UPDATE_COMPLETE')).outputs?.[0]?.output_value).toBe('two');
    expect(await reasonsOf('overtaken', 'a')).toContain('Failure occurred while waiting.');
  });

  it('does not prevent the deletion of its stack', async () => {
    await create('unwanted', { b: { leaf: { hooks: ['pre-create'] } } });
    await waiting('unwanted', 'b/leaf');
    const { id } = await server.client.stacks.delete({ stack: 'unwanted' });
    await deleted(server, id);
  });

  it('before deletion holds a resource while its stack is deleted', async () => {
    await create('last', { a: { hooks: ['pre-delete'] } });
    await ended('last', 'CREATE_COMPLETE');
    const { id } = await server.client.stacks.delete({ stack: 'last' });
    await waiting('last', 'a');
    await clear('last', 'a', 'pre-delete');
    await deleted(server, id);
  });

  it('cannot be cleared when it does not exist', async () => {
    await create('plain', {});
    await ended('plain', 'CREATE_COMPLETE');
    await expect(clear('plain', 'a', 'pre-create')).rejects.toThrow('The "pre-create" hook is not defined on a');
    await expect(clear('plain', 'a', 'pre-nothing')).rejects.toMatchObject({ code: 'InvalidRequest' });
  });
});

describe('a lifecycle hook', () => {
  const launching = (more: object) => ({
    a: { lifecycle_hooks: [{ transition: 'launching', heartbeat_timeout: 60, default_result: 'abandon', ...more }] },
  });
  const tokenOf = async (name: string, resources: object): Promise<string> => {
    const stop = new AbortController();
    const events = server.client.events.follow({ types: ['resource.lifecycle.waiting'], signal: stop.signal });
    const waitingEvent = (async () => {
      for await (const event of events) {
        if (event.type !== 'resource.lifecycle.waiting') continue;
        const { stack_name: stack, token } = event.data;
        if (stack === name) return token;
      }
      throw new Error('no event arrived');
    })();
    await create(name, resources);
    return waitingEvent.finally(() => stop.abort());
  };

  it('is extended by heartbeats and completed by its listener, with the token', async () => {
    const token = await tokenOf('launched', launching({}));
    const before = await waiting('launched', 'a');
    const act = { stack: 'launched', resource: 'a' };
    const beat = (with_: string) =>
      server.client.actions.actOn({ ...act, action: { kind: 'heartbeat', hook: 'launching', token: with_ } });
    await expect(beat('made up')).rejects.toMatchObject({ code: 'Conflict' });
    await beat(token);
    const after = await waiting('launched', 'a');
    expect(Date.parse(String(after.deadline))).toBeGreaterThan(Date.parse(String(before.deadline)));
    const complete = { kind: 'complete hook', hook: 'launching', token, result: 'continue' } as const;
    await server.client.actions.actOn({ ...act, action: complete });
    await ended('launched', 'CREATE_COMPLETE');
  });

  it.each([
    ['continue', 'CREATE_COMPLETE'],
    ['abandon', 'CREATE_FAILED'],
  ])('has its default result when no listener answers: %s', async (result, status) => {
    await create(`silent-${result}`, launching({ heartbeat_timeout: 0.2, default_result: result }));
    await ended(`silent-${result}`, status);
  });
});
