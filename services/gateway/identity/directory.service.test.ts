/** The identity API over HTTP: who can log in, what a token gives, and when it ends. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { login, startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const v3 = '/identity/v3';
const secret = 'a long enough password';

interface Made {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** Creates an object as the admin. */
async function make(kind: string, body: object): Promise<Made> {
  const { status, json, text } = await gateway.call('POST', `${v3}/${kind}s`, { [kind]: body });
  expect([status, text]).toEqual([201, expect.any(String)]);
  return (json as unknown as Record<string, Made>)[kind] as Made;
}

const roleId = async (name: string): Promise<string> => {
  const { json } = await gateway.call('GET', `${v3}/roles?name=${name}`);
  return (json as unknown as { roles: Made[] }).roles[0]?.id ?? '';
};

const grant = async (user: string, project: string, role: string): Promise<void> => {
  const path = `${v3}/projects/${project}/users/${user}/roles/${await roleId(role)}`;
  expect((await gateway.call('PUT', path)).status).toBe(204);
};

/** A user with a role in a project of its own. */
async function person(name: string, role = 'member') {
  const project = await make('project', { name: `${name}-project` });
  const user = await make('user', { name, password: secret, email: `${name}@example.org` });
  await grant(user.id, project.id, role);
  return { user, project };
}

const body = (user: object, scope?: unknown) => ({
  auth: {
    identity: { methods: ['password'], password: { user: { domain: { id: 'default' }, password: secret, ...user } } },
    ...(scope !== undefined && { scope }),
  },
});

/** Logs in without being the admin. */
async function logIn(request: object): Promise<{ status: number; token: string; shown: object }> {
  const { status, headers, json } = await gateway.call('POST', `${v3}/auth/tokens`, request, { 'x-auth-token': '' });
  return {
    status,
    token: headers.get('x-subject-token') ?? '',
    shown: json['token'] ?? {},
  };
}
const as = (token: string) => (method: string, path: string, data?: unknown) =>
  gateway.call(method, path, data, { 'x-auth-token': token });

describe('a user', () => {
  it('logs in to a project with the roles there and what they imply', async () => {
    const { user, project } = await person('ann');
    const { status, shown } = await logIn(body({ name: 'ann' }, { project: { id: project.id } }));
    expect(status).toBe(201);
    expect(shown).toMatchObject({ user: { id: user.id, name: 'ann' }, project: { id: project.id } });
    const { roles } = shown as { roles: { name: string }[] };
    expect(roles.map(({ name }) => name).sort()).toEqual(['member', 'reader']);
  });

  it('keeps fields that the client adds, and never shows the password', async () => {
    const { user } = await person('bea');
    const { json, text } = await gateway.call('GET', `${v3}/users/${user.id}`);
    expect(json).toMatchObject({ user: { email: 'bea@example.org', enabled: true, password_expires_at: null } });
    expect(text).not.toContain(secret);
    expect(text).not.toContain('salt');
  });

  it('cannot log in where it has no role, to what does not exist, or when it is disabled', async () => {
    const { user, project } = await person('cal');
    const { project: foreign } = await person('dan');
    const scoped = (id: string) => body({ id: user.id }, { project: { id } });
    expect((await logIn(scoped(foreign.id))).status).toBe(401);
    expect((await logIn(scoped('0'.repeat(32)))).status).toBe(401);
    expect((await logIn(body({ name: 'nosuch' }))).status).toBe(401);
    expect((await logIn(scoped(project.id))).status).toBe(201);
    await gateway.call('PATCH', `${v3}/users/${user.id}`, { user: { enabled: false } });
    expect((await logIn(scoped(project.id))).status).toBe(401);
  });

  it('reads with the role reader, and changes with member', async () => {
    const { project } = await person('eve', 'reader');
    const { token } = await logIn(body({ name: 'eve' }, { project: { id: project.id } }));
    const eve = as(token);
    expect((await eve('GET', `/orchestration/v1/${project.id}/stacks`)).status).toBe(200);
    const refused = await eve('POST', `/orchestration/v1/${project.id}/stacks`, { stack_name: 'x', template: {} });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('needs the role member')]);
    const nodes = await eve('GET', '/baremetal/v1/nodes');
    expect([nodes.status, nodes.json]).toEqual([200, { nodes: [] }]);
    expect((await eve('POST', '/baremetal/v1/nodes', {})).status).toBe(403);
    expect((await eve('GET', '/baremetal/v1/ports')).status).toBe(403);
    expect((await eve('GET', '/api/v1/dead-letters')).status).toBe(403);
    expect((await eve('GET', `${v3}/users`)).text).toContain('identity:list_users');
    const queues = (await eve('GET', '/api/v1/queues')).json as unknown as { queues: { kind: string }[] };
    expect(queues.queues.filter(({ kind }) => kind === 'service')).toEqual([]);
  });

  it('has the roles of its groups, as long as it is a member', async () => {
    const { user } = await person('fay');
    const group = await make('group', { name: 'operators' });
    const project = await make('project', { name: 'of-the-group' });
    const role = `${v3}/projects/${project.id}/groups/${group.id}/roles/${await roleId('member')}`;
    expect((await gateway.call('PUT', role)).status).toBe(204);
    const scoped = body({ id: user.id }, { project: { id: project.id } });
    expect((await logIn(scoped)).status).toBe(401);
    const membership = `${v3}/groups/${group.id}/users/${user.id}`;
    expect((await gateway.call('PUT', membership)).status).toBe(204);
    const { token } = await logIn(scoped);
    expect((await as(token)('GET', `/orchestration/v1/${project.id}/stacks`)).status).toBe(200);
    expect((await gateway.call('DELETE', membership)).status).toBe(204);
    expect((await as(token)('GET', `/orchestration/v1/${project.id}/stacks`)).status).toBe(401);
  });
});

