/** Remembered users: changes of the directory by another replica, and the reads of the store that they save. */
import { createTestContext, notingStore, type TestContext } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { password, project } from '../testing/test-gateway.ts';
import { openDirectory } from '@anneal/identity/directory/directory.ts';
import { KnownUsers } from './known-users.ts';
import { adminUser, defaultDomain, idOfRole } from '@anneal/directory/principals.ts';
import { openDirectoryReader } from '@anneal/directory/reader.ts';
import { openTokenReader, tokenHash } from '@anneal/directory/tokens.ts';
import { openTokenWriter } from '@anneal/identity/directory/tokens.ts';

let context: TestContext;
beforeAll(async () => {
  context = await createTestContext({ name: 'gateway' });
});
afterAll(() => context?.dispose());

/** The parts that a gateway and an identity service open. Their clocks only move when the test moves them. */
async function replica() {
  const reads: string[] = [];
  const store = notingStore(context.store, ({ collection }) => reads.push(collection));
  let elapsed = 1_000;
  let nowMs = Date.now();
  const now = () => new Date(nowMs);
  const directory = await openDirectory({ store, password, now });
  const reader = await openDirectoryReader(store);
  const tokens = await openTokenWriter({ store, revision: directory.revision, now });
  const found = await openTokenReader({ store, secrets: context.secrets, directory: reader, now });
  const issue = async (userId: string, home: string): Promise<string> => {
    const text = context.newId();
    const until = new Date(nowMs + 3_600_000).toISOString();
    const scope = { project_id: home };
    await tokens.issue({ id: tokenHash(text), until, userId, scope, methods: ['password'] });
    return text;
  };
  return {
    directory,
    tokens,
    issue,
    users: new KnownUsers({ tokens: found, directory: reader, now, elapsed: () => elapsed }),
    /** The collections that a request reads. */
    readsOf: async (request: () => Promise<unknown>): Promise<string[]> => {
      reads.length = 0;
      await request();
      return [...reads];
    },
    pass: (ms: number): void => {
      elapsed += ms;
      nowMs += ms;
    },
    tokenOfAdmin: () => issue(adminUser.id, project),
  };
}
type Replica = Awaited<ReturnType<typeof replica>>;

/** A user whose role in a project comes from a group, with a token for the project. */
async function person({ directory, issue }: Replica, name: string) {
  const ids = { user: `${name} user`, home: `${name} project`, group: `${name} group` };
  const named = { name, description: null, domain_id: defaultDomain.id, extra: {} };
  await directory.projects.insert(
    { ...named, id: ids.home, parent_id: defaultDomain.id, enabled: true, tags: [] },
    'project',
  );
  const grants = [{ role_id: idOfRole('member'), on: 'project' as const, id: ids.home, inherited: false }];
  await directory.groups.insert({ ...named, id: ids.group, grants }, 'group');
  await directory.users.insert(
    {
      ...named,
      id: ids.user,
      enabled: true,
      default_project_id: null,
      password: null,
      options: {},
      groups: [ids.group],
      grants: [],
      tokens_from: '',
    },
    'user',
  );
  return { ...ids, token: await issue(ids.user, ids.home) };
}
type Person = Awaited<ReturnType<typeof person>>;

describe('a change by one replica counts for the next request at another:', () => {
  const ends: [string, (at: Replica, who: Person) => Promise<unknown>][] = [
    [
      'a disabled user',
      ({ directory }, { user }) => directory.users.update(user, (found) => ({ ...found, enabled: false })),
    ],
    ['a deleted user', ({ directory }, { user }) => directory.users.remove(user)],
    [
      'a new password',
      ({ directory }, { user }) => directory.users.update(user, (found) => ({ ...found, tokens_from: '9999' })),
    ],
    [
      'a role that its group lost',
      ({ directory }, { group }) => directory.groups.update(group, (found) => ({ ...found, grants: [] })),
    ],
    [
      'a lost membership',
      ({ directory }, { user }) => directory.users.update(user, (found) => ({ ...found, groups: [] })),
    ],
    [
      'a disabled project',
      ({ directory }, { home }) => directory.projects.update(home, (found) => ({ ...found, enabled: false })),
    ],
    ['a revoked token', ({ tokens }, { token }) => tokens.revoke(tokenHash(token))],
  ];
  it.each(ends)('%s', async (name, end) => {
    const [one, other] = [await replica(), await replica()];
    const who = await person(one, name);
    expect(await other.users.find(who.token)).toMatchObject({ access: { user: { id: who.user } } });
    expect(await other.readsOf(() => other.users.find(who.token))).toEqual(['gateway_directory_revision']);
    await end(one, who);
    expect((await other.users.find(who.token)) ?? null).toBeNull();
  });

  it('a project that is disabled and enabled again', async () => {
    const [one, other] = [await replica(), await replica()];
    const who = await person(one, 'twice');
    for (const enabled of [true, false, true]) {
      await one.directory.projects.update(who.home, (found) => ({ ...found, enabled }));
      expect((await other.users.find(who.token)) !== null).toBe(enabled);
    }
  });
});

describe('a remembered user', () => {
  it('costs one read of the store at each request', async () => {
    const { users, readsOf, tokenOfAdmin } = await replica();
    const text = await tokenOfAdmin();
    expect((await readsOf(() => users.find(text))).length).toBeGreaterThan(3);
    expect(await readsOf(() => users.find(text))).toEqual(['gateway_directory_revision']);
    expect(await users.find(text)).toMatchObject({ access: { user: { name: 'admin' }, project: { id: project } } });
  });

  it('is read again after five seconds, because a writer may have died before it raised the revision', async () => {
    const { users, readsOf, pass, tokenOfAdmin } = await replica();
    const text = await tokenOfAdmin();
    await users.find(text);
    const directly = await context.store.collection<{ id: string; version: number; enabled: boolean }>({
      name: 'gateway_directory_users',
      indexes: [{ fields: ['domain_id', 'name'], unique: true }],
    });
    const admin = await directly.get(adminUser.id);
    if (!admin) throw new Error('There is no user admin.');
    const disabled = await directly.replace({ ...admin, enabled: false }, admin.version);
    pass(4_999);
    expect(await users.find(text)).toMatchObject({ access: { user: { name: 'admin' } } });
    pass(1);
    expect(await users.find(text)).toBeNull();
    await directly.replace({ ...admin, enabled: true }, disabled?.version ?? 0);
    expect(await readsOf(() => users.find(text))).toContain('gateway_directory_users');
  });

  it('ends with the token, without a change of the directory', async () => {
    const { users, pass, tokenOfAdmin } = await replica();
    const text = await tokenOfAdmin();
    pass(3_599_000);
    expect(await users.find(text)).toMatchObject({ access: { user: { name: 'admin' } } });
    pass(1_000);
    expect(await users.find(text)).toBeUndefined();
  });
});
