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
const ironicVersion = { 'x-openstack-ironic-api-version': 'latest' };
const uuid = '3381af92-2b9e-11e3-b191-71861300734c';

/** Values by the parameter of the path, or those of some addresses by the pattern of their paths. */
type Parameters = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

interface Api {
  readonly name: string;
  readonly document: string;
  /** Creates things, so that reads have something to answer. Returns their names. */
  readonly prepare: (call: Call) => Promise<Parameters>;
  /** Addresses whose answers do not end, or that end the token. */
  readonly leaveOut?: string;
  /** Addresses whose generated requests would make the server call other hosts, or whose answers do not end. */
  readonly callsOthers?: string;
}

type Call = (method: string, path: string, body?: unknown) => Promise<{ status: number; json: Record<string, never> }>;

const template = {
  heat_template_version: '2021-04-16',
  parameters: { length: { type: 'number', default: 8 }, hidden: { type: 'string', default: 'x', hidden: true } },
  resources: { random: { type: 'OS::Heat::RandomString', properties: { length: { get_param: 'length' } } } },
  outputs: { value: { value: { get_attr: ['random', 'value'] } } },
};

const workflow = 'version: "2.0"\nsample:\n  tasks:\n    a:\n      action: std.noop\n';

const apis: readonly Api[] = [
  {
    name: 'Anneal',
    document: '/api/v1/openapi.json',
    async prepare(call) {
      const own = '/api/v1';
      const stacks = `/orchestration/v1/${projectId}/stacks`;
      const { json: host } = await call('POST', `${own}/hosts/sample/join`, {});
      const hostId = String(host['host']?.['id']);
      await call('POST', `${own}/configs`, { id: uuid, name: 'sample', config: 'exit 0' });
      const { json: deployed } = await call('POST', `${own}/deployments`, { config: uuid, hosts: [hostId] });
      const member = { type: 'OS::Heat::RandomString' };
      const resources = {
        ...template.resources,
        group: {
          type: 'OS::Heat::AutoScalingGroup',
          properties: { min_size: 1, max_size: 2, desired_capacity: { get_param: 'length' }, resource: member },
        },
        alarm: { type: 'Anneal::Alarm', properties: { metric: 'sample', threshold: 1 } },
      };
      const grouped = { ...template, parameters: { length: { type: 'number', default: 1 } }, resources };
      await call('POST', stacks, { stack_name: 'grouped', template: grouped });
      const has = async (status: string): Promise<boolean> =>
        (await call('GET', `${own}/stacks`)).json['stacks']?.[0]?.['stack_status'] === status;
      await eventually(() => has('CREATE_COMPLETE'), { what: 'the stack with a group' });
      const id = String((await call('GET', `${own}/stacks`)).json['stacks']?.[0]?.['id']);
      await call('PUT', `${stacks}/grouped/${id}`, { template: grouped, parameters: { length: 2 } });
      await eventually(() => has('UPDATE_COMPLETE'), { what: 'its update' });
      // The host never asks for work, so this one stays in progress.
      const context = { type: 'Anneal::Context', properties: { members: { all: [hostId] } } };
      await call('POST', stacks, {
        stack_name: 'peers',
        template: { ...template, resources: { context }, outputs: {} },
      });
      const contexts = async (): Promise<string | undefined> =>
        (await call('GET', `${own}/contexts`)).json['contexts']?.[0]?.['id'];
      const ofContext = await eventually(contexts, { what: 'the context' });
      const { json: alarms } = await call('GET', `${own}/alarms`);
      const { json: revisions } = await call('GET', `${own}/stacks/grouped/revisions`);
      await call('POST', '/messaging/v2/queues/own/messages', { messages: [{ body: { event: 'a' } }] });
      await call('POST', `${own}/metrics`, { measurements: [{ name: 'sample', value: 1 }] });
      const image = { name: 'sample', url: 'http://127.0.0.1:9/a', sha256: 'a'.repeat(64), size: 3 };
      await call('POST', `${own}/images`, image);
      const subscription = { url: 'queue:own', types: ['stack.#'] };
      const { json: subscribed } = await call('POST', `${own}/subscriptions`, subscription);
      await call('POST', `${own}/workflows`, { text: workflow });
      await call('POST', `${own}/cron_triggers`, { name: 'sample', workflow: 'sample', pattern: '0 0 1 1 *' });
      const { json: execution } = await call('POST', `${own}/executions`, { workflow: 'sample' });
      return {
        '/subscriptions': { id: String(subscribed['subscription']?.['id']) },
        '/executions': { id: String(execution['id']) },
        stack: 'grouped',
        group: 'group',
        revision: String(revisions['revisions']?.[0]?.['id']),
        node: 'machine-1',
        host: 'sample',
        context: ofContext,
        deployment: String(deployed['deployments']?.[0]?.['id']),
        queue: 'own',
        name: 'sample',
        alarm: String(alarms['alarms']?.[0]?.['id']),
        image: 'sample',
        project: projectId,
        workflow: 'sample',
      };
    },
    leaveOut:
      '^/(session|events|dead-letters/.id.|.*/(logs|watch|confirm)|images/.image./content|deployments/.*/output/.name.)$|^/events/',
    callsOthers: '^/(session|events)$|^/events/|/(logs|watch)$',
  },
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
      await eventually(() => has('CREATE_COMPLETE'), { what: 'the sample stack' });
      const { json: snapshot } = await call('POST', `${stack}/snapshots`, {});
      await eventually(() => has('SNAPSHOT_COMPLETE'), { what: 'the snapshot' });
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
    callsOthers: '/subscriptions',
  },
  {
    name: 'Keystone',
    document: '/identity/openapi.json',
    async prepare(call) {
      const v3 = '/identity/v3';
      const make = async (plural: string, kind: string, body: object): Promise<string> =>
        String((await call('POST', `${v3}/${plural}`, { [kind]: body })).json[kind]?.['id']);
      const admin = (await call('GET', `${v3}/users?name=admin`)).json['users']?.[0]?.['id'] as unknown as string;
      const user = await make('users', 'user', { name: 'sample', password: 'a password', description: 'd' });
      const group = await make('groups', 'group', { name: 'sample' });
      const role = await make('roles', 'role', { name: 'sample' });
      const implied = await make('roles', 'role', { name: 'implied' });
      const project = await make('projects', 'project', { name: 'sample', tags: ['sample'] });
      await call('PUT', `${v3}/groups/${group}/users/${user}`);
      await call('PUT', `${v3}/roles/${role}/implies/${implied}`);
      const holders = [`users/${user}`, `groups/${group}`];
      const places = [`projects/${project}`, 'domains/default'];
      for (const holder of holders) {
        await call('PUT', `${v3}/system/${holder}/roles/${role}`);
        for (const place of places) {
          await call('PUT', `${v3}/${place}/${holder}/roles/${role}`);
          await call('PUT', `${v3}/OS-INHERIT/${place}/${holder}/roles/${role}/inherited_to_projects`);
        }
      }
      const service = await make('services', 'service', { type: 'sample' });
      const url = 'http://127.0.0.1:9/';
      const endpoint = await make('endpoints', 'endpoint', { service_id: service, interface: 'public', url });
      const region = await make('regions', 'region', { id: 'sample' });
      const credential = await make('credentials', 'credential', { type: 'cert', blob: 'b' });
      const wanted = { trustor_user_id: admin, trustee_user_id: user, project_id: projectId, impersonation: false };
      const trust = await make('OS-TRUST/trusts', 'trust', { ...wanted, roles: [{ name: 'member' }] });
      const member = (await call('GET', `${v3}/roles?name=member`)).json['roles']?.[0]?.['id'] as unknown as string;
      const own = `users/${admin}`;
      const rules = [{ service: 'orchestration', method: 'GET', path: '/v1/**' }];
      const application = { name: 'sample', access_rules: rules };
      const made = await make(`${own}/application_credentials`, 'application_credential', application);
      const { json: listed } = await call('GET', `${v3}/${own}/access_rules`);
      const { json: key } = await call('POST', `${v3}/${own}/credentials/OS-EC2`, { tenant_id: projectId });
      return {
        user,
        holder: user,
        group,
        role,
        implied,
        trust,
        tag: 'sample',
        '/v3/(OS-INHERIT/)?projects/.*/groups': { id: project, holder: group },
        '/v3/(OS-INHERIT/)?domains/.*/groups': { id: 'default', holder: group },
        '/v3/system/groups': { holder: group },
        '/v3/(OS-INHERIT/)?projects': { id: project },
        '/v3/(OS-INHERIT/)?domains': { id: 'default' },
        '/v3/services': { id: service },
        '/v3/endpoints': { id: endpoint },
        '/v3/regions': { id: region },
        '/v3/credentials': { id: credential },
        '/v3/OS-TRUST/trusts/.*/roles/': { role: member },
        '/v3/users/.*/(application_credentials|access_rules|credentials)': { user: admin },
        credential: made,
        rule: listed['access_rules']?.[0]?.['id'] as unknown as string,
        access: String(key['credential']?.['access']),
      };
    },
    // A read of them needs a token in another header, a provider, or an object that Anneal does not offer.
    leaveOut: '^/(v3/auth/tokens|oidc/|v3/OS-(FEDERATION|OAUTH1)|v3/(registered_)?limits/)',
  },
  {
    name: 'Ironic',
    document: '/baremetal/openapi.json',
    async prepare(call) {
      const v1 = '/baremetal/v1';
      const make = async (path: string, body: object): Promise<string> =>
        String((await call('POST', `${v1}/${path}`, body)).json['uuid']);
      const machine = async (): Promise<string | undefined> =>
        (await call('GET', `${v1}/nodes`)).json['nodes']?.[0]?.['uuid'];
      const lab = await eventually(machine, { what: 'a node of the lab' });
      const chassis = await make('chassis', { description: 'sample' });
      const fields = { driver: 'fake-hardware', chassis_uuid: chassis, resource_class: 'sample', shard: 'a' };
      const node = await make('nodes', { name: 'sample', ...fields, traits: ['CUSTOM_A'] });
      const group = await make('portgroups', { node_uuid: node, name: 'bond', address: '52:54:00:aa:00:01' });
      const port = await make('ports', { node_uuid: node, address: '52:54:00:aa:00:02', portgroup_uuid: group });
      const volume = { node_uuid: node, boot_index: 0, volume_type: 'iscsi', volume_id: 'v' };
      const target = await make('volume/targets', volume);
      const connector = await make('volume/connectors', { node_uuid: node, type: 'iqn', connector_id: 'iqn.a' });
      const step = { interface: 'bios', step: 'apply_configuration', args: { settings: [] } };
      const runbook = await make('runbooks', { name: 'CUSTOM_R', steps: [{ ...step, order: 1 }] });
      const deployed = await make('deploy_templates', { name: 'CUSTOM_D', steps: [{ ...step, priority: 50 }] });
      const actions = [{ op: 'add-trait', args: { name: 'CUSTOM_A' } }];
      const rule = await make('inspection_rules', { actions });
      const allocation = await make('allocations', { name: 'sample', resource_class: 'sample' });
      return {
        '/v1/nodes/.*/(inventory|sensors|management)': { node: lab },
        '/v1/chassis': { asset: chassis, chassis },
        '/v1/ports': { asset: port },
        '/v1/portgroups': { asset: group },
        '/v1/volume/targets': { asset: target },
        '/v1/volume/connectors': { asset: connector },
        '/v1/runbooks': { runbook },
        '/v1/deploy_templates': { runbook: deployed },
        '/v1/inspection_rules': { rule },
        '/v1/drivers': { name: 'redfish' },
        '/v1/conductors': { name: 'anneal' },
        node,
        allocation,
      };
    },
    leaveOut:
      '/(history/.id.|allocation|bios/.name.|indicators.*|vmedia|vifs/.vif.|vendor_passthru.*|lookup|heartbeat.*)$',
    callsOthers: '^/v1/nodes$',
  },
  {
    name: 'Mistral',
    document: '/workflow/openapi.json',
    async prepare(call) {
      const v2 = '/workflow/v2';
      await call('POST', '/api/v1/workflows', { text: workflow.replace('sample', 'flow') });
      await call('POST', `${v2}/environments`, { name: 'flow', variables: { a: 1 } });
      await call('POST', `${v2}/cron_triggers`, { name: 'flow', workflow_name: 'flow', pattern: '0 0 1 1 *' });
      const { json: made } = await call('POST', `${v2}/executions`, { workflow_name: 'flow', description: 'd' });
      const execution = `${v2}/executions/${String(made['id'])}`;
      const isDone = async (): Promise<boolean> => String((await call('GET', execution)).json['state']) === 'SUCCESS';
      await eventually(isDone, { what: 'the end of the execution' });
      const [task] = (await call('GET', `${execution}/tasks`)).json['tasks'] as unknown as { id: string }[];
      const { json: actions } = await call('GET', `${v2}/tasks/${String(task?.id)}/action_executions`);
      return {
        workflow: 'flow',
        action: 'std.noop',
        name: 'flow',
        '/v2/executions': { id: String(made['id']) },
        '/v2/tasks': { id: String(task?.id) },
        '/v2/action_executions': { id: String(actions['action_executions']?.[0]?.['id']) },
      };
    },
    leaveOut:
      '^/v2/(workbooks|event_triggers|code_sources|dynamic_actions|services|tasks$|action_executions$|workflows/.id./members)',
  },
  {
    name: 'Glance',
    document: '/image/openapi.json',
    async prepare(call) {
      const { json: made } = await call('POST', '/image/v2/images', {
        name: 'picture',
        disk_format: 'raw',
        os_type: 'linux',
      });
      const image = String(made['id']);
      await call('PUT', `/image/v2/images/${image}/file`, 'content');
      return { image };
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
    headers: { 'x-auth-token': token, 'content-type': 'application/json', 'client-id': uuid, ...ironicVersion },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return { status: response.status, json: text === '' ? {} : JSON.parse(text) };
};

/** Takes back what generated requests have set, because a limit of 0 would refuse every later one. */
async function resetQuotas(): Promise<void> {
  const path = `/api/v1/projects/${projectId}/quota`;
  const quotas = (await call('GET', path)).json['quotas'] as unknown as { name: string }[];
  await call('POST', path, { limits: Object.fromEntries(quotas.map(({ name }) => [name, null])) });
}

/** Runs Schemathesis and returns its report; it ends with a status other than 0 after a failure. */
async function check(document: string, parameters: Parameters, words: readonly string[]) {
  const config = join(directory, 'schemathesis.toml');
  const linesOf = (values: Parameters): string[] =>
    Object.entries(values).flatMap(([name, value]) =>
      typeof value === 'string' ? [`"path.${name}" = ${JSON.stringify(value)}`] : [],
    );
  const lines = linesOf(parameters);
  // The first pattern that fits an address counts.
  const special = Object.entries(parameters).flatMap(([pattern, values]) =>
    typeof values === 'string'
      ? []
      : [
          '[[operations]]',
          `include-path-regex = ${JSON.stringify(`^${pattern}`)}`,
          `parameters = { ${linesOf(values).join(', ')} }`,
        ],
  );
  const hooks = join(directory, 'hooks.py');
  await writeFile(hooks, `import schemathesis\nschemathesis.serializer.alias("${queuePatch}", "application/json")\n`);
  const settings = [
    `hooks = ${JSON.stringify(hooks)}`,
    // A read of what exists that answers 404 would check nothing.
    ...(lines.length > 0 ? ['[warnings]', 'display = ["missing_test_data"]', 'fail-on = ["missing_test_data"]'] : []),
    '[parameters]',
    '"query.wait" = 0',
    '"query.resource" = "random"',
    '"header.X-OpenStack-Ironic-API-Version" = "latest"',
    ...lines,
    ...special,
  ];
  await writeFile(config, `${settings.join('\n')}\n`);
  const checks = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';
  const given =
    `--config-file ${config} run ${server?.url}${document} --checks ${checks} --seed 1 --no-color --no-shrink ` +
    '--max-redirects 0 --generation-database none --header';
  const command = [...given.split(' '), `X-Auth-Token: ${token}`, ...words];
  return new Promise<{ status: number | string; printed: string }>((resolve) => {
    const options = { cwd: directory, timeout: 280_000, maxBuffer: 256 * 2 ** 20 };
    execFile(join(python?.bin ?? '', 'schemathesis'), command, options, (error, stdout, stderr) =>
      resolve({ status: error?.code ?? (error ? 'killed' : 0), printed: stdout + stderr }),
    );
  });
}

const without = (pattern: string | undefined): string[] =>
  pattern === undefined ? [] : ['--exclude-path-regex', pattern];

describe.each(apis)('the description of $name', ({ document, prepare, leaveOut, callsOthers }) => {
  beforeEach(resetQuotas);

  it('holds for reads of what exists', async () => {
    const reads = ['--include-method', 'GET', '--phases', 'coverage', '--mode', 'positive', ...without(leaveOut)];
    const { status, printed } = await check(document, await prepare(call), reads);
    expect(status, printed.slice(-20_000)).toBe(0);
  });

  it.each([
    ['each kind of value', ['--phases', 'coverage']],
    ['random requests', ['--phases', 'fuzzing', '--max-examples', '3']],
  ])('holds for %s', async (_what, phases) => {
    const { status, printed } = await check(document, {}, [...phases, ...without(callsOthers)]);
    expect(status, printed.slice(-20_000)).toBe(0);
  });
});