describe('a token', () => {
  it('ends with the password, also those derived from it', async () => {
    const { user, project } = await person('gus');
    const scope = { project: { id: project.id } };
    const { token } = await logIn(body({ name: 'gus' }, scope));
    const derived = await logIn({ auth: { identity: { methods: ['token'], token: { id: token } }, scope } });
    expect(derived.status).toBe(201);
    const path = `${v3}/users/${user.id}/password`;
    const change = (original_password: string) =>
      gateway.call(
        'POST',
        path,
        { user: { original_password, password: 'another long password' } },
        { 'x-auth-token': '' },
      );
    expect((await change('wrong')).status).toBe(401);
    expect((await change(secret)).status).toBe(204);
    for (const each of [token, derived.token])
      expect((await as(each)('GET', `${v3}/users/${user.id}`)).status).toBe(401);
    expect((await logIn(body({ name: 'gus' }))).status).toBe(401);
    expect((await logIn(body({ name: 'gus', password: 'another long password' }))).status).toBe(201);
  });

  it('that is revoked ends those derived from it; a derived one ends alone', async () => {
    const { user, project } = await person('hal');
    const scope = { project: { id: project.id } };
    const first = await logIn(body({ name: 'hal' }, scope));
    const derive = () => logIn({ auth: { identity: { methods: ['token'], token: { id: first.token } }, scope } });
    const [one, two] = [await derive(), await derive()];
    const works = async (token: string) => (await as(token)('GET', `${v3}/users/${user.id}`)).status === 200;
    const revoke = (token: string) =>
      gateway.call('DELETE', `${v3}/auth/tokens`, undefined, { 'x-auth-token': token, 'x-subject-token': token });
    expect((await revoke(one.token)).status).toBe(204);
    expect(await Promise.all([first, one, two].map(({ token }) => works(token)))).toEqual([true, false, true]);
    expect((await revoke(first.token)).status).toBe(204);
    expect(await Promise.all([first, two].map(({ token }) => works(token)))).toEqual([false, false]);
  });

  it('ends with the last role in its project, and with the project', async () => {
    const { user, project } = await person('ida');
    const { token } = await logIn(body({ name: 'ida' }, { project: { id: project.id } }));
    const stacks = () => as(token)('GET', `/orchestration/v1/${project.id}/stacks`);
    expect((await stacks()).status).toBe(200);
    await gateway.call('PATCH', `${v3}/projects/${project.id}`, { project: { enabled: false } });
    expect((await stacks()).status).toBe(401);
    await gateway.call('PATCH', `${v3}/projects/${project.id}`, { project: { enabled: true } });
    expect((await stacks()).status).toBe(200);
    await gateway.call('DELETE', `${v3}/projects/${project.id}/users/${user.id}/roles/${await roleId('member')}`);
    expect((await stacks()).status).toBe(401);
  });

  it('of the system reads nodes, and has no project', async () => {
    const { user } = await person('jan');
    const role = `${v3}/system/users/${user.id}/roles/${await roleId('reader')}`;
    expect((await gateway.call('PUT', role)).status).toBe(204);
    const { token, shown } = await logIn(body({ id: user.id }, { system: { all: true } }));
    expect(shown).toMatchObject({ system: { all: true } });
    expect((await as(token)('GET', '/baremetal/v1/nodes')).status).toBe(200);
    expect((await as(token)('POST', '/baremetal/v1/nodes', {})).status).toBe(403);
    expect((await as(token)('GET', '/api/v1/hosts')).text).toContain('has no project');
  });

  it('of another user is unknown to a member', async () => {
    const [one, two] = [await person('kim'), await person('leo')];
    const { token: own } = await logIn(body({ name: 'kim' }, { project: { id: one.project.id } }));
    const { token: foreign } = await logIn(body({ name: 'leo' }, { project: { id: two.project.id } }));
    const check = (token: string, method = 'GET') =>
      gateway.call(method, `${v3}/auth/tokens`, undefined, { 'x-auth-token': own, 'x-subject-token': token });
    expect((await check(own)).status).toBe(200);
    expect((await check(foreign)).status).toBe(404);
    expect((await check(foreign, 'DELETE')).status).toBe(403);
  });
});

