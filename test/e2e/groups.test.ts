/** A group whose listener has no login: it answers waits at the address in their events. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 0 });
});
afterAll(() => server?.dispose());

const metadata = { balancer: 'lb1' };
const hook = { transition: 'terminating', heartbeat_timeout: 60, default_result: 'abandon', metadata };
const bundle = {
  template: `heat_template_version: 2018-08-31
resources:
  group:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 3, desired_capacity: 2, resource: {type: OS::Heat::Value, properties: {value: x}}}
  down: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: group}, adjustment_type: change_in_capacity, scaling_adjustment: -1}}
outputs:
  size: {value: {get_attr: [group, current_size]}}
  down: {value: {get_attr: [down, alarm_url]}}
`,
  environmentFiles: ['env.json'],
  files: {
    'env.json': JSON.stringify({ resource_registry: { resources: { group: { '*': { lifecycle_hooks: [hook] } } } } }),
  },
};
const outputsOf = async (stack: string): Promise<Record<string, unknown>> =>
  Object.fromEntries(
    ((await settled(server, stack)).outputs ?? []).map(({ output_key: key, output_value: value }) => [key, value]),
  );
const sized = (stack: string, size: number) =>
  eventually(async () => ((await outputsOf(stack))['size'] === size ? true : undefined));

it('a listener without a login extends and ends a wait, with the address in the event only', async () => {
  const { client } = server;
  await client.stacks.create({ name: 'open', bundle });
  const { stack_status: status, stack_status_reason: reason } = await settled(server, 'open');
  expect(status, reason ?? '').toBe('CREATE_COMPLETE');
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
