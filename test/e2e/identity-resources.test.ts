/** Users, projects and roles as resources: an operator's stack makes them, and the stack of another user does not. */
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { logInOverHttp } from './log-in.ts';
import { startServer, type TestServer } from './server.ts';

let server: TestServer;
let admin = '';
beforeAll(async () => {
  server = await startServer({ lab: 0, env: { ANNEAL_LOG_LEVEL: 'debug' } });
  admin = (await logInOverHttp(server)).token;
});
afterAll(() => server?.dispose());

interface Answer {
  readonly status: number;
  readonly text: string;
  // Tests state the fields that they expect.
  readonly json: Record<string, never>;
  readonly token: string;
}

async function send(token: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'x-auth-token': token, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  const json = text.startsWith('{') ? JSON.parse(text) : {};
  return { status: response.status, text, json, token: response.headers.get('x-subject-token') ?? '' };
}

const firstPassword = 'first-password-of-ann';
const secondPassword = 'second-password-of-ann';

const member = {
  heat_template_version: '2021-04-16',
  parameters: { password: { type: 'string', hidden: true }, project: { type: 'string' }, email: { type: 'string' } },
  resources: {
    user: {
      type: 'OS::Keystone::User',
      properties: {
        name: 'ann',
        email: { get_param: 'email' },
        password: { get_param: 'password' },
        default_project: { get_param: 'project' },
      },
    },
    roles: {
      type: 'OS::Keystone::UserRoleAssignment',
      properties: {
        user: { get_resource: 'user' },
        roles: [{ role: 'member', project: { get_param: 'project' } }],
      },
    },
  },
};
const team = {
  heat_template_version: '2021-04-16',
  parameters: { password: { type: 'string', hidden: true }, email: { type: 'string', default: 'ann@example.org' } },
  resources: {
    project: { type: 'OS::Keystone::Project', properties: { name: 'shop', description: 'made by a stack' } },
    member: {
      type: 'member.yaml',
      properties: {
        password: { get_param: 'password' },
        email: { get_param: 'email' },
        project: { get_resource: 'project' },
      },
    },
  },
  outputs: { project: { value: { get_resource: 'project' } } },
};
const intruder = (project: string) => ({
  type: 'OS::Keystone::User',
  properties: { name: 'intruder', password: firstPassword, roles: [{ role: 'admin', project }] },
});
const templateWith = (resources: object) => ({ heat_template_version: '2021-04-16', resources });

interface Shown {
  readonly id: string;
  readonly stack_status: string;
  readonly stack_status_reason: string;
  readonly outputs?: readonly { readonly output_value: string }[];
}

/** The stack when its action has ended. */
async function ended(token: string, project: string, name: string, action: string): Promise<Shown> {
  let last: Answer | undefined;
  return eventually(
    async () => {
      last = await send(token, 'GET', `/orchestration/v1/${project}/stacks/${name}`);
      // The address by name redirects to the one with the id, which fetch follows.
      const { stack } = last.json as unknown as { stack?: Shown };
      return stack?.stack_status.startsWith(action) && !stack.stack_status.endsWith('PROGRESS') ? stack : undefined;
    },
    { what: `the end of ${action} of ${name}`, last: () => last?.text },
  );
}

async function found(kind: 'users' | 'roles', name: string): Promise<{ id: string }[]> {
  const { json } = await send(admin, 'GET', `/identity/v3/${kind}?name=${name}`);
  return (json as unknown as Record<string, { id: string }[]>)[kind] ?? [];
}
const idOf = async (kind: 'users' | 'roles', name: string): Promise<string> => (await found(kind, name))[0]?.id ?? '';
const asAnn = (password: string) => logInOverHttp({ url: server.url, username: 'ann', project: 'shop', password });

const adminProject = '00000000000000000000000000000001';
const adminUser = '00000000000000000000000000000002';
const stacks = (project: string) => `/orchestration/v1/${project}/stacks`;