describe('an application credential', () => {
  it('gives a program some roles of its user, until it is deleted', async () => {
    const { user, project } = await person('mia');
    const { token } = await logIn(body({ name: 'mia' }, { project: { id: project.id } }));
    const list = `${v3}/users/${user.id}/application_credentials`;
    const made = await as(token)('POST', list, { application_credential: { name: 'ci', roles: [{ name: 'reader' }] } });
    expect(made.status).toBe(201);
    const { id, secret: given } = (made.json as unknown as Record<string, { id: string; secret: string }>)[
      'application_credential'
    ] as { id: string; secret: string };
    const auth = (value: string) => ({
      auth: { identity: { methods: ['application_credential'], application_credential: { id, secret: value } } },
    });
    expect((await logIn(auth('wrong'))).status).toBe(401);
    const program = await logIn(auth(given));
    expect(program.shown).toMatchObject({ project: { id: project.id }, application_credential: { id, name: 'ci' } });
    expect((program.shown as { roles: { name: string }[] }).roles.map(({ name }) => name)).toEqual(['reader']);
    expect((await as(program.token)('GET', `/orchestration/v1/${project.id}/stacks`)).status).toBe(200);
    const more = await as(program.token)('POST', list, { application_credential: { name: 'more' } });
    expect([more.status, more.text]).toEqual([403, expect.stringContaining('additional application credentials')]);
    expect((await as(token)('GET', `${list}/${id}`)).text).not.toContain(given);
    expect((await as(token)('DELETE', `${list}/${id}`)).status).toBe(204);
    expect((await as(program.token)('GET', `/orchestration/v1/${project.id}/stacks`)).status).toBe(401);
    expect((await logIn(auth(given))).status).toBe(401);
  });

  it('cannot have a role that its user lacks', async () => {
    const { user, project } = await person('ned', 'reader');
    const { token } = await logIn(body({ name: 'ned' }, { project: { id: project.id } }));
    const wanted = { application_credential: { name: 'ci', roles: [{ name: 'member' }] } };
    const refused = await as(token)('POST', `${v3}/users/${user.id}/application_credentials`, wanted);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('unassigned role')]);
  });
});

