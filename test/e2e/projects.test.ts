/** Two projects on one server: neither sees, changes or learns of what the other has. */
import { execFile } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connect } from '@anneal/client/connect.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { logInOverHttp } from './log-in.ts';
import { ownEnvironment, repository, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  // A reading of the power notes its time, so a node would change between two looks without any request.
  server = await startServer({ lab: 1, env: { ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '3600' } });
});
afterAll(() => server?.dispose());

const password = 'a long enough password';
/** Appears in every object of the first project, and must appear in no answer to the second. */
const marker = `marker-${randomUUID().slice(0, 8)}`;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: Record<string, never>;
  readonly token: string;
}

async function send(token: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      'x-auth-token': token,
      'client-id': randomUUID(),
      'x-openstack-ironic-api-version': 'latest',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const stream = response.headers.get('content-type')?.includes('event-stream') ?? false;
  const text = stream ? await firstOf(response) : await response.text();
  return {
    status: response.status,
    text,
    json: text.startsWith('{') ? JSON.parse(text) : {},
    token: response.headers.get('x-subject-token') ?? '',
  };
}

/** The first part of a stream, which begins with a comment or the events that are kept. */
async function firstOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new TextDecoder().decode(value);
}

interface Tenant {
  readonly project: string;
  readonly user: string;
  readonly token: string;
}

async function tenant(admin: string, name: string): Promise<Tenant> {
  const id = ({ json, text }: Answer, kind: string): string => {
    expect(text).toContain('"id"');
    return (json as unknown as Record<string, { id: string }>)[kind]?.id ?? '';
  };
  const project = id(await send(admin, 'POST', '/identity/v3/projects', { project: { name } }), 'project');
  const user = id(await send(admin, 'POST', '/identity/v3/users', { user: { name, password } }), 'user');
  const roles = (await send(admin, 'GET', '/identity/v3/roles?name=member')).json as unknown as {
    roles: { id: string }[];
  };
  const path = `/identity/v3/projects/${project}/users/${user}/roles/${roles.roles[0]?.id}`;
  expect((await send(admin, 'PUT', path)).status).toBe(204);
  return {
    project,
    user,
    token: (await logInOverHttp({ url: server.url, username: name, project: name, password })).token,
  };
}

const template = {
  heat_template_version: '2018-08-31',
  description: marker,
  resources: {
    one: { type: 'OS::Heat::TestResource', properties: { value: marker } },
    two: { type: 'OS::Heat::RandomString' },
    // Its own evaluation would change it during the test.
    alarm: { type: 'Anneal::Alarm', properties: { metric: marker, threshold: 1, period: 86_400 } },
  },
  outputs: { value: { value: { get_attr: ['one', 'output'] } } },
};

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly format?: string;
}

/** A value with the required fields of a schema, so that a request gets past the check of its body. */
function sampleOf(schema: Schema, named: Readonly<Record<string, Schema>>): unknown {
  if (schema.$ref !== undefined) return sampleOf(named[schema.$ref.split('/').at(-1) ?? ''] ?? {}, named);
  if ('const' in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [first] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
  if (first) return sampleOf(first, named);
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] ?? {}, named)]),
      );
    case 'array':
      return [];
    case 'number':
    case 'integer':
      return schema.minimum ?? 1;
    case 'boolean':
      return true;
    default:
      return schema.format === 'uuid' ? randomUUID() : marker;
  }
}

/** The APIs with a description that lists all of their addresses. */
const described = ['/api/v1', '/orchestration', '/messaging', '/identity', '/baremetal', '/workflow'];

interface Described {
  readonly paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema?: Schema }> } }>>;
  readonly components: { schemas: Record<string, Schema> };
}

const adminProject = '00000000000000000000000000000001';

