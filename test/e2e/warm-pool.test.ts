/** A warm pool on machines: a group that grows takes a machine that is installed, and installs another one afterwards. */
import type { GroupView } from '@anneal/contracts/calls/scaling.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundle, deleted, settled, startServer, withClientRetries, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 4 });
});
afterAll(() => server?.dispose());

const minutesMs = 180_000;
const template = bundle(
  `heat_template_version: 2018-08-31
resources:
  workers:
    type: Anneal::Scaling::Group
    properties:
      min_size: 1
      max_size: 3
      desired_capacity: 1
      warm_pool: {size: 1}
      resource: {type: worker.yaml}
  more:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: workers}, adjustment_type: change_in_capacity, scaling_adjustment: 1}
outputs:
  size: {value: {get_attr: [workers, current_size]}}
  ran: {value: {get_attr: [workers, outputs, ran]}}
  more: {value: {get_attr: [more, alarm_url]}}
`,
  {
    'worker.yaml': `heat_template_version: 2018-08-31
resources:
  server: {type: OS::Nova::Server, properties: {image: any, flavor: baremetal}}
  setup:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: server}
      outputs: [{name: ran}]
      script: |
        #!/bin/sh
        printf yes > $heat_outputs_path.ran
outputs: {ran: {value: {get_attr: [setup, ran]}}}
`,
  },
);

const show = (): Promise<GroupView> => server.client.groups.show({ stack: 'web', group: 'workers' });
const full = (size: number): Promise<GroupView> => {
  let last: GroupView | undefined;
  return eventually(
    async () => {
      last = await show().catch(() => undefined);
      const isFull = last?.size === size && last.warm_pool?.members.length === 1;
      return isFull && last?.status.endsWith('_COMPLETE') ? last : undefined;
    },
    { within: minutesMs, what: `${size} members and a full pool`, last: () => last },
  );
};
const outputs = async (): Promise<Record<string, unknown>> =>
  Object.fromEntries(
    ((await settled(server, 'web', minutesMs)).outputs ?? []).map(({ output_key: key, output_value: value }) => [
      key,
      value,
    ]),
  );
const eventsOf = (type: string) => server.client.events.list({ types: [type], limit: 100 });
/** The servers that were complete at that time. */
const serversMade = async (until = '9'): Promise<string[]> =>
  (await eventsOf('resource.create.completed')).flatMap(({ data, time }) => {
    if (time > until) return [];
    const { resource_type: type, physical_id: id } = data as { resource_type: string; physical_id: string };
    return type === 'OS::Nova::Server' ? [id] : [];
  });

it(
  'grows by a machine that is installed, and keeps every member when the server is killed while the pool fills',
  async () => {
    await server.client.stacks.create({ name: 'web', bundle: template });
    const created = await settled(server, 'web', minutesMs);
    expect(created.stack_status, created.stack_status_reason ?? '').toBe('CREATE_COMPLETE');
    const { members, warm_pool: pool } = await full(1);
    const [first, warm] = [members[0], pool?.members[0]];
    expect(new Set(await serversMade())).toEqual(
      new Set([...(first?.servers ?? []), ...(warm?.servers ?? [])].map((found) => found['server_id'])),
    );
    expect(await outputs()).toMatchObject({ size: 1, ran: { [first?.name ?? '']: 'yes' } });
    expect((await eventsOf('group.member.entered')).map(({ data }) => data)).toMatchObject([{ member: first?.name }]);

    const answer = await fetch(String((await outputs())['more']), { method: 'POST' });
    expect(await answer.json()).toMatchObject({ scaling: { result: 'applied', before: 1, after: 2 } });
    const completed = await eventually(async () => (await eventsOf('group.scaling.completed'))[0]);
    expect(completed.data).toMatchObject({ entering: [warm?.name], leaving: [], before: 1, after: 2 });
    // No machine was installed for this: the new member is the server that waited.
    expect(await serversMade(completed.time)).toHaveLength(2);
    const entered = (await eventsOf('group.member.entered')).map(
      ({ data }) => data as { member: string; servers: unknown },
    );
    expect(entered.find(({ member }) => member === warm?.name)?.servers).toMatchObject([
      { server_id: warm?.servers[0]?.['server_id'] },
    ]);

    await server.kill();
    await server.start();
    const grown = await full(2);
    expect(new Set(grown.members.map(({ name }) => name))).toEqual(new Set([first?.name, warm?.name]));
    expect(new Set(await serversMade()).size).toBe(3);
    expect(Object.values((await outputs())['ran'] as object)).toEqual(['yes', 'yes']);
    expect(await eventsOf('group.member.entered')).toHaveLength(2);

    await withClientRetries(() => server.client.stacks.delete({ stack: 'web' }));
    await deleted(server, 'web', minutesMs);
  },
  2 * minutesMs,
);
