/**
 * Schemathesis against the described APIs: requests that fit the description and requests that do not. No answer is a 5xx, and each has
 * a status, a type and a body that the description names.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { installFromPypi, type PythonEnvironment } from '../../backends/pypi.ts';
import { startServer, type TestServer } from '../../e2e/server.ts';

const queuePatch = 'application/openstack-messaging-v2.0-json-patch';
const uuid = '3381af92-2b9e-11e3-b191-71861300734c';

interface Api {
  readonly name: string;
  readonly document: string;
  /** Creates things, so that reads have something to answer. Returns their names by the parameter of the path. */
  readonly prepare: (call: Call) => Promise<Record<string, string>>;
  /** Addresses whose answers do not end, or that end the token. */
  readonly leaveOut?: string;
}

type Call = (method: string, path: string, body?: unknown) => Promise<{ status: number; json: Record<string, never> }>;

const template = {
  heat_template_version: '2021-04-16',
  parameters: { length: { type: 'number', default: 8 }, hidden: { type: 'string', default: 'x', hidden: true } },
  resources: { random: { type: 'OS::Heat::RandomString', properties: { length: { get_param: 'length' } } } },
  outputs: { value: { value: { get_attr: ['random', 'value'] } } },
};

const apis: readonly Api[] = [
  {
    name: 'Heat',
    document: '/orchestration/openapi.json',
    async prepare(call) {
      const heat = `/orchestration/v1/${projectId}`;
      const files = { 'a.yaml': JSON.stringify(template) };
      const environment = { parameters: { length: 9 }, resource_registry: { 'My::Type': 'a.yaml' } };
      const resources = { ...template.resources, nested: { type: 'My::Type' } };
      const body = { stack_name: 'sample', template: { ...template, resources }, environment, files, tags: 'a,b' };
      const { json: made } = await call('POST', `${heat}/stacks`, body);
      const { id } = made['stack'] as unknown as { id: string };
      const stack = `${heat}/stacks/sample/${id}`;
      const has = async (status: string): Promise<boolean> =>
        (await call('GET', stack)).json['stack']?.['stack_status'] === status;
      await eventually(() => has('CREATE_COMPLETE'), { within: 60_000, what: 'the sample stack' });
      const { json: snapshot } = await call('POST', `${stack}/snapshots`, {});
      await eventually(() => has('SNAPSHOT_COMPLETE'), { within: 60_000, what: 'the snapshot' });
      const { json: events } = await call('GET', `${stack}/resources/random/events`);
      const { json: config } = await call('POST', `${heat}/software_configs`, { name: 'c', config: 'exit 0' });
      const config_id = String(config['software_config']?.['id']);
      const deployment = { config_id, server_id: 'elsewhere', status: 'COMPLETE' };
      const { json: deployed } = await call('POST', `${heat}/software_deployments`, deployment);
      return {
        project: projectId,
        name: 'sample',
        id,
        resource: 'random',
        event: String(events['events']?.[0]?.['id']),
        key: 'value',
        snapshot: String(snapshot['id']),
        type: 'OS::Heat::RandomString',
        version: 'heat_template_version.2021-04-16',
        config: config_id,
        deployment: String(deployed['software_deployment']?.['id']),
        server: 'elsewhere',
      };
    },
  },
  {
    name: 'Zaqar',
    document: '/messaging/openapi.json',
    async prepare(call) {
      const queue = '/messaging/v2/queues/sample';
      const messages = [{ body: { event: 'a' } }, { body: 'text', ttl: 300 }, { body: [1, null] }];
      const { json: posted } = await call('POST', `${queue}/messages`, { messages });
      const { json: claimed } = await call('POST', `${queue}/claims?limit=1`, { ttl: 300, grace: 60 });
      const subscriber = { subscriber: 'http://127.0.0.1:9/', ttl: 600 };
      const { json: subscription } = await call('POST', `${queue}/subscriptions`, subscriber);
      const [{ href } = { href: '' }] = claimed['messages'] as unknown as { href: string }[];
      return {
        queue: 'sample',
        message: (posted['resources'] as unknown as string[])[1]?.split('/').at(-1) ?? '',
        claim: /claim_id=(.*)/.exec(href)?.[1] ?? '',
        subscription: String(subscription['subscription_id']),
        name: 'default',
      };
    },
  },
];

