/** Scenarios of stacks. The test files beside this one run them on each combination of broker and database. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { bundle, deleted, repository, resourcesOfStack, settled, type TestServer } from './server.ts';
import { faultsOfTrace, fleet } from './templates.ts';

const fixture = () => readFile(join(repository, 'test', 'fixtures', 'ordered-config.yaml'), 'utf8');

export function stackScenarios(start: () => Promise<TestServer>): void {
  let server: TestServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server?.dispose());

  describe('two ordered configs on one machine', () => {
    it('run in order on a node that is claimed, powered on and booted, and later released', async () => {
      const { client } = server;
      await client.stacks.create({ name: 'ordered', bundle: bundle(await fixture()), parameters: { key_name: 'k' } });
      const stack = await settled(server, 'ordered');
      expect(stack.stack_status_reason).toContain('completed');
      expect(stack.stack_status).toBe('CREATE_COMPLETE');

      const node = (await client.nodes.list()).find(({ provision_state }) => provision_state === 'active');
      expect(node?.power_state).toBe('power on');
      const log = (await server.logOf(String(node?.name))).join('\n');
      const [first, second] = [log.indexOf('1. hello from marconi'), log.indexOf('2. hello from marconi')];
      expect(first).toBeGreaterThan(-1);
      expect(second).toBeGreaterThan(first);

      const resources = await resourcesOfStack(server, 'ordered');
      expect([...resources.values()].map(({ resource_status }) => resource_status)).toEqual(
        Array.from({ length: 4 }, () => 'CREATE_COMPLETE'),
      );

      await client.stacks.delete({ stack: 'ordered' });
      await deleted(server, 'ordered');
      await eventually(
        async () => {
          const now = await client.nodes.show({ node: String(node?.name) });
          return now.provision_state === 'available' && now.power_state === 'power off' ? true : undefined;
        },
        { what: 'the node being available and off again' },
      );
    });
  });

  describe('an invalid template', () => {
    it('is refused with every error, path, line, column and nearest name, and creates nothing', async () => {
      const template = `heat_template_version: 2016-10-14
parameters:
  size: {type: number, constraints: [{range: {min: 1, max: 3}}], default: 2}
resources:
  a:
    type: OS::Heat::Vlue
    properties: {value: 1}
  b:
    type: OS::Heat::Value
    properties: {valu: {get_param: sizes}}
  c:
    type: OS::Heat::Value
    properties: {value: {get_resource: d}}
  d:
    type: OS::Heat::Value
    properties: {value: {get_attr: [c, value]}}
  e:
    type: OS::Heat::Value
    properties: {value: {get_attr: [nowhere, value]}}
`;
      const failure = await server.client.stacks.create({ name: 'broken', bundle: bundle(template) }).then(
        () => undefined,
        (error: unknown) =>
          error as { code: string; mistakes?: { path: string; line?: number; nearest?: string; message: string }[] },
      );
      const mistakes = failure?.mistakes ?? [];
      const text = JSON.stringify(mistakes);
      expect(text).toContain('OS::Heat::Value');
      expect(
        mistakes.some(
          ({ path, line, nearest }) => path.startsWith('resources.a') && line === 6 && nearest === 'OS::Heat::Value',
        ),
      ).toBe(true);
      expect(mistakes.some(({ path, nearest }) => path.startsWith('resources.b') && nearest === 'value')).toBe(true);
      expect(mistakes.some(({ nearest }) => nearest === 'size')).toBe(true);
      expect(text).toMatch(/[Cc]ircular/);
      expect(text).toContain('nowhere');
      await expect(server.client.stacks.show({ stack: 'broken' })).rejects.toMatchObject({ code: 'NotFound' });
    });

    it('is refused with the name of a missing parameter', async () => {
      await expect(server.client.stacks.create({ name: 'missing', bundle: bundle(await fixture()) })).rejects.toThrow(
        /key_name/,
      );
    });
  });

  describe('a failing config', () => {
    it('fails its resource and its stack with host, config, exit status and standard error; its dependents do not run', async () => {
      const template = `heat_template_version: 2016-10-14
resources:
  host: {type: OS::Nova::Server, properties: {image: any, flavor: any, name: unlucky}}
  bad:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: host}
      script: |
        #!/bin/sh
        echo "out of cheese" >&2
        exit 3
  after:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: host}
      depends_on: {get_resource: bad}
      script: logger never
`;
      await server.client.stacks.create({ name: 'failing', bundle: bundle(template) });
      const stack = await settled(server, 'failing');
      expect(stack.stack_status).toBe('CREATE_FAILED');
      expect(stack.failures).toHaveLength(1);
      const text = JSON.stringify(stack.failures[0]);
      expect(text).toContain('unlucky');
      expect(text).toContain('bad');
      expect(text).toContain('out of cheese');
      expect(stack.failures[0]?.failure.details?.['status_code']).toBe(3);
      const page = await server.anneal('stack', 'failures', 'failing');
      expect(page.stdout + page.stderr).toContain('out of cheese');
      const deployments = await server.client.deployments.list();
      // It was queued with the failed one, and skipped.
      const after = deployments.find(({ name }) => name === 'after');
      expect([after?.status, after?.started_at]).toEqual(['SKIPPED', null]);

      await server.client.stacks.delete({ stack: 'failing' });
      await deleted(server, 'failing');
    });
  });

  describe('a fleet of hosts', () => {
    it('runs the configs of each host in order and once, and hosts in parallel', async () => {
      const shape = { hosts: 3, configsPerHost: 4, trace: join(server.data, 'trace') };
      await server.client.stacks.create({ name: 'fleet', bundle: bundle(fleet(shape)) });
      expect((await settled(server, 'fleet')).stack_status).toBe('CREATE_COMPLETE');
      expect(faultsOfTrace(await readFile(shape.trace, 'utf8'), shape)).toEqual([]);
      await server.client.stacks.delete({ stack: 'fleet' });
      await deleted(server, 'fleet');
    });

    it('of 200 resources without hosts completes', async () => {
      const lines = ['heat_template_version: 2016-10-14', 'resources:'];
      for (let index = 0; index < 200; index += 1) {
        lines.push(`  v${index}:`, '    type: OS::Heat::Value', '    properties:');
        lines.push(index % 10 === 0 ? `      value: ${index}` : `      value: {get_attr: [v${index - 1}, value]}`);
      }
      lines.push('outputs:', '  last: {value: {get_attr: [v199, value]}}');
      await server.client.stacks.create({ name: 'flat', bundle: bundle(lines.join('\n')) });
      const stack = await settled(server, 'flat');
      expect(stack.stack_status).toBe('CREATE_COMPLETE');
      expect(stack.outputs?.[0]?.output_value).toBe(190);
      await server.client.stacks.delete({ stack: 'flat' });
      await deleted(server, 'flat');
    });
  });
}
