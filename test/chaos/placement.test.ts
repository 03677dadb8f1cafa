import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { bundle, settled, startServer, type TestServer } from '../e2e/server.ts';

const env: Record<string, string> = { ANNEAL_FAULT: 'provisioning.group.reserved:kill:2' };
let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 4, env });
});
afterAll(() => server?.dispose());

const template = `heat_template_version: 2018-08-31
resources:
  apart: {type: OS::Nova::ServerGroup, properties: {policies: [anti-affinity]}}
  servers:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def:
        type: OS::Nova::Server
        properties: {flavor: any, scheduler_hints: {group: {get_resource: apart}}}
`;

describe('kill -9 while servers of an anti-affinity group are placed at the same time', () => {
  it('never puts two of them into one rack', async () => {
    for (const [at, { name }] of (await server.client.nodes.list()).entries()) {
      const { status, stderr } = await server.anneal('node', 'set', name ?? '', '--property', `rack=${'ab'[at % 2]}`);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    }
    await server.client.stacks.create({ name: 'apart', bundle: bundle(template) });
    const isDown = (): Promise<true | undefined> =>
      fetch(server.url).then(
        () => undefined,
        () => true,
      );
    await eventually(isDown, { what: 'the death of the server at the second reservation' });
    env['ANNEAL_FAULT'] = '';
    await server.start();
    expect((await settled(server, 'apart', 90_000)).stack_status).toBe('CREATE_COMPLETE');
    const used = (await server.client.nodes.list()).filter(({ instance_uuid }) => instance_uuid !== null);
    const racks = used.map(({ properties }) => (properties as Record<string, string>)['rack'] ?? '');
    expect(racks.toSorted()).toEqual(['a', 'b']);
  });
});
