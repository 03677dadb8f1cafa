/** One deployment on many hosts, batch by batch. Each host answers separately, and a failure stops the next batches. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, deleted, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 3 });
});
afterAll(() => server?.dispose());

const hosts = ['one', 'two', 'three'];

interface Fleet {
  script: string;
  who: string;
  on?: readonly string[];
  policy?: string;
  actions?: string;
  type?: string;
}

const fleet = ({ script, who, on = hosts, policy = '{}', ...rest }: Fleet) => {
  const { actions = '[CREATE, UPDATE]', type = 'OS::Heat::SoftwareDeploymentGroup' } = rest;
  return bundle(`heat_template_version: 2018-08-31
resources:
${hosts.map((name) => `  ${name}: {type: OS::Nova::Server, properties: {image: any, flavor: baremetal, name: ${name}, user_data_format: SOFTWARE_CONFIG}}`).join('\n')}
  config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      inputs: [{name: who}]
      outputs: [{name: result}]
      config: ${JSON.stringify(script)}
  group:
    type: ${type}
    update_policy: ${policy}
    properties:
      config: {get_resource: config}
      servers: {${on.map((name) => `${name}: {get_resource: ${name}}`).join(', ')}}
      input_values: {who: ${who}}
      actions: ${actions}
outputs:
  result: {value: {get_attr: [group, result]}}
  codes: {value: {get_attr: [group, deploy_status_codes]}}
  errors: {value: {get_attr: [group, deploy_stderrs]}}
`);
};

const outputsOf = async (stack: string): Promise<Record<string, unknown>> =>
  Object.fromEntries(
    ((await settled(server, stack)).outputs ?? []).map(({ output_key: key, output_value: value }) => [key, value]),
  );
const ended = async (stack: string, status: string) => {
  const found = await settled(server, stack);
  expect(found.stack_status, found.stack_status_reason ?? '').toBe(status);
  return found;
};
const all = (value: unknown, on = hosts): Record<string, unknown> =>
  Object.fromEntries(on.map((name) => [name, value]));
const logged = async (text: string): Promise<number> => {
  const logs = await Promise.all(['machine-1', 'machine-2', 'machine-3'].map((name) => server.logOf(name)));
  return logs.flat().filter((line) => line.endsWith(text)).length;
};

const good = `#!/bin/sh
echo of $who >&2
printf 'for %s' "$who" > $heat_outputs_path.result
`;
/** Fails on the second host of the map. */
const bad = good.replace('echo', 'case $(hostname) in two) echo no disk >&2; exit 7;; esac; echo');

describe('a group of deployments', () => {
  it('runs on every host, updates in batches, stops at a failure, and continues after a fix', async () => {
    const stack = 'rolled';
    await server.client.stacks.create({ name: stack, bundle: fleet({ script: good, who: 'a' }) });
    await ended(stack, 'CREATE_COMPLETE');
    expect(await outputsOf(stack)).toEqual({ result: all('for a'), codes: all(0), errors: all('of a\n') });

    const policy = '{rolling_update: {max_batch_size: 1, pause_time: 0.1}}';
    await server.client.stacks.update({ stack, bundle: fleet({ script: good, who: 'b', policy }) });
    await ended(stack, 'UPDATE_COMPLETE');
    expect((await outputsOf(stack))['result']).toEqual(all('for b'));
    const { physical_resource_id: group } = await server.client.stacks.resource({ stack, resource: 'group' });
    const events = await server.client.stacks.events({ stack: String(group), limit: 1000 });
    const statuses = events
      .filter(({ resource_name: name, resource_status: status }) => hosts.includes(name) && status.startsWith('UPDATE'))
      .map(({ resource_name: name, resource_status: status }) => `${name} ${status}`);
    expect(statuses).toEqual(hosts.flatMap((name) => [`${name} UPDATE_IN_PROGRESS`, `${name} UPDATE_COMPLETE`]));

    await server.client.stacks.update({ stack, bundle: fleet({ script: bad, who: 'c', policy }) });
    const failed = await ended(stack, 'UPDATE_FAILED');
    expect(failed.failures.map(({ resource }) => resource)).toEqual(['group.resources.two']);
    expect(JSON.stringify(failed.failures)).toContain('no disk');
    // The next host has not changed.
    expect(await outputsOf(stack)).toMatchObject({
      result: { one: 'for c', three: 'for b' },
      codes: { one: 0, two: 7, three: 0 },
    });

    await server.client.stacks.update({ stack, bundle: fleet({ script: good, who: 'd', policy }) });
    await ended(stack, 'UPDATE_COMPLETE');
    expect((await outputsOf(stack))['result']).toEqual(all('for d'));
    await server.client.stacks.delete({ stack });
    await deleted(server, stack);
  });

  it('follows changes of its map of servers, and runs the DELETE config on removed hosts', async () => {
    const stack = 'followed';
    const script = '#!/bin/sh\nlogger "$deploy_action of $who"\n';
    // The name of the type in Heat before SoftwareDeploymentGroup.
    const given = { script, who: 'x', actions: '[CREATE, DELETE]', type: 'OS::Heat::SoftwareDeployments' };
    await server.client.stacks.create({ name: stack, bundle: fleet({ ...given, on: ['one', 'two'] }) });
    await ended(stack, 'CREATE_COMPLETE');
    await server.client.stacks.update({ stack, bundle: fleet({ ...given, on: ['three', 'one'] }) });
    await ended(stack, 'UPDATE_COMPLETE');
    expect((await outputsOf(stack))['codes']).toEqual({ three: 0, one: 0 });
    expect([await logged('CREATE of x'), await logged('DELETE of x')]).toEqual([3, 1]);
    await server.client.stacks.delete({ stack });
    await deleted(server, stack);
  });
});

describe('a group of structured deployments', () => {
  it.each([
    ['OS::Heat::StructuredDeploymentGroup', 'structured'],
    ['OS::Heat::StructuredDeployments', 'structured-before'],
  ])('%s inserts the inputs into the map of each host', async (type, stack) => {
    const template = `heat_template_version: 2018-08-31
resources:
  a: {type: OS::Heat::DeployedServer, properties: {name: ${stack}-a}}
  b: {type: OS::Heat::DeployedServer, properties: {name: ${stack}-b}}
  config:
    type: OS::Heat::StructuredConfig
    properties: {group: none, config: {name: {get_input: who}, list: [{get_input: more}], kept: {get_input: [x]}}}
  group:
    type: ${type}
    properties:
      config: {get_resource: config}
      servers: {a: {get_resource: a}, b: {get_resource: b}}
      input_values: {who: w}
      signal_transport: NO_SIGNAL
outputs: {refs: {value: {get_attr: [group, deploy_status_codes]}}}
`;
    await server.client.stacks.create({ name: stack, bundle: bundle(template) });
    await ended(stack, 'CREATE_COMPLETE');
    const { physical_resource_id: group } = await server.client.stacks.resource({ stack, resource: 'group' });
    const deployments = (await server.client.deployments.list()).filter(({ stack_id: of }) => of === group);
    const config = { name: 'w', list: [null], kept: { get_input: ['x'] } };
    expect(Object.fromEntries(deployments.map(({ resource_name: name, config: given }) => [name, given]))).toEqual({
      a: config,
      b: config,
    });
    await server.client.stacks.update({
      stack,
      bundle: bundle(template.replace('who: w}', 'who: w}\n      input_values_validate: STRICT')),
    });
    const failed = await ended(stack, 'UPDATE_FAILED');
    expect(failed.stack_status_reason).toContain('The Parameter (more) was not provided.');
  });
});
