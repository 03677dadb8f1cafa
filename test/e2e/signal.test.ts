import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 0 });
});
afterAll(() => server?.dispose());

const template = (transport: string) => `
heat_template_version: 2018-08-31
resources:
  handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: ${transport}}}
  wait: {type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 60}}
outputs:
  signal: {value: {get_attr: [handle, signal]}}
  curl: {value: {get_attr: [handle, curl_cli]}}
  data: {value: {get_attr: [wait, data]}}
`;
const signal = { id: 'one', status: 'SUCCESS', data: 'hello' };
const json = { 'content-type': 'application/json' };

const outputOf = (stack: string, key: string): Promise<string> =>
  eventually(
    async () => {
      const { outputs } = await server.client.stacks.show({ stack, outputs: true });
      const value = outputs?.find(({ output_key }) => output_key === key)?.output_value;
      return typeof value === 'string' ? value : undefined;
    },
    { what: `the output ${key} of ${stack}` },
  );

async function login(credentials: Record<string, string>): Promise<string> {
  const { auth_url, user_id, password, project_id } = credentials;
  const answer = await fetch(`${auth_url}/auth/tokens`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({
      auth: {
        identity: { methods: ['password'], password: { user: { id: user_id, password } } },
        scope: { project: { id: project_id } },
      },
    }),
  });
  expect(answer.status).toBe(201);
  return answer.headers.get('x-subject-token') ?? '';
}

/** Ways in which a program can signal, with the attributes of the handle. */
const senders: Record<string, (stack: string) => Promise<void>> = {
  async TOKEN_SIGNAL(stack) {
    const command = await outputOf(stack, 'curl');
    await promisify(execFile)('sh', ['-c', `${command} --fail --silent --data-binary '${JSON.stringify(signal)}'`]);
  },
  async CFN_SIGNAL(stack) {
    const { alarm_url } = JSON.parse(await outputOf(stack, 'signal')) as Record<string, string>;
    await promisify(execFile)('curl', ['--fail', '--silent', '-d', JSON.stringify(signal), String(alarm_url)]);
  },
  async TEMP_URL_SIGNAL(stack) {
    const { object_url } = JSON.parse(await outputOf(stack, 'signal')) as Record<string, string>;
    const answer = await fetch(String(object_url), { method: 'PUT', headers: json, body: JSON.stringify(signal) });
    expect(answer.status).toBe(200);
  },
  async HEAT_SIGNAL(stack) {
    const token = await login(JSON.parse(await outputOf(stack, 'signal')) as Record<string, string>);
    const { id, stack_name } = await server.client.stacks.show({ stack });
    const project = (JSON.parse(await outputOf(stack, 'signal')) as Record<string, string>)['project_id'];
    const path = `/orchestration/v1/${project}/stacks/${stack_name}/${id}/resources`;
    const send = (resource: string) =>
      fetch(`${server.url}${path}/${resource}/signal`, {
        method: 'POST',
        headers: { ...json, 'x-auth-token': token },
        body: JSON.stringify(signal),
      });
    expect((await send('wait')).status).toBe(403);
    expect((await send('handle')).status).toBe(200);
  },
  async ZAQAR_SIGNAL(stack) {
    const credentials = JSON.parse(await outputOf(stack, 'signal')) as Record<string, string>;
    const token = await login(credentials);
    const post = (queue: string | undefined) =>
      fetch(`${server.url}/messaging/v2/queues/${queue}/messages`, {
        method: 'POST',
        headers: { ...json, 'x-auth-token': token, 'client-id': '3381af92-2b9e-11e3-b191-71861300734c' },
        body: JSON.stringify({ messages: [{ body: signal, ttl: 600 }] }),
      });
    expect((await post('other')).status).toBe(403);
    expect((await post(credentials['queue_id'])).status).toBe(201);
  },
};

describe('a wait condition', () => {
  it.each(Object.entries(senders))('completes when its handle is signalled by %s', async (transport, send) => {
    const name = transport.toLowerCase().replaceAll('_', '-');
    await server.client.stacks.create({ name, bundle: bundle(template(transport)) });
    await send(name);
    const stack = await settled(server, name);
    expect(stack.stack_status).toBe('CREATE_COMPLETE');
    expect(await outputOf(name, 'data')).toBe('{"one": "hello"}');
  });

  it('waits again after an update without other changes, for the new address of its handle', async () => {
    const renewed = bundle(`
heat_template_version: 2018-08-31
resources:
  handle: {type: OS::Heat::UpdateWaitConditionHandle}
  wait: {type: AWS::CloudFormation::WaitCondition, properties: {Handle: {get_resource: handle}, Timeout: 60}}
outputs:
  address: {value: {get_resource: handle}}
`);
    const body = JSON.stringify({ Status: 'SUCCESS', Reason: 'r', UniqueId: 'u', Data: 'd' });
    const put = async (address: string): Promise<number> =>
      (await fetch(address, { method: 'PUT', headers: json, body })).status;
    await server.client.stacks.create({ name: 'renewed', bundle: renewed });
    const first = await outputOf('renewed', 'address');
    expect(await put(first)).toBe(200);
    expect((await settled(server, 'renewed')).stack_status).toBe('CREATE_COMPLETE');
    await server.client.stacks.update({ stack: 'renewed', bundle: renewed });
    const second = await eventually(async () => {
      const address = await outputOf('renewed', 'address');
      return address === first ? undefined : address;
    });
    expect(await put(first)).toBe(404);
    expect((await server.client.stacks.show({ stack: 'renewed' })).stack_status).toBe('UPDATE_IN_PROGRESS');
    expect(await put(second)).toBe(200);
    expect((await settled(server, 'renewed')).stack_status).toBe('UPDATE_COMPLETE');
  });

  it('ignores a forged address', async () => {
    const answer = await fetch(`${server.url}/cfn/v1/signal/arn?Signature=signal.e30.AAAA`, { method: 'POST' });
    expect(answer.status).toBe(403);
  });
});