it('an operator makes a project and a user who logs in, changes and deletes them by a stack', async () => {
  const files = { 'member.yaml': JSON.stringify(member) };
  const body = { stack_name: 'team', template: team, files, parameters: { password: firstPassword } };
  const made = await send(admin, 'POST', stacks(adminProject), body);
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  const created = await ended(admin, adminProject, 'team', 'CREATE');
  expect(created).toMatchObject({ stack_status: 'CREATE_COMPLETE' });
  const shop = created.outputs?.[0]?.output_value ?? '';
  const ann = await asAnn(firstPassword);
  expect(ann.project).toBe(shop);

  // A member of the project cannot become more by a template, also not when an operator works with the stack.
  const direct = { stack_name: 'direct', template: templateWith({ user: intruder(shop) }) };
  const forbidden = await send(ann.token, 'POST', stacks(shop), direct);
  expect([forbidden.status, forbidden.text]).toEqual([
    403,
    expect.stringContaining('You are not authorized to use OS::Keystone::User.'),
  ]);
  const hidden = { type: 'OS::Heat::ResourceGroup', properties: { count: 1, resource_def: intruder(shop) } };
  const attack = await send(ann.token, 'POST', stacks(shop), {
    stack_name: 'attack',
    template: templateWith({ hidden, inner: { type: 'OS::Heat::Value', properties: { value: 1 } } }),
  });
  expect(attack.status).toBe(201);
  const refused = await ended(ann.token, shop, 'attack', 'CREATE');
  expect(refused.stack_status).toBe('CREATE_FAILED');
  expect(refused.stack_status_reason).toContain('does not act for an operator');
  const grant = `/identity/v3/projects/${shop}/users/${adminUser}/roles/${await idOf('roles', 'admin')}`;
  expect((await send(admin, 'PUT', grant)).status).toBe(204);
  const inShop = (await logInOverHttp({ ...server, project: 'shop' })).token;
  const patch = await send(inShop, 'PATCH', `${stacks(shop)}/attack/${refused.id}`, { parameters: {} });
  expect(patch.status).toBe(202);
  const again = await ended(inShop, shop, 'attack', 'UPDATE');
  expect(again).toMatchObject({ stack_status: 'UPDATE_FAILED' });
  expect(await found('users', 'intruder')).toEqual([]);
  expect((await send(ann.token, 'DELETE', `${stacks(shop)}/attack/${refused.id}`)).status).toBe(204);
  expect(await ended(ann.token, shop, `attack/${refused.id}`, 'DELETE')).toMatchObject({
    stack_status: 'DELETE_COMPLETE',
  });

  const change = { template: team, files, parameters: { password: secondPassword, email: 'a@example.org' } };
  const updated = await send(admin, 'PUT', `${stacks(adminProject)}/team/${created.id}`, change);
  expect([updated.status, updated.text]).toEqual([202, expect.any(String)]);
  expect(await ended(admin, adminProject, 'team', 'UPDATE')).toMatchObject({ stack_status: 'UPDATE_COMPLETE' });
  await expect(asAnn(firstPassword)).rejects.toThrow('401');
  const later = await asAnn(secondPassword);
  expect((await send(admin, 'GET', '/identity/v3/users?name=ann')).text).toContain('a@example.org');

  // A member of the operator's project cannot delete what the operator made.
  const join = `/identity/v3/projects/${adminProject}/users/${await idOf('users', 'ann')}/roles/${await idOf('roles', 'member')}`;
  expect((await send(admin, 'PUT', join)).status).toBe(204);
  const inside = await logInOverHttp({ url: server.url, username: 'ann', password: secondPassword });
  // Nor update it, which changes nothing.
  expect((await send(inside.token, 'PUT', `${stacks(adminProject)}/team/${created.id}`, change)).status).toBe(403);
  expect(await ended(admin, adminProject, 'team', 'UPDATE')).toMatchObject({ stack_status: 'UPDATE_COMPLETE' });
  expect((await send(inside.token, 'DELETE', `${stacks(adminProject)}/team/${created.id}`)).status).toBe(204);
  expect(await ended(admin, adminProject, 'team', 'DELETE')).toMatchObject({ stack_status: 'DELETE_FAILED' });
  expect((await asAnn(secondPassword)).project).toBe(later.project);

  expect((await send(admin, 'DELETE', `${stacks(adminProject)}/team/${created.id}`)).status).toBe(204);
  expect(await ended(admin, adminProject, `team/${created.id}`, 'DELETE_COMPLETE')).toBeTruthy();
  expect(await found('users', 'ann')).toEqual([]);
  await expect(asAnn(secondPassword)).rejects.toThrow('401');
  for (const password of [firstPassword, secondPassword]) expect(server.output()).not.toContain(password);
});

it('a token for a program makes identity objects with the role admin, and not when rules limit it', async () => {
  const make = async (name: string, more: object): Promise<Answer> => {
    const credential = { name, roles: [{ name: 'admin' }], ...more };
    const path = `/identity/v3/users/${adminUser}/application_credentials`;
    const made = await send(admin, 'POST', path, { application_credential: credential });
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    const { id, secret } = (made.json as unknown as { application_credential: { id: string; secret: string } })
      .application_credential;
    const identity = { methods: ['application_credential'], application_credential: { id, secret } };
    const { token } = await send('', 'POST', '/identity/v3/auth/tokens', { auth: { identity } });
    const role = { type: 'OS::Keystone::Role', properties: { name: `role-of-${name}` } };
    return send(token, 'POST', stacks(adminProject), { stack_name: name, template: templateWith({ role }) });
  };
  const free = await make('free', {});
  expect([free.status, free.text]).toEqual([201, expect.any(String)]);
  expect(await ended(admin, adminProject, 'free', 'CREATE')).toMatchObject({ stack_status: 'CREATE_COMPLETE' });
  expect(await found('roles', 'role-of-free')).toHaveLength(1);
  const rule = { service: 'orchestration', method: 'POST', path: '/v1/*/stacks' };
  const limited = await make('limited', { access_rules: [rule] });
  expect([limited.status, limited.text]).toEqual([
    403,
    expect.stringContaining('not authorized to use OS::Keystone::Role'),
  ]);
  expect(await found('roles', 'role-of-limited')).toEqual([]);
});
