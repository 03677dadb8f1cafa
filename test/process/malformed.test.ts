/** A few thousand malformed requests, the same in every run. The gateway answers each with a client error, never with 500. */
import { request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { logInOverHttp } from '../e2e/log-in.ts';
import { startServer, type TestServer } from '../e2e/server.ts';

const count = 2500;
const seed = Number(process.env['ANNEAL_TEST_SEED'] ?? 7);

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 0 });
});
afterAll(() => server?.dispose());

function randomOf(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const random = randomOf(seed);
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
const often = (share: number): boolean => random() < share;

const long = 'q'.repeat(256);
const pieces = [
  'x',
  long,
  'q'.repeat(3000),
  '%00',
  '%ED%A0%80',
  '%ff',
  '%',
  '%2e%2e',
  '..',
  '%2F',
  '%0a',
  '%E2%80%AE',
  '-1',
  '1e99',
  'NaN',
  '00000000-0000-4000-8000-000000000000',
  '%22',
  '*',
  'anneal.x',
  `host.${long}.requests`,
  '__proto__',
  'constructor',
  '%F0%9F%92%A9',
  '%20',
];
const values: unknown[] = [
  null,
  '',
  'x',
  long,
  'x'.repeat(70_000),
  '\ud800',
  '\u0000',
  'a\nb',
  '\u202e',
  '__proto__',
  0,
  -1,
  1e308,
  1.5,
  2 ** 53,
  true,
  false,
  [],
  [[]],
  [null],
  {},
  { a: null },
  { __proto__: 1 },
  { $sealed: 'x' },
  ['x', 1, {}],
  { get_param: 'x' },
  '2018-08-31',
  'heat_template_version: x',
];
const project = '00000000000000000000000000000001';
const heat = `/orchestration/v1/${project}`;
const stack = `${heat}/stacks/known/ID`;
const template = {
  heat_template_version: '2018-08-31',
  resources: { r: { type: 'OS::Heat::Value', properties: { value: 1 } } },
};
const stackBody = {
  stack_name: 'x',
  template,
  environment: { parameters: { a: 1 } },
  files: { a: 'b' },
  parameters: { p: 1 },
  timeout_mins: 1,
  tags: 'a',
  disable_rollback: true,
  environment_files: ['a'],
  adopt_stack_data: { action: 'CREATE', resources: {} },
  converge: false,
};
const message = [{ body: { a: 1 }, ttl: 60 }];
const patch = [{ op: 'add', path: '/x', value: 1 }];
type Known = readonly [methods: string, path: string, body?: unknown];
const zaqar = (version: string): Known[] =>
  (
    [
      ['GET PUT DELETE PATCH', '/queues/Q', { a: 1 }],
      ['GET PUT', '/queues/Q/metadata', { a: 1 }],
      ['GET', '/queues/Q/stats'],
      ['GET', '/queues'],
      ['GET POST DELETE', '/queues/Q/messages', { messages: message }],
      ['POST', '/queues/Q/messages', message],
      ['GET DELETE', '/queues/Q/messages/X'],
      ['POST', '/queues/Q/claims', { ttl: 60, grace: 60 }],
      ['GET PATCH DELETE', '/queues/Q/claims/X', { ttl: 60 }],
      ['POST', '/queues/Q/purge', { resource_types: ['messages'] }],
    ] satisfies Known[]
  ).map(([methods, path, body]): Known => [methods, `/messaging/${version}${path}`, body]);
const routes: Known[] = [
  ...['v1', 'v1.1', 'v2'].flatMap(zaqar),
  [
    'GET POST DELETE',
    '/identity/v3/auth/tokens',
    {
      auth: {
        identity: {
          methods: ['password'],
          password: { user: { name: 'a', domain: { id: 'default' }, password: 'b' } },
        },
        scope: { project: { id: 'x' } },
      },
    },
  ],
  ...['/v3/projects', '/v3/users/X', '/v3/auth/catalog', '/v3/auth/projects'].map((path): Known => [
    'GET',
    `/identity${path}`,
  ]),
  ['GET POST', `${heat}/stacks`, stackBody],
  ['POST', `${heat}/stacks/preview`, stackBody],
  ['POST', `${heat}/validate`, stackBody],
  ['GET PUT PATCH', stack, stackBody],
  ['PUT PATCH', `${stack}/preview`, stackBody],
  ['POST', `${stack}/actions`, { check: null }],
  ...[
    'environment',
    'events',
    'export',
    'files',
    'outputs',
    'resources',
    'template',
    'outputs/X',
    'resources/X',
    'resources/X/metadata',
    'resources/X/events',
  ].map((path): Known => ['GET', `${stack}/${path}`]),
  ['GET POST', `${stack}/snapshots`, { name: 'a' }],
  ['GET DELETE', `${stack}/snapshots/X`],
  ['POST', `${stack}/snapshots/X/restore`],
  ['POST', `${stack}/resources/X/signal`, { a: 1 }],
  ['PATCH', `${stack}/resources/X`, { mark_unhealthy: true, resource_status_reason: 'a' }],
  ...['detail', 'X', 'X/Y'].map((path): Known => ['GET', `${heat}/stacks/${path}`]),
  ...[
    'build_info',
    'services',
    'resource_types',
    'resource_types/X',
    'resource_types/X/template',
    'template_versions',
    'template_versions/X/functions',
    'software_configs',
    'software_configs/X',
    'software_deployments',
    'software_deployments/X',
    'software_deployments/metadata/X',
  ].map((path): Known => ['GET', `${heat}/${path}`]),
  [
    'GET POST',
    '/baremetal/v1/nodes',
    {
      name: 'n',
      driver: 'redfish',
      driver_info: { redfish_address: 'http://127.0.0.1:9', redfish_system_id: '/1', redfish_password: 'x' },
      properties: { a: 1 },
      traits: ['A'],
      resource_class: 'a',
    },
  ],
  ['GET PATCH DELETE', '/baremetal/v1/nodes/X', patch],
  ['GET PUT DELETE', '/baremetal/v1/nodes/X/traits', { traits: ['A'] }],
  ['PUT DELETE', '/baremetal/v1/nodes/X/traits/X'],
  ['GET', '/baremetal/v1/nodes/detail'],
  ['GET', '/baremetal/v1/nodes/X/states'],
  ['PUT', '/baremetal/v1/nodes/X/states/power', { target: 'power on' }],
  ['PUT', '/baremetal/v1/nodes/X/states/provision', { target: 'manage' }],
  ['PUT DELETE', '/baremetal/v1/nodes/X/maintenance', { reason: 'a' }],
  ['GET PUT', '/baremetal/v1/nodes/X/management/boot_device', { boot_device: 'pxe', persistent: true }],
  ['PUT', '/baremetal/v1/nodes/X/states/raid', { logical_disks: [] }],
  ['GET POST', '/baremetal/v1/chassis', { description: 'a', extra: {} }],
  ['GET PATCH DELETE', '/baremetal/v1/chassis/X', patch],
  ['GET POST', '/baremetal/v1/ports', { node_uuid: 'a', address: '52:54:00:12:34:56' }],
  ['GET POST', '/baremetal/v1/allocations', { resource_class: 'a', traits: ['A'] }],
  ['GET PATCH DELETE', '/baremetal/v1/allocations/X', patch],
  ['GET POST', '/baremetal/v1/runbooks', { name: 'A', steps: [{ interface: 'power', step: 'reboot', order: 1 }] }],
  ['GET PATCH DELETE', '/baremetal/v1/runbooks/X', patch],
  ...[
    'info',
    'services',
    'events',
    'queues',
    'hosts',
    'dead-letters',
    'deployments',
    'subscriptions',
    'queues/Q/messages',
    'queues/Q/watch',
    'hosts/X',
    'dead-letters/X',
    'deployments/X',
    'subscriptions/X',
    'subscriptions/X/deliveries',
    'subscriptions/X/attempts',
    'stacks/X/why',
    'stacks/X/failures',
  ].map((path): Known => ['GET', `/api/v1/${path}`]),
  ['POST', '/api/v1/subscriptions', { url: 'http://127.0.0.1:9/', types: ['stack.*'], secret: 'whsec_AAAA' }],
  ['DELETE', '/api/v1/subscriptions/X'],
  ['POST', '/api/v1/subscriptions/X/pause'],
  ['POST', '/api/v1/subscriptions/X/resume'],
  ['POST', '/api/v1/subscriptions/X/retry'],
  ['POST', '/api/v1/subscriptions/X/replay', { from: 'E', to: 'E' }],
  ['POST', '/api/v1/subscriptions/X/rotate-secret', { secret: 'whsec_AAAA', keep_seconds: 60 }],
  ['POST', '/api/v1/subscriptions/X/deliveries/Y/replay'],
  ['POST', '/api/v1/dead-letters/X/replay'],
  ['POST', '/api/v1/hosts/X/token', {}],
  ['POST', '/api/v1/stacks/X/actions', { action: 'check' }],
  ['POST', '/api/v1/stacks/X/resources/Y/actions', { action: 'retry' }],
  ['POST', '/heat-api-cfn/v1/signal/X', { Status: 'SUCCESS' }],
  ['PUT', '/heat-api-cfn/v1/waitcondition/X', { Status: 'SUCCESS' }],
  ['GET', '/boot/v1/X'],
  ['POST', '/boot/v1/X/exchange', {}],
  ['POST', '/boot/v1/progress', {}],
  ['POST', '/boot/v1/report', {}],
];
const queries = [
  'limit',
  'marker',
  'wait',
  'ids',
  'pop',
  'echo',
  'claim_id',
  'sort_keys',
  'sort_dir',
  'nested_depth',
  'with_detail',
  'show_nested',
  'tags',
  'after',
  'queue',
  'status',
  'fields',
  'resolve_outputs',
  'filters',
  'detailed',
  'name',
  'id',
  'type',
];

/** Replaces one value of the body, or the whole body. */
function mutated(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || often(0.25)) return pick(values);
  if (Array.isArray(body))
    return body.length === 0 || often(0.2)
      ? [...body, pick(values)]
      : body.map((item, index) => (index === 0 ? mutated(item) : item));
  const keys = Object.keys(body);
  const chosen = pick([...keys, ...(often(0.2) ? ['unknown', '\ud800', '__proto__'] : [])]) ?? 'x';
  const own = body as Record<string, unknown>;
  return Object.fromEntries([
    ...Object.entries(own).filter(([key]) => key !== chosen || often(0.9)),
    [chosen, mutated(own[chosen])],
  ]);
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}
function next(token: string, id: string): Sent {
  const [methods, pattern, body] = pick(routes);
  const method = often(0.9) ? pick(methods.split(' ')) : pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);
  let path = pattern.replace('/known/ID', `/known/${id}`).replaceAll(/\/[QXY](?=\/|$)/g, () => `/${pick(pieces)}`);
  if (often(0.3)) path += `?${[1, 2].map(() => `${pick(queries)}=${pick(pieces)}`).join('&')}`;
  const text = body === undefined && often(0.8) ? undefined : JSON.stringify(often(0.1) ? body : mutated(body));
  const type = often(0.85)
    ? 'application/json'
    : pick([
        'multipart/form-data; boundary=x',
        'multipart/form-data',
        'text/plain',
        'x',
        'application/json-patch+json',
      ]);
  return {
    method,
    path,
    headers: {
      'x-auth-token': token,
      'client-id': '3381af92-2b9e-11e3-b191-71861300734c',
      'x-openstack-ironic-api-version': 'latest',
      ...(text !== undefined && { 'content-type': type }),
    },
    body: text === undefined || often(0.95) ? text : text.slice(0, Math.floor(text.length / 2)),
  };
}