/** One resource of each type that accepts no signals and needs no machine. */
const deaf: Record<string, string> = {
  value: '{type: OS::Heat::Value, properties: {value: x}}',
  random: '{type: OS::Heat::RandomString}',
  none: '{type: OS::Heat::None}',
  test: '{type: OS::Heat::TestResource}',
  delay: '{type: OS::Heat::Delay}',
  wait: '{type: OS::Heat::WaitCondition, properties: {handle: {get_resource: handle}, timeout: 60}}',
  launch: '{type: AWS::AutoScaling::LaunchConfiguration, properties: {ImageId: i, InstanceType: t}}',
  group: '{type: OS::Heat::ResourceGroup, properties: {count: 1, resource_def: {type: OS::Heat::None}}}',
  chain: '{type: OS::Heat::ResourceChain, properties: {resources: [OS::Heat::None]}}',
  scaled:
    '{type: OS::Heat::AutoScalingGroup, properties: {min_size: 0, max_size: 1, resource: {type: OS::Heat::None}}}',
  remote: '{type: OS::Heat::Stack, properties: {template: {get_file: child.yaml}}}',
  cfn: '{type: AWS::CloudFormation::Stack, properties: {TemplateURL: child.yaml}}',
  nested: '{type: child.yaml}',
  // A template that replaces a type that accepts signals.
  alias: '{type: OS::Heat::UpdateWaitConditionHandle}',
  software: '{type: OS::Heat::SoftwareConfig, properties: {config: x}}',
  component: '{type: OS::Heat::SoftwareComponent, properties: {configs: [{tool: script, config: x}]}}',
  structured: '{type: OS::Heat::StructuredConfig, properties: {config: {a: b}}}',
  cloud: '{type: OS::Heat::CloudConfig, properties: {cloud_config: {a: b}}}',
  mime: '{type: OS::Heat::MultipartMime, properties: {parts: [{config: x}]}}',
};

describe('a resource whose type accepts no signals', () => {
  const stacks = () => server.client.stacks;
  const stateOf = async () => {
    const resources = await stacks().resources({ stack: 'deaf', depth: 2 });
    const { updated_time, stack_status } = await stacks().show({ stack: 'deaf' });
    const events = await stacks().events({ stack: 'deaf', limit: 1000 });
    return { resources, updated_time, stack_status, events };
  };

  beforeAll(async () => {
    const all = `
heat_template_version: 2018-08-31
resources:
  handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: NO_SIGNAL}}
${Object.entries(deaf)
  .map(([name, text]) => `  ${name}: ${text}`)
  .join('\n')}
`;
    const child = 'heat_template_version: 2018-08-31\nresources: {in: {type: OS::Heat::None}}\n';
    const registry = 'resource_registry: {resources: {alias: {OS::Heat::UpdateWaitConditionHandle: child.yaml}}}';
    const files = { 'child.yaml': child, 'environment.yaml': registry };
    const input = { ...bundle(all, files), environmentFiles: ['environment.yaml'] };
    await stacks().create({ name: 'deaf', bundle: input });
    await settled(server, 'deaf');
  });

  it('refuses a signal, names its type and the types that accept signals, and does not change', async () => {
    const before = await stateOf();
    expect(before.stack_status).toBe('CREATE_COMPLETE');
    for (const resource of Object.keys(deaf)) {
      const type = before.resources.find(({ resource_name: name }) => name === resource)?.resource_type ?? '';
      for (const body of [null, { status: 'SUCCESS' }]) {
        const sent = server.client.actions.signal({ stack: 'deaf', resource, signal: body });
        await expect(sent).rejects.toMatchObject({
          code: 'NotSupported',
          message: `Cannot signal resource ${resource}: ${type} takes no signals. In this stack can be signalled: handle.`,
        });
      }
    }
    expect(await stateOf()).toEqual(before);
  });
});
