/** The reach of the credentials of a host's collector: its own metadata and answers, and nothing else. */
import { createHmac } from 'node:crypto';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle, startServer, type TestServer } from '../../e2e/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 0 });
});
afterAll(() => server?.dispose());

const template = `heat_template_version: 2018-08-31
resources:
${['cfn', 'heat', 'request']
  .map(
    (kind) => `  ${kind}:
    type: OS::Heat::DeployedServer
    metadata: {of: ${kind}}
    properties: {name: ${kind}, software_config_transport: ${{ cfn: 'POLL_SERVER_CFN', heat: 'POLL_SERVER_HEAT', request: 'POLL_TEMP_URL' }[kind]}}
  ${kind}_config:
    type: OS::Heat::OrderedConfig
    properties: {hosted_on: {get_resource: ${kind}}, script: echo ${kind}}
`,
  )
  .join('')}
outputs:
${['cfn', 'heat', 'request'].map((kind) => `  ${kind}: {value: {get_attr: [${kind}, os_collect_config, ${kind}]}}\n`).join('')}`;

type Section = Record<string, string>;
async function created(name: string): Promise<Record<string, Section>> {
  await server.client.stacks.create({ name, bundle: bundle(template) });
  return eventually(
    async () => {
      const { outputs = [] } = await server.client.stacks.show({ stack: name, outputs: true });
      const values = outputs.map(({ output_key, output_value }) => [output_key, output_value]);
      return values.length === 3 && values.every(([, value]) => value) ? Object.fromEntries(values) : undefined;
    },
    { what: 'the settings', last: () => server.output() },
  );
}

async function read(url: string, init: RequestInit = {}): Promise<{ status: number; json: JsonObject; text: string }> {
  const answer = await fetch(url, init);
  const text = await answer.text();
  return { status: answer.status, text, json: text.startsWith('{') ? (JSON.parse(text) as JsonObject) : {} };
}
const namesOf = (metadata: unknown): string[] =>
  ((metadata as JsonObject)['deployments'] as { name: string }[]).map(({ name }) => name);

async function login({ auth_url, user_id, password, project_id }: Section): Promise<string | null> {
  const body = {
    auth: {
      identity: { methods: ['password'], password: { user: { id: user_id, password } } },
      scope: { project: { id: project_id } },
    },
  };
  const answer = await fetch(`${auth_url}/auth/tokens`, { method: 'POST', body: JSON.stringify(body) });
  return answer.headers.get('x-subject-token');
}

/** A request signed with version 2. */
function signed(section: Section, change: Section = {}): string {
  const { metadata_url = '', access_key_id = '', secret_access_key = '', stack_name = '' } = section;
  const url = new URL(metadata_url);
  const params: Section = {
    AWSAccessKeyId: access_key_id,
    Action: 'DescribeStackResource',
    LogicalResourceId: 'cfn',
    SignatureMethod: 'HmacSHA256',
    SignatureVersion: '2',
    StackName: stack_name,
    ...change,
  };
  const sorted = Object.entries(params).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const query = sorted.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
  const text = `GET\n${url.host}\n${url.pathname}\n${query}`;
  const signature = createHmac('sha256', secret_access_key).update(text).digest('base64');
  return `${metadata_url}?${query}&Signature=${encodeURIComponent(signature)}`;
}

const inputOf = (metadata: JsonObject, name: string): string => {
  const [deployment] = metadata['deployments'] as { inputs: { name: string; value: string }[] }[];
  return deployment?.inputs.find((input) => input.name === name)?.value ?? '';
};