describe('two projects', () => {
  let owner: Tenant;
  let stranger: Tenant;
  let admin = '';
  let stack = '';
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    admin = (await logInOverHttp(server)).token;
    owner = await tenant(admin, `owner-${marker}`);
    stranger = await tenant(admin, 'stranger');
    const { token, project } = owner;
    const heat = `/orchestration/v1/${project}`;
    const created = await send(token, 'POST', `${heat}/stacks`, { stack_name: marker, template });
    expect([created.status, created.text]).toEqual([201, expect.any(String)]);
    stack = (created.json as unknown as { stack: { id: string } }).stack.id;
    await eventually(async () =>
      (await send(token, 'GET', `${heat}/stacks/${marker}/${stack}`)).text.includes('CREATE_COMPLETE'),
    );
    const keep = async (name: string, answer: Promise<Answer>, pick: (json: never) => string): Promise<void> => {
      const { status, json, text } = await answer;
      expect([name, status < 300, text]).toEqual([name, true, expect.any(String)]);
      ids[name] = pick(json as never);
    };
    await keep(
      'config',
      send(token, 'POST', `${heat}/software_configs`, { name: marker, group: 'script', config: marker }),
      (json: { software_config: { id: string } }) => json.software_config.id,
    );
    await keep('queue', send(token, 'PUT', `/messaging/v2/queues/${marker}`, {}), () => marker);
    await keep(
      'message',
      send(token, 'POST', `/messaging/v2/queues/${marker}/messages`, { messages: [{ body: marker, ttl: 300 }] }),
      () => marker,
    );
    await keep(
      'workflow',
      send(token, 'POST', '/api/v1/workflows', {
        text: `version: '2.0'\n${marker}:\n  tasks:\n    t:\n      action: std.noop\n`,
      }),
      () => marker,
    );
    await keep(
      'metric',
      send(token, 'POST', '/api/v1/metrics', { measurements: [{ name: marker, value: 1, labels: {} }] }),
      () => marker,
    );
    await keep(
      'subscription',
      send(token, 'POST', '/api/v1/subscriptions', { name: marker, types: ['stack.#'], url: `queue:${marker}` }),
      (json: { subscription: { id: string } }) => json.subscription.id,
    );
    await keep(
      'execution',
      send(token, 'POST', '/api/v1/executions', { workflow: marker, description: marker }),
      (json: { id: string }) => json.id,
    );
    await keep(
      'credential',
      send(token, 'POST', '/api/v1/credentials', { name: marker, can: ['events.read'], stack: marker }),
      (json: { credential: { id: string } }) => json.credential.id,
    );
    await keep(
      'trigger',
      send(token, 'POST', '/api/v1/cron_triggers', { name: marker, workflow: marker, pattern: '0 0 1 1 *' }),
      () => marker,
    );
    await keep('host', send(token, 'POST', `/api/v1/hosts/host-${marker}/join`), () => `host-${marker}`);
    await keep(
      'deployment',
      send(token, 'POST', `${heat}/software_deployments`, { config_id: ids['config'], server_id: marker }),
      (json: { software_deployment: { id: string } }) => json.software_deployment.id,
    );
    await keep(
      'queue subscription',
      send(token, 'POST', `/messaging/v2/queues/${marker}/subscriptions`, {
        subscriber: `http://127.0.0.1:9/${marker}`,
        ttl: 3000,
      }),
      (json: { subscription_id: string }) => json.subscription_id,
    );
    await keep(
      'application credential',
      send(token, 'POST', `/identity/v3/users/${owner.user}/application_credentials`, {
        application_credential: { name: marker },
      }),
      (json: { application_credential: { id: string } }) => json.application_credential.id,
    );
    await keep(
      'trust',
      send(token, 'POST', '/identity/v3/OS-TRUST/trusts', {
        trust: {
          trustor_user_id: owner.user,
          trustee_user_id: owner.user,
          project_id: project,
          impersonation: true,
          roles: [{ name: 'member' }],
        },
      }),
      (json: { trust: { id: string } }) => json.trust.id,
    );
    await keep(
      'node',
      send(admin, 'PATCH', '/baremetal/v1/nodes/machine-1', [
        { op: 'add', path: '/owner', value: project },
        { op: 'add', path: '/description', value: marker },
      ]),
      (json: { uuid: string }) => json.uuid,
    );
    await keep(
      'alarm',
      send(token, 'GET', '/api/v1/alarms'),
      ({ alarms }: { alarms: { id: string }[] }) => alarms[0]?.id ?? '',
    );
  });

  it('have lists of their own', async () => {
    const heat = `/orchestration/v1/${stranger.project}`;
    for (const path of [
      `${heat}/stacks`,
      `${heat}/stacks?global_tenant=True`,
      `${heat}/software_configs`,
      '/messaging/v2/queues',
      ...['workflows', 'executions', 'cron_triggers', 'actions'].map((list) => `/workflow/v2/${list}`),
    ]) {
      const { status, text } = await send(stranger.token, 'GET', path);
      expect([path, status === 200 || status === 403, text.includes(marker)]).toEqual([path, true, false]);
    }
    expect((await send(owner.token, 'GET', `/orchestration/v1/${owner.project}/stacks`)).text).toContain(marker);
  });

  it('are listed together for an operator, each stack with its project and an address that finds it', async () => {
    const path = `/orchestration/v1/${adminProject}/stacks?global_tenant=True`;
    const { status, json } = await send(admin, 'GET', path);
    expect(status).toBe(200);
    const row = (
      json as unknown as { stacks: { stack_name: string; project: string; links: { href: string }[] }[] }
    ).stacks.find(({ stack_name: name }) => name === marker);
    expect(row?.project).toBe(owner.project);
    const { pathname } = new URL(row?.links[0]?.href ?? '');
    expect((await send(owner.token, 'GET', pathname)).status).toBe(200);
    expect((await send(stranger.token, 'GET', path.replace(adminProject, stranger.project))).status).toBe(403);
  });

  it('do not reach each other by project, name or id in the address', async () => {
    const tries = [owner.project, stranger.project].flatMap((project) =>
      [
        `stacks/${stack}`,
        `stacks/${marker}`,
        ...[
          '',
          '/resources',
          '/resources/one',
          '/events',
          '/template',
          '/environment',
          '/files',
          '/outputs',
          '/outputs/value',
          '/snapshots',
        ].map((part) => `stacks/${marker}/${stack}${part}`),
        `software_configs/${ids['config']}`,
        'resource_types',
      ].map((path) => `/orchestration/v1/${project}/${path}`),
    );
    for (const path of tries) {
      const { status, text } = await send(stranger.token, 'GET', path);
      const allowed = path.endsWith('resource_types') && path.includes(stranger.project) ? [200] : [403, 404];
      expect([path, allowed.includes(status), text.includes('TestResource","value')]).toEqual([path, true, false]);
    }
    const changes = [
      ['DELETE', `stacks/${marker}/${stack}`],
      ['PATCH', `stacks/${marker}/${stack}`],
      ['POST', `stacks/${marker}/${stack}/actions`],
      ['POST', `stacks/${marker}/${stack}/resources/one/signal`],
      ['DELETE', `software_configs/${ids['config']}`],
    ] as const;
    for (const [method, path] of changes) {
      for (const project of [owner.project, stranger.project]) {
        const { status } = await send(stranger.token, method, `/orchestration/v1/${project}/${path}`, { check: null });
        expect([method, path, [403, 404].includes(status)]).toEqual([method, path, true]);
      }
    }
    const after = await send(owner.token, 'GET', `/orchestration/v1/${owner.project}/stacks/${marker}/${stack}`);
    expect(after.text).toContain('CREATE_COMPLETE');
  });

  /** The operations of an API, each with the addresses of what the owner has. */
  async function operationsOf(api: string) {
    const document = (await send(admin, 'GET', `${api}/openapi.json`)).json as unknown as Described;
    const kinds: Record<string, readonly string[]> = {
      project: [owner.project, stranger.project],
      user: [owner.user],
      holder: [owner.user],
      role: ['member'],
      stack: [marker, stack],
      resource: ['one', 'alarm'],
      queue: [marker],
      workflow: [marker],
      name: [marker],
      key: ['value'],
      node: ['machine-1'],
    };
    const all = [marker, stack, owner.user, owner.project, ...new Set(Object.values(ids))];
    const filled = (path: string): string[] => {
      const [, name] = /\{(\w+)\}/.exec(path) ?? [];
      if (name === undefined) return [`${api}${path}`];
      return (kinds[name] ?? all).flatMap((value) => filled(path.replace(`{${name}}`, value)));
    };
    return Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { requestBody }]) => {
        const schema = requestBody?.content['application/json']?.schema;
        const body = schema && sampleOf(schema, document.components.schemas);
        return { method: method.toUpperCase(), path, addresses: filled(path), body };
      }),
    );
  }

  it.each(described)(
    'see nothing of each other in any answer of %s',
    async (api) => {
      const reads = (await operationsOf(api)).filter(({ method }) => method === 'GET');
      const addresses = reads.flatMap((read) => read.addresses);
      expect(addresses.length).toBeGreaterThan(30);
      const showing = async ({ token }: Tenant): Promise<string[]> => {
        const found: string[] = [];
        for (const address of addresses) {
          const { status, text } = await send(token, 'GET', address);
          // An error and the links of a list repeat what the request named.
          const shown = text.replaceAll(address.slice(api.length), '');
          if (status < 400 && shown.includes(marker)) found.push(`${address}: ${shown.slice(0, 200)}`);
        }
        return found;
      };
      expect(await showing(stranger)).toEqual([]);
      // The same sweep finds the objects when their owner reads.
      expect((await showing(owner)).length).toBeGreaterThan(1);
    },
    200_000,
  );

  it('change nothing of each other', async () => {
    const tries = [
      ['DELETE', `/messaging/v2/queues/${marker}/messages?pop=1`],
      ['DELETE', `/api/v1/workflows/${marker}`],
      ['DELETE', `/api/v1/subscriptions/${ids['subscription']}`],
      ['DELETE', `/api/v1/queues/${marker}/messages`],
    ] as const;
    for (const [method, path] of tries) await send(stranger.token, method, path);
    const messages = await send(owner.token, 'GET', `/messaging/v2/queues/${marker}/messages?echo=true`);
    expect(messages.text).toContain(marker);
    expect((await send(owner.token, 'GET', `/api/v1/workflows/${marker}`)).status).toBe(200);
    expect((await send(owner.token, 'GET', `/api/v1/subscriptions/${ids['subscription']}`)).status).toBe(200);
  });

  it('change nothing by any request that names what the other has', async () => {
    const ofOwner = [
      `/orchestration/v1/${owner.project}/stacks/${marker}/${stack}`,
      `/orchestration/v1/${owner.project}/software_configs/${ids['config']}`,
      `/orchestration/v1/${owner.project}/software_deployments/${ids['deployment']}`,
      `/api/v1/workflows/${marker}`,
      `/api/v1/subscriptions/${ids['subscription']}`,
      `/api/v1/executions/${ids['execution']}`,
      `/api/v1/cron_triggers/${marker}`,
      `/api/v1/credentials`,
      `/api/v1/alarms`,
      `/api/v1/hosts/host-${marker}`,
      `/workflow/v2/executions/${ids['execution']}`,
      `/messaging/v2/queues/${marker}`,
      `/messaging/v2/queues/${marker}/subscriptions/${ids['queue subscription']}`,
      `/baremetal/v1/nodes/machine-1`,
      `/identity/v3/users/${owner.user}`,
      `/identity/v3/users/${owner.user}/application_credentials`,
      `/identity/v3/OS-TRUST/trusts/${ids['trust']}`,
    ];
    const state = () => Promise.all(ofOwner.map(async (path) => [path, await send(owner.token, 'GET', path)] as const));
    const before = await state();
    expect(before.map(([path, { status }]) => [path, status])).toEqual(ofOwner.map((path) => [path, 200]));

    const foreign = [
      ['DELETE', `/workflow/v2/executions/${ids['execution']}`],
      ['PUT', `/workflow/v2/executions/${ids['execution']}`, { state: 'PAUSED' }],
      ['DELETE', `/workflow/v2/workflows/${marker}`],
      ['DELETE', `/workflow/v2/cron_triggers/${marker}`],
      ['DELETE', `/messaging/v2/queues/${marker}`],
      ['DELETE', `/identity/v3/projects/${owner.project}`],
      ['PATCH', `/identity/v3/projects/${owner.project}`, { project: { enabled: false } }],
    ] as const;
    const operations = (await Promise.all(described.map(operationsOf))).flat();
    const named = operations
      .filter(({ method, path }) => !/^(?:GET|HEAD)$/.test(method) && path.includes('{') && !path.startsWith('/hooks'))
      .flatMap(({ method, addresses, body }) => addresses.map((address) => [method, address, body] as const));
    expect(named.length).toBeGreaterThan(1000);
    const broken: string[] = [];
    for (const [method, path, body] of [...named, ...foreign]) {
      const { status, text } = await send(stranger.token, method, path, body);
      if (status >= 500) broken.push(`${method} ${path}: ${status} ${text.slice(0, 200)}`);
    }
    expect(broken).toEqual([]);
    const stable = (text: string): string => text.replaceAll(/"(age|age_ms|seconds|deliveries|version)": ?[^,}]+/g, '');
    const after = await state();
    expect(after.map(([path, { text }]) => [path, stable(text)])).toEqual(
      before.map(([path, { text }]) => [path, stable(text)]),
    );
  });

  it('read and post with their EC2 keys at the CloudFormation endpoint, each in its own project', async () => {
    const keyOf = async ({ user, project, token }: Tenant) => {
      const path = `/identity/v3/users/${user}/credentials/OS-EC2`;
      const { json } = await send(token, 'POST', path, { tenant_id: project });
      return (json as unknown as { credential: { access: string; secret: string } }).credential;
    };
    const ask = async (key: { access: string; secret: string }, params: Record<string, string>): Promise<Answer> => {
      const all = { AWSAccessKeyId: key.access, SignatureMethod: 'HmacSHA256', SignatureVersion: '2', ...params };
      const query = Object.entries(all)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map((pair) => pair.map(encodeURIComponent).join('='))
        .join('&');
      const text = `GET\n${new URL(server.url).host}\n/cfn/v1/\n${query}`;
      const signature = createHmac('sha256', key.secret).update(text).digest('base64');
      return send('', 'GET', `/cfn/v1/?${query}&Signature=${encodeURIComponent(signature)}`);
    };
    const Timestamp = new Date().toISOString().slice(0, 19).concat('Z');
    const timeless = { Action: 'DescribeStackResource', StackName: marker, LogicalResourceId: 'one' };
    const shows = { ...timeless, Timestamp };
    const [own, other] = [await keyOf(owner), await keyOf(stranger)];
    const shown = await ask(own, shows);
    expect([shown.status, shown.text]).toEqual([200, expect.stringContaining('OS::Heat::TestResource')]);
    for (const StackName of [marker, `${marker}/${stack}`, stack]) {
      const { status, text } = await ask(other, { ...shows, StackName });
      expect([status, text.includes('TestResource')]).toEqual([404, false]);
    }
    const refused = [
      await ask({ ...own, secret: other.secret }, shows),
      await ask(own, { ...shows, Timestamp: '2020-01-01T00:00:00Z' }),
      await ask(own, timeless),
    ];
    expect(refused.map(({ status }) => status)).toEqual([401, 401, 401]);
    const metric = { 'MetricData.member.1.MetricName': 'signed', 'MetricData.member.1.Value': '1' };
    const posted = await ask(own, { Action: 'PutMetricData', Namespace: 'test', Timestamp, ...metric });
    expect([posted.status, posted.text]).toEqual([200, expect.any(String)]);
    const seen = async ({ token }: Tenant) => (await send(token, 'GET', '/api/v1/metrics')).text.includes('signed');
    expect([await seen(owner), await seen(stranger)]).toEqual([true, false]);
    const keys = `/identity/v3/users/${owner.user}/credentials/OS-EC2`;
    expect((await send(owner.token, 'DELETE', `${keys}/${own.access}`)).status).toBe(204);
    expect((await ask(own, shows)).status).toBe(401);
  });

  it('cannot see nodes, dead letters and queues of services, which operators see', async () => {
    const nodes = await send(stranger.token, 'GET', '/baremetal/v1/nodes');
    expect([nodes.status, nodes.json]).toEqual([200, { nodes: [] }]);
    const forOperators = ['dead-letters', 'services', 'users', 'projects'].map((each) => `/api/v1/${each}`);
    for (const path of ['/baremetal/v1/ports', ...forOperators]) {
      expect([path, (await send(stranger.token, 'GET', path)).status]).toEqual([path, 403]);
      expect([path, (await send(admin, 'GET', path)).status]).toEqual([path, 200]);
    }
    const engines = (project: string) => `/orchestration/v1/${project}/services`;
    expect((await send(stranger.token, 'GET', engines(stranger.project))).status).toBe(403);
    expect((await send(admin, 'GET', engines(adminProject))).status).toBe(200);
    const overview = (await send(stranger.token, 'GET', '/api/v1/overview')).json;
    expect(overview).toMatchObject({ nodes: {}, stacks: {} });
  });

  it('have events that only operators read from outside, by every door', async () => {
    for (const named of [owner.project, `owner-${marker}`]) {
      const list = `/api/v1/events?types=stack.%23&after=beginning&project=${named}`;
      const { status, text } = await send(admin, 'GET', list);
      expect([status, text.includes(marker)]).toEqual([200, true]);
      expect((await send(owner.token, 'GET', list)).status).toBe(200);
      const ticket = await send(admin, 'POST', '/api/v1/events/ticket', { project: named });
      expect(ticket.status).toBe(201);
      const { path } = ticket.json as unknown as { path: string };
      expect((await send('', 'GET', `${path}&after=beginning`)).status).toBe(200);
      const doors = [
        await send(stranger.token, 'GET', list),
        await send(stranger.token, 'GET', `/api/v1/events/ws?project=${named}`),
        await send(stranger.token, 'POST', '/api/v1/events/ticket', { project: named }),
        await send(stranger.token, 'POST', '/api/v1/subscriptions', { url: 'queue:q', project: named }),
      ];
      expect(doors.map((door) => door.status)).toEqual([403, 403, 403, 403]);
    }
    // A project that does not exist looks the same to others.
    expect((await send(stranger.token, 'GET', '/api/v1/events?project=nowhere')).status).toBe(403);
    expect((await send(admin, 'GET', '/api/v1/events?project=nowhere')).status).toBe(404);
    expect((await send(admin, 'GET', '/api/v1/events?types=stack.%23&after=beginning')).text).not.toContain(marker);
  });

  it('are read with the system as the scope of a token, which has no project of its own', async () => {
    const user = { name: 'admin', domain: { id: 'default' }, password: server.password };
    const identity = { methods: ['password'], password: { user } };
    const auth = { identity, scope: { system: { all: true } } };
    const { token } = await send('', 'POST', '/identity/v3/auth/tokens', { auth });
    const read = await send(token, 'GET', `/api/v1/events?after=beginning&project=${owner.project}`);
    expect([read.status, read.text.includes(marker)]).toEqual([200, true]);
    expect((await send(token, 'GET', '/api/v1/events')).status).toBe(403);
    const url = 'queue:q';
    const made = await send(token, 'POST', '/api/v1/subscriptions', { url, project: owner.project });
    expect(made.status).toBe(403);
  });

  it('send their events to a subscription of an operator, which they do not see', async () => {
    const words = ['--project', `owner-${marker}`, '--type', 'stack.#'];
    const listed = await server.anneal('event', 'list', ...words);
    expect([listed.status, listed.stdout.includes(marker)]).toEqual([0, true]);
    const all = ['subscription', 'create', 'queue:watched', '--after', 'beginning', '-o', 'json'];
    const made = await server.anneal(...all, ...words);
    expect([made.status, made.stderr]).toEqual([0, '']);
    const { subscription } = JSON.parse(made.stdout) as { subscription: { id: string } };
    expect(subscription).toMatchObject({ events_project: owner.project });
    const shown = await server.anneal('subscription', 'show', subscription.id);
    expect(shown.stdout).toMatch(new RegExp(`events of +project ${owner.project}`));
    await eventually(
      async () => {
        const { text } = await send(admin, 'GET', '/messaging/v2/queues/watched/messages?echo=true');
        return text.includes('stack.create.completed') && text.includes(marker);
      },
      { what: 'the events of the other project in the queue of the operator' },
    );
    const own = await send(owner.token, 'GET', '/api/v1/subscriptions');
    expect([own.status, own.text.includes(subscription.id)]).toEqual([200, false]);
    expect((await send(owner.token, 'GET', `/api/v1/subscriptions/${subscription.id}`)).status).toBe(404);
    expect((await send(owner.token, 'GET', '/messaging/v2/queues/watched/messages')).text).not.toContain(marker);
    await server.anneal('subscription', 'delete', subscription.id, '--yes');
  });

  it('have quotas of their own, which operators set and each reads for itself', async () => {
    const quota = `/api/v1/projects/${owner.project}/quota`;
    const set = async (...words: string[]): Promise<string> => {
      const { status, stdout, stderr } = await server.anneal('project', 'quota', owner.project, ...words);
      expect([status, stderr]).toEqual([0, '']);
      return stdout;
    };
    expect(await set('stacks=1', 'hosts=0', 'queues=1')).toMatch(/stacks +1 +1 +10000/);
    const shown = await send(owner.token, 'GET', quota);
    expect([shown.status, shown.json]).toMatchObject([
      200,
      { quotas: [{ name: 'stacks', limit: 1, used: 1 }, ...Array.from({ length: 8 }, () => ({}))] },
    ]);
    for (const [method, body] of [
      ['GET', undefined],
      ['POST', { limits: { stacks: 9 } }],
    ] as const) {
      const refused = await send(stranger.token, method, quota, body);
      expect([refused.status, refused.text.includes(marker)]).toEqual([403, false]);
    }
    expect((await send(owner.token, 'POST', quota, { limits: { stacks: 9 } })).status).toBe(403);
    const wrong = await send(admin, 'POST', quota, { limits: { stack: 9, hosts: -1 } });
    expect([wrong.status, wrong.text]).toEqual([400, expect.stringMatching(/limits.stack\b.*limits.hosts/)]);

    const heat = (project: string) => `/orchestration/v1/${project}/stacks`;
    const more = { stack_name: 'more', template };
    const refused = await send(owner.token, 'POST', heat(owner.project), more);
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('maximum stacks per tenant, 1')]);
    const host = await send(owner.token, 'POST', '/api/v1/hosts/extra/join');
    expect([host.status, host.text]).toEqual([
      403,
      expect.stringContaining('the limit is 0 (its quota, see `anneal project quota`)'),
    ]);
    const queue = await send(owner.token, 'PUT', '/messaging/v2/queues/extra', {});
    expect([queue.status, queue.text]).toEqual([403, expect.stringContaining('the limit is 1')]);
    expect((await send(stranger.token, 'PUT', '/messaging/v2/queues/extra', {})).status).toBe(201);

    await set('subscriptions=1', 'credentials=1', 'series=1');
    for (const [path, body] of [
      ['/api/v1/subscriptions', { types: ['stack.#'], url: 'queue:q' }],
      ['/api/v1/credentials', { name: 'another', can: ['events.read'], stack: marker }],
      ['/api/v1/metrics', { measurements: [{ name: 'another', value: 1, labels: {} }] }],
    ] as const) {
      const { status, text } = await send(owner.token, 'POST', path, body);
      expect([path, status, text]).toEqual([path, 403, expect.stringContaining('its quota')]);
    }
    await set('subscriptions=default', 'credentials=default', 'series=default');

    await set('stacks=default', 'hosts=default', 'queues=default');
    expect((await send(owner.token, 'PUT', '/messaging/v2/queues/extra', {})).status).toBe(201);
    const mistyped = await server.anneal('project', 'quota', owner.project, 'stack=1', 'hosts=many');
    expect([mistyped.status, mistyped.stderr]).toEqual([2, expect.stringMatching(/stack=1[^]*hosts=many/)]);
  });

  it('cannot be deleted while they have stacks', async () => {
    const path = `/identity/v3/projects/${owner.project}`;
    const refused = await send(admin, 'DELETE', path);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('it has stacks')]);
    const own = `/orchestration/v1/${owner.project}/stacks/${marker}`;
    expect((await send(owner.token, 'DELETE', `${own}/${stack}`)).status).toBe(204);
    await eventually(async () => (await send(owner.token, 'GET', own)).status === 404);
    expect((await send(admin, 'DELETE', path)).status).toBe(204);
    expect((await send(owner.token, 'GET', '/api/v1/queues')).status).toBe(401);
  });

  it('are made by the command line, with users and tokens for programs', async () => {
    const json = async (...words: string[]): Promise<Record<string, string>> => {
      const { status, stdout, stderr } = await server.anneal(...words, '-o', 'json');
      expect([words[0], status, stderr]).toEqual([words[0], 0, '']);
      return JSON.parse(stdout) as Record<string, string>;
    };
    await json('project', 'create', 'shop');
    const { password: given = '' } = await json('user', 'create', 'ann', '--project', 'shop', '--role', 'reader');
    const authUrl = `${server.url}/identity/v3`;
    const ann = await connect({ authUrl, username: 'ann', password: given, project: 'shop' });
    expect(await ann.stacks.list()).toEqual([]);
    // Her project owns and leases no node, and queues of services are for operators.
    expect(await ann.nodes.list()).toEqual([]);
    await expect(ann.deadLetters.list()).rejects.toMatchObject({ code: 'Forbidden' });
    const token = await ann.identity.tokens.create({ name: 'ci' });
    const program = await connect({ authUrl, applicationCredential: { id: token.id, secret: token.secret } });
    expect(program.connection.projectId).toBe(ann.connection.projectId);
    expect(await program.stacks.list()).toEqual([]);
    expect((await server.anneal('user', 'disable', 'ann')).status).toBe(0);
    await expect(program.stacks.list()).rejects.toMatchObject({ code: 'Unauthorized' });
    const shown = await server.anneal('project', 'show', 'shop');
    expect(shown.stdout).toMatch(/user ann\s+reader/);
    const unknown = await server.anneal('user', 'grant', 'ann', 'captain', '--project', 'shop');
    expect([unknown.status, unknown.stderr]).toEqual([
      1,
      expect.stringContaining('There is no role with the name or id captain'),
    ]);
    expect((await server.anneal('project', 'delete', 'shop')).status).toBe(0);
  });
});

