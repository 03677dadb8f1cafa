import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 0 });
}, 60_000);
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

/** How a program outside signals, given what the handle says. */
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
  it.each(Object.entries(senders))('goes on when its handle is signalled by %s', async (transport, send) => {
    const name = transport.toLowerCase().replaceAll('_', '-');
    await server.client.stacks.create({ name, bundle: bundle(template(transport)) });
    await send(name);
    const stack = await settled(server, name);
    expect(stack.stack_status).toBe('CREATE_COMPLETE');
    expect(await outputOf(name, 'data')).toBe('{"one":"hello"}');
  });

  it('is not moved by an address that somebody made up', async () => {
    const answer = await fetch(`${server.url}/cfn/v1/signal/arn?Signature=signal.e30.AAAA`, { method: 'POST' });
    expect(answer.status).toBe(403);
  });

  it('takes no signals itself, and says so at once', async () => {
    const signalled = server.client.actions.signal({ stack: 'token-signal', resource: 'wait', signal: null });
    await expect(signalled).rejects.toThrow('OS::Heat::WaitCondition takes no signals');
  });
});