describe('the credentials of a collector', () => {
  it('read the metadata of their own server: of the template, the deployments, the settings', async () => {
    const { cfn = {}, heat = {}, request: temp = {} } = await created('own');
    const token = await login(heat);
    const path = `/resources/heat/metadata`;
    const own = `${server.url}/orchestration/v1/${heat['project_id']}/stacks/${heat['stack_id']}`;
    const byHeat = await read(`${own}${path}`, { headers: { 'x-auth-token': token ?? '' } });
    expect(byHeat).toMatchObject({ status: 200, json: { metadata: { of: 'heat', 'os-collect-config': { heat } } } });
    expect(namesOf(byHeat.json['metadata'])).toEqual(['heat_config']);
    const byUrl = await read(temp['metadata_url'] ?? '');
    expect(byUrl).toMatchObject({ status: 200, json: { of: 'request' } });
    expect(namesOf(byUrl.json)).toEqual(['request_config']);
    const byCfn = await read(signed(cfn));
    expect(byCfn.status, byCfn.text).toBe(200);
    expect(byCfn.text).toMatch(/^<DescribeStackResourceResponse><DescribeStackResourceResult><StackResourceDetail>/);
    expect(byCfn.text).toContain('<ResourceType>OS::Heat::DeployedServer</ResourceType>');
    expect(byCfn.text).toContain('"name":"cfn_config"');
    // cfn-hup and cfn-get-metadata of heat-cfntools ask for JSON, and always at /v1/.
    const asJson = await read(signed({ ...cfn, metadata_url: `${server.url}/v1/` }, { ContentType: 'JSON' }));
    expect(asJson).toMatchObject({
      status: 200,
      json: {
        DescribeStackResourceResponse: {
          DescribeStackResourceResult: {
            StackResourceDetail: { StackName: 'own', Metadata: { deployments: [{ name: 'cfn_config' }] } },
          },
        },
      },
    });
    const refused = await read(signed(cfn, { LogicalResourceId: 'heat', ContentType: 'JSON' }));
    expect(refused).toMatchObject({ status: 403, json: { ErrorResponse: { Error: { Code: 'AccessDenied' } } } });
    // Another server, stack, method or object is refused.
    const others = await read(`${own}/resources/cfn/metadata`, { headers: { 'x-auth-token': token ?? '' } });
    expect(others.status).toBe(403);
    for (const elsewhere of [own, `${own}/resources`, `${own}/resources/heat`]) {
      expect((await read(elsewhere, { headers: { 'x-auth-token': token ?? '' } })).status).toBe(403);
    }
    expect((await read(signed(cfn, { LogicalResourceId: 'heat' }))).text).toContain('<Code>AccessDenied</Code>');
    expect((await read(signed(cfn, { Action: 'DeleteStack' }))).text).toContain('<Code>InvalidAction</Code>');
    expect(await read(signed({ ...cfn, secret_access_key: 'wrong' }))).toMatchObject({ status: 401 });
    expect(await read(signed({ ...cfn, access_key_id: heat['user_id'] ?? '' }))).toMatchObject({ status: 401 });
    expect(await read(signed(cfn, { Timestamp: '2020-01-01T00:00:00Z' }))).toMatchObject({ status: 401 });
    expect((await read(signed(cfn, { Timestamp: new Date().toISOString() }))).status).toBe(200);
    const url = new URL(temp['metadata_url'] ?? '');
    const put = { method: 'PUT', body: '{}' };
    expect((await read(url.href, put)).status).toBe(401);
    for (const [from, to] of [
      ['/metadata', '/other'],
      [/\/[^/]*\/metadata/, `/${heat['user_id']}/metadata`],
      ['AUTH_', 'AUTH_x'],
      [/expires=\d+/, 'expires=2147483646'],
      [/temp_url_sig=./, 'temp_url_sig=z'],
    ] as const) {
      expect((await read(url.href.replace(from, to))).status, to).toBe(401);
    }
    // HEAD takes no request.
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  });

  it('answer only the run that they are for, once, however often and late the signal arrives', async () => {
    const { cfn = {}, request: temp = {} } = await created('answers');
    const metadata = (await read(temp['metadata_url'] ?? '')).json;
    const url = inputOf(metadata, 'deploy_signal_id');
    expect(inputOf(metadata, 'deploy_signal_verb')).toBe('PUT');
    const put = (address: string, body: unknown) =>
      read(address, { method: 'PUT', body: typeof body === 'string' ? body : JSON.stringify(body) });
    expect((await put(url.replace(/[0-9a-f]{8}(?=-[0-9a-f-]*\?)/, '00000000'), {})).status).toBe(401);
    const long = 'é'.repeat(60_000);
    const answers = [
      { deploy_stdout: `${long}end`, deploy_stderr: '', deploy_status_code: 0 },
      { deploy_status_code: 1 },
    ];
    for (const answer of [answers[0], answers[0], answers[1]]) expect((await put(url, answer)).status).toBe(201);
    // It would have ended the run, had it been the first.
    expect((await put(url, '[]')).status).toBe(400);
    const described = (await read(signed(cfn))).text;
    const inputs = (/<Metadata>(.*)<\/Metadata>/s.exec(described)?.[1] ?? '').replaceAll('&amp;', '&');
    const signal = inputOf(JSON.parse(inputs) as JsonObject, 'deploy_signal_id');
    expect(signal).toContain('/cfn/v1/signal/');
    // An empty signal is a success without outputs.
    expect((await read(signal, { method: 'POST', body: '{}' })).status).toBe(200);
    const shown = async (name: string) => {
      const { stdout } = await server.anneal('deployment', 'list', '--stack', 'answers', '-o', 'json');
      return (JSON.parse(stdout) as { resource_name: string; status: string; stdout: string }[]).find(
        ({ resource_name }) => resource_name === name,
      );
    };
    const answered = await shown('request_config');
    expect(answered?.status).toBe('COMPLETE');
    expect(answered?.stdout.slice(-5)).toBe('ééend');
    expect(answered?.stdout.length).toBeLessThan(40_000);
    expect(await shown('cfn_config')).toMatchObject({ status: 'COMPLETE', stdout: '' });
  });

  it('are masked for a user, and end with the token and with the server', async () => {
    const { cfn = {}, heat = {}, request: temp = {} } = await created('ends');
    const shown = await server.anneal('resource', 'show', 'ends', 'cfn', '-o', 'json');
    expect(shown.stdout).toContain(cfn['access_key_id']);
    expect(shown.stdout).not.toContain(cfn['secret_access_key']);
    await server.anneal('host', 'token', cfn['access_key_id'] ?? '');
    expect((await read(signed(cfn))).status).toBe(401);
    const metadata = (await read(temp['metadata_url'] ?? '')).json;
    await server.client.stacks.delete({ stack: 'ends' });
    await eventually(async () => (await read(temp['metadata_url'] ?? '')).status === 401, { what: 'the revocation' });
    expect((await read(inputOf(metadata, 'deploy_signal_id'), { method: 'PUT', body: '{}' })).status).toBe(401);
    expect(await login(heat)).toBeNull();
  });
});
