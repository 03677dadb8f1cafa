/** Configs that reboot their host in the middle of a stack, on machines of the lab. */
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { atLab } from './at-lab.ts';
import { bundle, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 1 });
});
afterAll(async () => {
  await server?.dispose();
});

const config = (script: string, { options = '{}', after = '' } = {}): string => `
    type: OS::Heat::OrderedConfig
    properties:
      hosted_on: {get_resource: server}
      options: ${options}
      ${after === '' ? '' : `depends_on: {get_resource: ${after}}`}
      outputs: [{name: said}]
      script: |
        logger "$deploy_resource_name $ANNEAL_REBOOTS"
        ${script}`;
const template = `heat_template_version: 2018-08-31
resources:
  server: {type: OS::Nova::Server, properties: {image: debian-12, flavor: baremetal}}
  first: ${config('printf first >"$heat_outputs_path.said"')}
  kernel: ${config('printf kernel >"$heat_outputs_path.said"', { options: '{reboot: after}', after: 'first' })}
  firmware: ${config(
    '[ "$ANNEAL_REBOOTS" = 2 ] || exit 194; printf "%s" "$ANNEAL_REBOOTS" >"$heat_outputs_path.said"',
    { options: '{reboot: on status 194}', after: 'kernel' },
  )}
  own: ${config('[ "$ANNEAL_REBOOTS" = 1 ] || { reboot; sleep 600; }; printf own >"$heat_outputs_path.said"', {
    options: '{reboot: allowed}',
    after: 'firmware',
  })}
outputs:
  kernel: {value: {get_attr: [kernel, said]}}
  firmware: {value: {get_attr: [firmware, said]}}
  own: {value: {get_attr: [own, said]}}
`;

const ended = (stack: string) =>
  eventually(
    async () => {
      const shown = await server.client.stacks.show({ stack });
      return shown.stack_status === 'CREATE_IN_PROGRESS' ? undefined : shown;
    },
    { what: 'the end of the stack', within: 240_000 },
  );

it('reboots the host for each config that asks for it, in order', async () => {
  const { client } = server;
  await client.stacks.create({ name: 'site', bundle: bundle(template) });
  const stack = await ended('site');
  expect(stack.stack_status, stack.stack_status_reason ?? '').toBe('CREATE_COMPLETE');
  const outputs = Object.fromEntries(
    (stack.outputs ?? []).map(({ output_key, output_value }) => [output_key, output_value]),
  );
  expect(outputs).toEqual({ kernel: 'kernel', firmware: '2', own: 'own' });
  const log = (await server.logOf('machine-1')).map((line) => line.replace(/^.*?: /, '').trim());
  expect(log).toEqual(['first', 'kernel 0', 'firmware 0', 'firmware 1', 'firmware 2', 'own 0', 'own 1']);
  const deployments = await client.deployments.list({});
  const count = Object.fromEntries(deployments.map(({ resource_name, reboot }) => [resource_name, reboot?.number]));
  expect(count).toEqual({ first: undefined, kernel: 1, firmware: 2, own: 1 });
});

it('has a host that hangs in its reboot reset by its BMC, and answers its config after it', async () => {
  const { client } = server;
  await client.stacks.delete({ stack: 'site' });
  await eventually(async () => ((await client.stacks.list()).length === 0 ? true : undefined), {
    what: 'the end of the first stack',
    within: 120_000,
  });
  const hang = () => atLab(server, { path: '/lab/v1/machines/machine-1/faults', body: { hang_reboots: 1 } });
  await hang();
  const one = `heat_template_version: 2018-08-31
resources:
  server: {type: OS::Nova::Server, properties: {image: debian-12, flavor: baremetal}}
  kernel: ${config('printf kernel >"$heat_outputs_path.said"', { options: '{reboot: after, reboot_timeout: 8}' })}
outputs:
  kernel: {value: {get_attr: [kernel, said]}}
`;
  await client.stacks.create({ name: 'late', bundle: bundle(one) });
  const stack = await ended('late');
  expect(stack.stack_status, stack.stack_status_reason ?? '').toBe('CREATE_COMPLETE');
  const [deployment] = await client.deployments.list({});
  expect(deployment?.reboot).toMatchObject({ number: 1, over: true, reset_at: expect.any(String) as string });
  const log = (await server.logOf('machine-1')).map((line) => line.replace(/^.*?: /, '').trim());
  expect(log.filter((line) => line.startsWith('kernel'))).toEqual(['kernel 0']);
}, 420_000);