describe('a login from the command line', () => {
  it('stores an application credential and no password, by which later commands work in the project', async () => {
    const home = await mkdtemp(join(tmpdir(), 'anneal-home-'));
    const anneal = (...words: string[]) =>
      promisify(execFile)(process.execPath, [join(repository, 'services/cli/main.ts'), ...words], {
        cwd: home,
        env: { ...ownEnvironment(), HOME: home, XDG_CONFIG_HOME: '', NO_COLOR: '1' },
      });
    await writeFile(join(home, 'password'), `${server.password}\n`);
    const words = ['--name', 'here', '--password-file', 'password'];
    await anneal('login', server.url, ...words);
    const file = join(home, '.config', 'anneal', 'servers.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).not.toContain(server.password);
    expect((await anneal('server', 'list', '-o', 'name')).stdout).toBe('here\n');
    expect((await anneal('node', 'list', '-o', 'name')).stdout).toBe('machine-1\n');
    const known = server.client.identity.tokens.list().then((tokens) => tokens.filter(({ name }) => /@/.test(name)));
    expect(await known).toHaveLength(1);
    await anneal('server', 'remove', 'here', '--password-file', 'password');
    expect((await server.client.identity.tokens.list()).filter(({ name }) => /@/.test(name))).toEqual([]);
    await expect(anneal('node', 'list')).rejects.toThrow('No server to connect to');
    await rm(home, { recursive: true });
  });
});
