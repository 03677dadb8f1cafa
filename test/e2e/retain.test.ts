import type { JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, deleted, resourcesOfStack, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 1 });
});
afterAll(() => server?.dispose());

const ended = async (stack: string, status: string): Promise<void> => {
  const { stack_status: found, stack_status_reason: reason } = await settled(server, stack, 120_000);
  expect(`${found} ${found === status ? '' : reason}`).toBe(`${status} `);
};
const node = async () => (await server.client.nodes.list())[0];
const idOf = async (stack: string, resource: string) =>
  (await resourcesOfStack(server, stack)).get(resource)?.physical_resource_id;

const template = ({ policy = 'Delete', word = 'hello' } = {}) => `heat_template_version: 2018-08-31
parameters: {password: {type: string, hidden: true, default: none}}
resources:
  host:
    type: OS::Nova::Server
    deletion_policy: ${policy}
    properties: {image: any, flavor: any, user_data_format: SOFTWARE_CONFIG}
  config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{name: word}, {name: password}]
      outputs: [{name: said}]
      config: |
        #!/bin/sh
        printf %s "$word" > $heat_outputs_path.said
  run:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {get_resource: config}
      server: {get_resource: host}
      input_values: {word: ${word}, password: {get_param: password}}
outputs:
  name: {value: {get_attr: [host, name]}}
  said: {value: {get_attr: [run, said]}}
`;
const outputOf = async (stack: string) =>
  (await settled(server, stack)).outputs?.find(({ output_key: key }) => key === 'said')?.output_value;

describe('a machine with the policy Retain', () => {
  it('runs on when its stack is deleted, can be adopted by another stack, and is released by that one', async () => {
    const { client } = server;
    await client.stacks.create({ name: 'first', bundle: bundle(template({ policy: 'Retain' })) });
    await ended('first', 'CREATE_COMPLETE');
    const host = await idOf('first', 'host');
    const { resources } = (await client.actions.export({ stack: 'first' })) as { resources: JsonObject };
    await client.stacks.delete({ stack: 'first' });
    await deleted(server, 'first');
    expect(await node()).toMatchObject({ provision_state: 'active', power_state: 'power on', instance_uuid: host });

    const alone = {
      heat_template_version: '2018-08-31',
      resources: {
        host: {
          type: 'OS::Nova::Server',
          properties: { image: 'any', flavor: 'any', user_data_format: 'SOFTWARE_CONFIG' },
        },
      },
    };
    const data = { template: alone, environment: {}, files: {}, resources: { host: resources['host'] ?? null } };
    await client.actions.adopt({ name: 'second', data });
    await ended('second', 'ADOPT_COMPLETE');
    expect(await idOf('second', 'host')).toBe(host);
    // The agent has kept running, and applies the configs of the new stack.
    await client.stacks.update({ stack: 'second', bundle: bundle(template()) });
    await ended('second', 'UPDATE_COMPLETE');
    expect(await outputOf('second')).toBe('hello');
    await client.stacks.delete({ stack: 'second' });
    await deleted(server, 'second', 120_000);
    await eventually(async () => ((await node())?.provision_state === 'available' ? true : undefined), {});
  });
});

describe('an abandoned stack', () => {
  it('leaves its machine and its processes; its export can be adopted by another stack', async () => {
    const { client } = server;
    const parameters = { password: 'hush-hush' };
    await client.stacks.create({ name: 'given', bundle: bundle(template()), parameters });
    await ended('given', 'CREATE_COMPLETE');
    const before = [await idOf('given', 'host'), await idOf('given', 'run')];
    const data = await client.actions.abandon({ stack: 'given' });
    await deleted(server, 'given');
    expect(data).toMatchObject({ environment: { parameters } });
    expect(JSON.stringify(data)).not.toContain('$sealed');
    expect(await node()).toMatchObject({ provision_state: 'active', power_state: 'power on' });

    await client.actions.adopt({ name: 'taken', data });
    await ended('taken', 'ADOPT_COMPLETE');
    expect([await idOf('taken', 'host'), await idOf('taken', 'run')]).toEqual(before);
    expect(await outputOf('taken')).toBe('hello');
    await client.stacks.update({ stack: 'taken', existing: true, bundle: bundle(template({ word: 'again' })) });
    await ended('taken', 'UPDATE_COMPLETE');
    expect(await outputOf('taken')).toBe('again');
    expect(await idOf('taken', 'host')).toBe(before[0]);
    await client.stacks.delete({ stack: 'taken' });
    await deleted(server, 'taken', 120_000);
  });
});