let missing: string | undefined;
let directory = '';
let server: TestServer | undefined;
let python: PythonEnvironment | undefined;
let token = '';
let projectId = '';

beforeAll(async () => {
  const installed = await installFromPypi(['schemathesis==4.32.5']);
  if ('missing' in installed) {
    missing = installed.missing;
    return;
  }
  python = installed;
  directory = await mkdtemp(join(tmpdir(), 'anneal-schemathesis-'));
  server = await startServer({ lab: 2, env: { ANNEAL_PROVISIONING_TEST_DRIVER: 'true' } });
  const identity = {
    methods: ['password'],
    password: { user: { name: 'admin', domain: { id: 'default' }, password: server.password } },
  };
  const scope = { project: { name: 'admin', domain: { id: 'default' } } };
  const response = await fetch(`${server.url}/identity/v3/auth/tokens`, {
    method: 'POST',
    body: JSON.stringify({ auth: { identity, scope } }),
  });
  token = response.headers.get('x-subject-token') ?? '';
  const { token: issued } = (await response.json()) as { token: { project: { id: string } } };
  projectId = issued.project.id;
}, 360_000);
beforeEach(({ skip }) => skip(missing !== undefined, missing));
afterAll(async () => {
  await server?.dispose();
  if (directory !== '') await rm(directory, { recursive: true, force: true });
});

const call: Call = async (method, path, body) => {
  const response = await fetch(`${server?.url}${path}`, {
    method,
    headers: { 'x-auth-token': token, 'content-type': 'application/json', 'client-id': uuid },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return { status: response.status, json: text === '' ? {} : JSON.parse(text) };
};

/** Runs Schemathesis and returns its report; it ends with a status other than 0 after a failure. */
async function check(document: string, parameters: Readonly<Record<string, string>>, words: readonly string[]) {
  const config = join(directory, 'schemathesis.toml');
  const lines = Object.entries(parameters).map(([name, value]) => `"path.${name}" = ${JSON.stringify(value)}`);
  const hooks = join(directory, 'hooks.py');
  await writeFile(hooks, `import schemathesis\nschemathesis.serializer.alias("${queuePatch}", "application/json")\n`);
  const settings = [
    `hooks = ${JSON.stringify(hooks)}`,
    // A read of what exists that answers 404 would check nothing.
    ...(lines.length > 0 ? ['[warnings]', 'display = ["missing_test_data"]', 'fail-on = ["missing_test_data"]'] : []),
    '[parameters]',
    '"query.wait" = 0',
    ...lines,
  ];
  await writeFile(config, `${settings.join('\n')}\n`);
  const checks = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';
  const given =
    `--config-file ${config} run ${server?.url}${document} --checks ${checks} --seed 1 --no-color --no-shrink ` +
    '--max-redirects 0 --generation-database none --header';
  const all = [...given.split(' '), `X-Auth-Token: ${token}`, ...words];
  return new Promise<{ status: number | string; printed: string }>((resolve) => {
    const options = { cwd: directory, timeout: 280_000, maxBuffer: 256 * 2 ** 20 };
    execFile(join(python?.bin ?? '', 'schemathesis'), all, options, (error, stdout, stderr) =>
      resolve({ status: error?.code ?? (error ? 'killed' : 0), printed: stdout + stderr }),
    );
  });
}

describe.each(apis)('the description of $name', ({ document, prepare, leaveOut }) => {
  it('holds for reads of what exists, and for any other request', async () => {
    const left = leaveOut === undefined ? [] : ['--exclude-path-regex', leaveOut];
    const present = await prepare(call);
    const reads = ['--include-method', 'GET', '--phases', 'coverage', '--mode', 'positive', ...left];
    const read = await check(document, present, reads);
    expect(read, read.printed.slice(-20_000)).toMatchObject({ status: 0 });
    const any = await check(document, {}, ['--phases', 'coverage,fuzzing', '--max-examples', '10', ...left]);
    expect(any, any.printed.slice(-20_000)).toMatchObject({ status: 0 });
  });
});
