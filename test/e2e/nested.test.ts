import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { bundle, deleted, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 2 });
});
afterAll(() => server?.dispose());

const outputsOf = async (stack: string): Promise<Record<string, unknown>> =>
  Object.fromEntries(
    ((await settled(server, stack, 120_000)).outputs ?? []).map(({ output_key: key, output_value: value }) => [
      key,
      value,
    ]),
  );

const deployments = (greeting: string) => `
heat_template_version: 2018-08-31
resources:
  config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{name: greeting}]
      config: |
        #!/bin/sh
        echo "$greeting from $(hostname)"
  nodes: {type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: {type: node.yaml}}}
  all:
    type: OS::Heat::SoftwareDeploymentGroup
    update_policy: {rolling_update: {max_batch_size: 1, pause_time: 0}}
    properties:
      config: {get_resource: config}
      servers: {get_attr: [nodes, attributes, server]}
      input_values: {greeting: ${greeting}}
outputs:
  said: {value: {get_attr: [all, deploy_stdouts]}}
  codes: {value: {get_attr: [all, deploy_status_codes]}}
`;
const node = `
heat_template_version: 2018-08-31
resources:
  server: {type: OS::Nova::Server, properties: {image: any, flavor: baremetal, user_data_format: SOFTWARE_CONFIG}}
outputs:
  server: {value: {get_resource: server}}
`;

describe('nested stacks through the API', () => {
  it('deploy to every machine of a group of templates, and update it in batches', async () => {
    const { client } = server;
    await client.stacks.create({ name: 'fleet', bundle: bundle(deployments('hello'), { 'node.yaml': node }) });
    const first = await settled(server, 'fleet', 120_000);
    expect(first.stack_status, first.stack_status_reason ?? '').toBe('CREATE_COMPLETE');
    const outputs = (await outputsOf('fleet'))['said'] as Record<string, string>;
    expect(Object.keys(outputs)).toEqual(['0', '1']);
    expect(Object.values(outputs).every((text) => text.startsWith('hello from'))).toBe(true);
    await client.stacks.update({ stack: 'fleet', bundle: bundle(deployments('again'), { 'node.yaml': node }) });
    const again = (await outputsOf('fleet'))['said'] as Record<string, string>;
    expect(Object.values(again).every((text) => text.startsWith('again from'))).toBe(true);
    const resources = await client.stacks.resources({ stack: 'fleet', depth: 5 });
    expect(resources.filter(({ resource_type: type }) => type === 'OS::Nova::Server')).toHaveLength(2);
    await client.stacks.delete({ stack: 'fleet' });
    await deleted(server, 'fleet', 120_000);
    expect(await client.stacks.list({ nested: true })).toEqual([]);
  });

  it('are scaled by a client with the address of a policy', async () => {
    const { client } = server;
    const template = `
heat_template_version: 2018-08-31
resources:
  group:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 3, resource: {type: OS::Heat::Value, properties: {value: v}}}
  up:
    type: OS::Heat::ScalingPolicy
    properties:
      auto_scaling_group_id: {get_resource: group}
      adjustment_type: change_in_capacity
      scaling_adjustment: 1
outputs:
  size: {value: {get_attr: [group, current_size]}}
  url: {value: {get_attr: [up, alarm_url]}}
`;
    await client.stacks.create({ name: 'scaled', bundle: bundle(template) });
    const { url, size } = await outputsOf('scaled');
    expect(size).toBe(1);
    const response = await fetch(String(url), { method: 'POST' });
    expect(response.ok, await response.text()).toBe(true);
    await eventually(async () => ((await outputsOf('scaled'))['size'] === 2 ? true : undefined));
    await client.stacks.delete({ stack: 'scaled' });
    await deleted(server, 'scaled');
  });
});
