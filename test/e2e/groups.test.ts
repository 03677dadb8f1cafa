/** Groups through the API: members are added and removed one by one, and healthy members stay unchanged. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Stack } from '@anneal/client/representation.ts';
import { bundle, deleted, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 0 });
}, 180_000);
afterAll(() => server?.dispose());

const ended = async (stack: string, status: string): Promise<Stack> => {
  const found = await settled(server, stack);
  expect(found.stack_status, found.stack_status_reason ?? '').toBe(status);
  return found;
};
const outputsOf = async (stack: string): Promise<Record<string, unknown>> =>
  Object.fromEntries(
    ((await settled(server, stack)).outputs ?? []).map(({ output_key: key, output_value: value }) => [key, value]),
  );

const numbered = bundle(
  `heat_template_version: 2018-08-31
parameters:
  count: {type: number, default: 3}
  value: {type: string, default: x}
  bad: {type: string, default: none}
  gone: {type: comma_delimited_list, default: []}
resources:
  g:
    type: OS::Heat::ResourceGroup
    update_policy: {rolling_update: {max_batch_size: 1, min_in_service: 1}}
    properties:
      count: {get_param: count}
      removal_policies: [{resource_list: {get_param: gone}}]
      resource_def:
        type: member.yaml
        properties: {value: {list_join: ['-', [{get_param: value}, '%index%']]}, index: '%index%', bad: {get_param: bad}}
outputs:
  values: {value: {get_attr: [g, attributes, output]}}
  refs: {value: {get_attr: [g, refs_map]}}
`,
  {
    'member.yaml': `heat_template_version: 2018-08-31
parameters: {value: {type: string}, index: {type: string}, bad: {type: string}}
conditions: {fails: {equals: [{get_param: index}, {get_param: bad}]}}
resources:
  leaf: {type: OS::Heat::TestResource, properties: {value: {get_param: value}, fail: {if: [fails, true, false]}}}
outputs: {output: {value: {get_attr: [leaf, output]}}}
`,
  },
);
const change = (stack: string, parameters: Record<string, string | number>) =>
  server.client.stacks.update({ stack, existing: true, parameters });

describe('a resource group', () => {
  it('grows, shrinks, and removes named members; all others keep their identity', async () => {
    await server.client.stacks.create({ name: 'numbered', bundle: numbered });
    await ended('numbered', 'CREATE_COMPLETE');
    const refs = (await outputsOf('numbered'))['refs'] as Record<string, string>;
    expect(Object.keys(refs)).toEqual(['0', '1', '2']);
    await change('numbered', { gone: '1' });
    await ended('numbered', 'UPDATE_COMPLETE');
    const left = (await outputsOf('numbered'))['refs'] as Record<string, string>;
    expect(Object.keys(left)).toEqual(['0', '2', '3']);
    expect([left['0'], left['2']]).toEqual([refs['0'], refs['2']]);
    await change('numbered', { count: 1 });
    await ended('numbered', 'UPDATE_COMPLETE');
    expect((await outputsOf('numbered'))['refs']).toEqual({ 0: refs['0'] });
  });

  it('names the failed member, and recreates only that one', async () => {
    await server.client.stacks.create({ name: 'repaired', bundle: numbered, parameters: { bad: '1' } });
    const failed = await ended('repaired', 'CREATE_FAILED');
    expect(failed.stack_status_reason).toContain('resources.g.resources[1].resources.leaf: Test Resource failed leaf');
    const good = await server.client.stacks.resource({ stack: 'repaired', resource: 'g/0' });
    await change('repaired', { bad: 'none' });
    await ended('repaired', 'UPDATE_COMPLETE');
    expect((await outputsOf('repaired'))['values']).toEqual({ 0: 'x-0', 1: 'x-1', 2: 'x-2' });
    const after = await server.client.stacks.resource({ stack: 'repaired', resource: 'g/0' });
    expect(after.physical_resource_id).toBe(good.physical_resource_id);
  });

  it('rolls back every member when the update of one fails', async () => {
    await server.client.stacks.create({ name: 'whole', bundle: numbered, onFailure: 'rollback' });
    await ended('whole', 'CREATE_COMPLETE');
    await change('whole', { value: 'y', bad: '2' });
    await ended('whole', 'ROLLBACK_COMPLETE');
    expect((await outputsOf('whole'))['values']).toEqual({ 0: 'x-0', 1: 'x-1', 2: 'x-2' });
  });

  it('can be deleted while it grows', async () => {
    await server.client.stacks.create({ name: 'short', bundle: numbered, parameters: { count: 50 } });
    const { id } = await server.client.stacks.delete({ stack: 'short' });
    await deleted(server, id);
    const names = (await server.client.stacks.list({ nested: true })).map(({ stack_name: name }) => name);
    expect(names.filter((name) => name.startsWith('short'))).toEqual([]);
  });
});

const scaled = (hook?: object) => ({
  template: `heat_template_version: 2018-08-31
parameters: {value: {type: string, default: x}}
resources:
  group:
    type: OS::Heat::AutoScalingGroup
    properties:
      {min_size: 1, max_size: 3, desired_capacity: 2, resource: {type: OS::Heat::Value, properties: {value: {get_param: value}}}}
  up: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: group}, adjustment_type: change_in_capacity, scaling_adjustment: 1}}
  down: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: group}, adjustment_type: change_in_capacity, scaling_adjustment: -1}}
outputs:
  size: {value: {get_attr: [group, current_size]}}
  members: {value: {get_attr: [group, outputs, value]}}
  up: {value: {get_attr: [up, alarm_url]}}
  down: {value: {get_attr: [down, alarm_url]}}
`,
  environmentFiles: ['env.json'],
  files: {
    'env.json': JSON.stringify({
      resource_registry: { resources: hook ? { group: { '*': { lifecycle_hooks: [hook] } } } : {} },
    }),
  },
});
const alarm = async (stack: string, which: 'up' | 'down'): Promise<void> => {
  const response = await fetch(String((await outputsOf(stack))[which]), { method: 'POST' });
  expect(response.status, await response.text()).toBe(200);
};
const sized = (stack: string, size: number) =>
  eventually(async () => ((await outputsOf(stack))['size'] === size ? true : undefined), { within: 20_000 });

describe('an autoscaling group', () => {
  it('keeps the size that its policies set when its members change', async () => {
    await server.client.stacks.create({ name: 'elastic', bundle: scaled() });
    await ended('elastic', 'CREATE_COMPLETE');
    await alarm('elastic', 'up');
    await sized('elastic', 3);
    await change('elastic', { value: 'y' });
    await ended('elastic', 'UPDATE_COMPLETE');
    const { size, members } = await outputsOf('elastic');
    expect(size).toBe(3);
    expect(Object.values(members as object)).toEqual(['y', 'y', 'y']);
    await alarm('elastic', 'up');
    await alarm('elastic', 'down');
    await sized('elastic', 2);
  });

  it('removes a member only after a listener has drained it', async () => {
    const { client } = server;
    const hook = { transition: 'terminating', heartbeat_timeout: 60, default_result: 'abandon' };
    await client.stacks.create({ name: 'drained', bundle: scaled(hook) });
    await ended('drained', 'CREATE_COMPLETE');
    const stop = new AbortController();
    const events = client.events.follow({ types: ['resource.lifecycle.waiting'], signal: stop.signal });
    const waitingEvent = (async () => {
      for await (const event of events) if (event.type === 'resource.lifecycle.waiting') return event.data;
      throw new Error('no event arrived');
    })();
    await alarm('drained', 'down');
    const { stack_id: stack, resource_name: resource, hook: name, token } = await waitingEvent;
    stop.abort();
    // The member exists while the listener drains it and sends heartbeats.
    const waiting = await client.stacks.resource({ stack, resource });
    expect(waiting.hook).toMatchObject({ name: 'terminating', kind: 'lifecycle' });
    await client.actions.actOn({ stack, resource, action: { kind: 'heartbeat', hook: name, token } });
    await client.actions.actOn({
      stack,
      resource,
      action: { kind: 'complete hook', hook: name, token, result: 'continue' },
    });
    await sized('drained', 1);
    await expect(client.stacks.resource({ stack, resource })).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('lets a listener without a login extend and end a wait, with the address in the event only', async () => {
    const { client } = server;
    const metadata = { balancer: 'lb1' };
    const hook = { transition: 'terminating', heartbeat_timeout: 60, default_result: 'abandon', metadata };
    await client.stacks.create({ name: 'open', bundle: scaled(hook) });
    await ended('open', 'CREATE_COMPLETE');
    const stop = new AbortController();
    const events = client.events.follow({ types: ['resource.lifecycle.waiting'], signal: stop.signal });
    const waitingEvent = (async () => {
      for await (const { data } of events) return data as Record<string, unknown>;
      throw new Error('no event arrived');
    })();
    const signalled = await fetch(String((await outputsOf('open'))['down']), { method: 'POST' });
    expect(await signalled.json()).toMatchObject({ scaling: { result: 'applied', before: 2, after: 1 } });
    const waiting = await waitingEvent;
    stop.abort();
    expect(waiting['metadata']).toEqual(metadata);
    const url = String(waiting['url']);
    const post = (to: string, body?: object): Promise<Response> =>
      fetch(to, {
        method: 'POST',
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
    const beat = (await (await post(`${url}/heartbeat`)).json()) as { deadline: string };
    expect(Date.parse(beat.deadline)).toBeGreaterThanOrEqual(Date.parse(String(waiting['deadline'])));
    expect((await post(`${url.slice(0, -4)}AAAA`, { result: 'continue' })).status).toBe(403);
    expect((await post(url, { result: 'continue', size: 3 })).status).toBe(400);
    expect((await post(url, { result: 'continue' })).status).toBe(200);
    await sized('open', 1);
    expect((await post(url, { result: 'continue' })).status).toBeGreaterThanOrEqual(400);
  });

  it('removes a member without an answer of a listener when the timeout passes', async () => {
    const hook = { transition: 'terminating', heartbeat_timeout: 0.2, default_result: 'continue' };
    await server.client.stacks.create({ name: 'deaf', bundle: scaled(hook) });
    await ended('deaf', 'CREATE_COMPLETE');
    await alarm('deaf', 'down');
    await sized('deaf', 1);
  });
});
