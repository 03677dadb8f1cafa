import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundle, settled, startServer, type TestServer } from '../e2e/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 1 });
});
afterAll(() => server?.dispose());

const canary = 'canary-4711-in-the-clear';
const template = `heat_template_version: 2018-08-31
parameters:
  secret: {type: string, hidden: true}
resources:
  host:
    type: OS::Nova::Server
    properties:
      image: any
      flavor: any
      user_data: {str_replace: {template: 'password=$P', params: {$P: {get_param: secret}}}}
      metadata: {password: {get_param: secret}}
  one:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: host}
      input_values: {SECRET: {get_param: secret}, PLAIN: plain}
      outputs: [{name: length}, {name: plain}]
      script: |
        #!/bin/sh
        printf %s "\${#SECRET}" > "$heat_outputs_path.length"
        printf %s "$PLAIN" > "$heat_outputs_path.plain"
  two:
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: host}
      input_values: {map_merge: [{SECRET: {get_param: secret}}]}
      outputs: [{name: length}]
      script: |
        #!/bin/sh
        printf %s "\${#SECRET}" > "$heat_outputs_path.length"
outputs:
  lengths: {value: {list_join: [' ', [{get_attr: [one, length]}, {get_attr: [one, plain]}, {get_attr: [two, length]}]]}}
`;

it('a hidden parameter reaches the scripts, and is in clear text only on the host', async () => {
  const environment = `parameters: {secret: ${canary}}\n`;
  await server.client.stacks.create({
    name: 'hidden',
    bundle: { ...bundle(template, { 'env.yaml': environment }), environmentFiles: ['env.yaml'] },
  });
  const stack = await settled(server, 'hidden');
  expect(stack.stack_status).toBe('CREATE_COMPLETE');
  expect(stack.parameters['secret']).toBe('******');
  expect(stack.outputs?.[0]?.output_value).toBe(`${canary.length} plain ${canary.length}`);

  const views = [
    await server.client.deployments.list(),
    await server.client.nodes.list(),
    await server.client.stacks.resources({ stack: 'hidden', detail: true }),
    await server.client.stacks.events({ stack: 'hidden' }),
  ];
  expect(JSON.stringify(views)).not.toContain(canary);

  const files = globSync('**/*', { cwd: server.data, exclude: ['lab/**'] }).filter((name) =>
    statSync(join(server.data, name)).isFile(),
  );
  expect(files).toContain('store.db');
  expect(files.filter((name) => readFileSync(join(server.data, name)).includes(canary))).toEqual([]);
  expect(server.output()).not.toContain(canary);
});
