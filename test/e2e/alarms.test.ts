/** Alarms scale a group by the measurements of its hosts, while the server is killed. */
import type { AnnealEvent } from '@anneal/client/events.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({
    lab: 0,
    env: { ANNEAL_NOTIFICATION_MEASUREMENT_PERIOD_SECONDS: '1', ANNEAL_NOTIFICATION_ALARM_SECONDS: '1' },
  });
});
afterAll(() => server?.dispose());

const elastic = bundle(
  `heat_template_version: 2018-08-31
resources:
  workers:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 2
      desired_capacity: 1
      resource: {type: OS::Heat::DeployedServer, properties: {name: {list_join: ['-', [worker, {get_param: 'OS::stack_name'}]]}}}
  up: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: workers}, adjustment_type: change_in_capacity, scaling_adjustment: 1}}
  down: {type: OS::Heat::ScalingPolicy, properties: {auto_scaling_group_id: {get_resource: workers}, adjustment_type: change_in_capacity, scaling_adjustment: -1}}
  busy:
    type: Anneal::Alarm
    properties:
      metric: load
      labels: {stack: {get_param: 'OS::stack_id'}, group: workers}
      period: 1
      threshold: 80
      alarm_actions: [{get_attr: [up, alarm_url]}]
  idle:
    type: OS::Aodh::GnocchiAggregationByResourcesAlarm
    properties:
      metric: load
      resource_type: instance
      query: {list_join: ['', ['{"=": {"server_group": "', {get_param: 'OS::stack_id'}, '"}}']]}
      aggregation_method: max
      granularity: 1
      evaluation_periods: 1
      comparison_operator: lt
      threshold: 20
      alarm_actions: [down]
outputs:
  size: {value: {get_attr: [workers, current_size]}}
`,
  {},
);

const sizeOf = async (): Promise<unknown> =>
  ((await settled(server, 'elastic')).outputs ?? []).find(({ output_key: key }) => key === 'size')?.output_value;
const postAs = async (token: string, value: number, labels?: Record<string, string>): Promise<number> => {
  const response = await fetch(`${server.url}/api/v1/metrics`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-auth-token': token },
    body: JSON.stringify({ measurements: [{ name: 'load', value, ...(labels && { labels }) }] }),
  });
  await response.arrayBuffer();
  return response.status;
};

describe('an alarm on the measurements of hosts', () => {
  it('makes the group grow and shrink, also when the server is killed in between', async () => {
    await server.client.stacks.create({ name: 'elastic', bundle: elastic });
    expect((await settled(server, 'elastic')).stack_status).toBe('CREATE_COMPLETE');
    const [host] = await server.client.hosts.list();
    const { token } = await server.client.hosts.renewToken({ host: host?.id ?? '' });
    const postUntil = (value: number, size: number) =>
      eventually(
        async () => {
          // While the server starts, it refuses connections.
          await postAs(token, value).catch(() => 0);
          return (await sizeOf().catch(() => undefined)) === size;
        },
        { what: `the group having ${size} members` },
      );

    await postUntil(95, 2);
    const [series] = await server.client.metrics.list({ name: 'load' });
    expect(series?.labels).toMatchObject({ stack_name: 'elastic', group: 'workers', host: host?.id });
    expect(await postAs(token, 1, { stack: 'other' })).toBe(400);

    await server.kill();
    await server.start();
    await postUntil(5, 1);
    // The token of a deleted host is answered with Gone.
    expect(await postAs(token, 5)).toBe(
      host && (await server.client.hosts.list()).some(({ id }) => id === host.id) ? 201 : 410,
    );

    const { stdout } = await server.anneal('alarm', 'history', 'idle', '-o', 'json');
    const kinds = (JSON.parse(stdout) as { kind: string }[]).map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['action', 'state transition']));
    const changes: AnnealEvent[] = await server.client.events.list({ types: ['alarm.changed'], limit: 100 });
    const versions = changes.map(({ subject, data }) => `${subject} ${(data as { version: number }).version}`);
    expect(new Set(versions).size).toBe(versions.length);
    expect(versions.length).toBeGreaterThanOrEqual(3);
  });
});
