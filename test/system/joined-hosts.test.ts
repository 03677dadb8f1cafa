/** Templates that name hosts which joined by themselves. */
import { hostJoin, hostShow } from '@anneal/contracts/calls/hosts.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

const project = 'p1';
let world: StackWorld;
beforeAll(async () => {
  world = await StackWorld.open({}, { hosts: true, also: [provisioningService] });
});
afterAll(() => world.close());

const joined = async (host: string) => (await world.ask(hostJoin, { project, host }, 'configuration')).host;
const template = (name: string): string => `heat_template_version: rocky
resources:
  v: {type: OS::Heat::Value, properties: {value: ${name}}}
  web: {type: OS::Heat::DeployedServer, properties: {name: {get_attr: [v, value]}}}
outputs:
  id: {value: {get_resource: web}}
  name: {value: {get_attr: [web, name]}}
`;

it.each(['web1.example.org', 'Web1', 'web_1'])('a server takes the host that joined as %s', async (name) => {
  const host = await joined(name);
  const literal = `heat_template_version: rocky
resources: {web: {type: OS::Heat::DeployedServer, properties: {name: ${name}}}}
outputs: {id: {value: {get_resource: web}}}
`;
  const { id, ...stack } = await world.createAndWait('literal', { template: literal });
  expect(world.outputs({ id, ...stack })).toEqual({ id: host.id });
  await world.remove(id);
  await world.ask(hostShow, { project, host: host.id }, 'configuration');
});

it('a server takes the host whose name it gets from another resource, as it is written', async () => {
  const host = await joined('db1.example.org');
  const stack = await world.createAndWait('derived', { template: template('db1.example.org') });
  expect(world.outputs(stack)).toEqual({ id: host.id, name: 'db1.example.org' });
});

it('a server whose worked-out name is no host name fails with the rule, and makes no host', async () => {
  const { id } = await world.create('wrong', { template: template('a b') });
  const { status, reason, failures } = await world.settled(id);
  expect(status).toBe('FAILED');
  expect(`${reason} ${JSON.stringify(failures)}`).toContain('a host name consists of parts of 1 to 63 letters');
  await expect(world.ask(hostShow, { project, host: 'a b' }, 'configuration')).rejects.toMatchObject({
    code: 'NotFound',
  });
});