describe('the objects of the directory', () => {
  it('have unique names, and are refused with every mistake', async () => {
    await make('project', { name: 'twice' });
    const again = await gateway.call('POST', `${v3}/projects`, { project: { name: 'twice' } });
    expect(again.status).toBe(409);
    const wrong = await gateway.call('POST', `${v3}/users`, { user: { name: '', enabled: 'yes' } });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('user.name');
    expect(wrong.text).toContain('user.enabled');
  });

  it('are listed by filters and in pages', async () => {
    for (const name of ['page-a', 'page-b', 'page-c']) await make('project', { name });
    const names: string[] = [];
    let next: string | null = `${gateway.url}${v3}/projects?name__startswith=page-&limit=2`;
    let pages = 0;
    while (next !== null) {
      const { json } = await gateway.call('GET', next);
      const page = json as unknown as { projects: { name: string }[]; links: { next: string | null } };
      names.push(...page.projects.map(({ name }) => name));
      next = page.links.next;
      pages += 1;
    }
    expect([names.sort(), pages]).toEqual([['page-a', 'page-b', 'page-c'], 2]);
  });

  it('of one user are listed in pages, too', async () => {
    const { user } = await person('pia');
    const list = async (path: string, kind: string) => {
      const { status, json } = await gateway.call('GET', path);
      expect([path, status]).toEqual([path, 200]);
      return json as unknown as Record<typeof kind, unknown[]> & { links: { self: string; next: string | null } };
    };
    for (const name of ['pia-a', 'pia-b']) {
      const group = await make('group', { name });
      expect((await gateway.call('PUT', `${v3}/groups/${group.id}/users/${user.id}`)).status).toBe(204);
    }
    const first = `${gateway.url}${v3}/users/${user.id}/groups?limit=1`;
    const page = await list(first, 'groups');
    expect([page.links.self, page['groups']?.length]).toEqual([first, 1]);
    const last = await list(page.links.next ?? '', 'groups');
    expect([last['groups']?.length, last.links.next]).toEqual([1, null]);
    expect(last['groups']).not.toEqual(page['groups']);
  });

  it('ask for a token before they read a body', async () => {
    const { status } = await gateway.call('POST', `${v3}/users`, { user: {} }, { 'x-auth-token': '' });
    expect(status).toBe(401);
  });

  it('keep what never changes, and what a client does not name', async () => {
    const group = await make('group', { name: 'kept', description: 'd', team: 'a' });
    const change = (fields: object) => gateway.call('PATCH', `${v3}/groups/${group.id}`, { group: fields });
    for (const fields of [{ id: 'other' }, { domain_id: 'other' }, { domain_id: null }])
      expect((await change(fields)).status).toBe(400);
    const { json } = await change({ domain_id: 'default', name: 'renamed', room: 7, constructor: 'c' });
    expect(json['group']).toMatchObject({ name: 'renamed', description: 'd', team: 'a', room: 7, constructor: 'c' });
    const domain = await make('domain', { name: 'as-a-project' });
    const asProject = (fields: object) =>
      gateway.call('PATCH', `${v3}/projects/${domain.id}`, { project: { is_domain: true, ...fields } });
    expect((await asProject({ parent_id: group.id })).status).toBe(400);
    expect((await asProject({ parent_id: null, description: 'd' })).json['project']).toMatchObject({
      is_domain: true,
      domain_id: null,
      description: 'd',
    });
    expect((await gateway.call('GET', `${v3}/domains/${domain.id}`)).json['domain']).not.toHaveProperty('is_domain');
  });

  it('show the roles of everyone, also those by groups and implied', async () => {
    const { user, project } = await person('oda', 'manager');
    const of = async (flags: string) => {
      const path = `${v3}/role_assignments?user.id=${user.id}&scope.project.id=${project.id}&include_names=True${flags}`;
      const { json } = await gateway.call('GET', path);
      return (json as unknown as { role_assignments: { role: { name: string } }[] }).role_assignments
        .map(({ role }) => role.name)
        .sort();
    };
    expect(await of('')).toEqual(['manager']);
    expect(await of('&effective=True')).toEqual(['manager', 'member', 'reader']);
  });

  it('that everything depends on cannot be deleted', async () => {
    const { json } = await gateway.call('GET', `${v3}/users?name=admin`);
    const [admin] = (json as unknown as { users: Made[] }).users;
    expect((await gateway.call('DELETE', `${v3}/users/${admin?.id}`)).status).toBe(403);
    expect((await gateway.call('DELETE', `${v3}/domains/default`)).status).toBe(403);
    expect((await gateway.call('DELETE', `${v3}/roles/${await roleId('member')}`)).status).toBe(403);
  });

  it('survive a restart', async () => {
    const { project } = await person('pam');
    await gateway.restart();
    expect((await logIn(body({ name: 'pam' }, { project: { id: project.id } }))).status).toBe(201);
    expect((await logIn(login())).status).toBe(201);
  });
});

it('refuses names with control characters', async () => {
  for (const kind of ['project', 'user', 'group', 'role', 'domain']) {
    const { status, text } = await gateway.call('POST', `${v3}/${kind}s`, { [kind]: { name: 'a\u0000b' } });
    expect([kind, status]).toEqual([kind, 400]);
    expect(text).toContain(`${kind}.name: must not contain a control character`);
  }
});