/** Uses no `fetch`, because it corrects paths before it sends them. Leaves a stream at its first byte. */
const send = ({ method, path, headers, body }: Sent): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const sent = request(`${server.url}/`, { method, path, headers, timeout: 60_000, agent: false }, (response) => {
      let text = '';
      const status = response.statusCode ?? 0;
      if (response.headers['content-type']?.startsWith('text/event-stream')) {
        sent.destroy();
        return resolve({ status, text });
      }
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status, text }));
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer within 60 s')));
    sent.on('error', reject);
    sent.end(body);
  });

it('the gateway never answers a malformed request with a 500', async () => {
  const { token } = await logInOverHttp(server);
  const created = await send({
    method: 'POST',
    path: `${heat}/stacks`,
    headers: { 'x-auth-token': token },
    body: JSON.stringify({ stack_name: 'known', template }),
  });
  const { id } = (JSON.parse(created.text) as { stack: { id: string } }).stack;
  const requests = Array.from({ length: count }, () => next(token, id));
  const wrong: string[] = [];
  const work = requests.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const each of work) {
        const { status, text } = await send(each).catch((error: unknown) => ({ status: 0, text: String(error) }));
        if (status === 500 || text.includes('no answer'))
          wrong.push(
            `${each.method} ${each.path.slice(0, 300)} ${each.headers['content-type']} ${each.body?.slice(0, 300)}: ${status} ${text.slice(0, 300)}`,
          );
      }
    }),
  );
  expect(wrong).toEqual([]);
  // Stored values of a malformed request must not make a later read fail.
  for (const path of [
    `${heat}/stacks`,
    `${heat}/stacks/detail`,
    '/baremetal/v1/nodes/detail',

    '/api/v1/queues',
    '/api/v1/events',
    '/api/v1/dead-letters',
  ]) {
    expect
      .soft((await send({ method: 'GET', path, headers: { 'x-auth-token': token }, body: undefined })).status, path)
      .toBe(200);
  }
  const letters = await send({
    method: 'GET',
    path: '/api/v1/dead-letters',
    headers: { 'x-auth-token': token },
    body: undefined,
  });
  expect(JSON.parse(letters.text)).toMatchObject({ dead_letters: [] });
});
