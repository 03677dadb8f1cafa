/** The questions to the identity service: who may change what, and repeats. */
import { identityLogIn, identityObjectCreate } from '@anneal/contracts/calls/identity.ts';
import type { IdentityCaller, IdentityKindName } from '@anneal/contracts/calls/identity.ts';
import type { CallDefinition } from '@anneal/contracts/define.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { adminUser, defaultDomain, idOfRole } from '@anneal/directory/principals.ts';
import { openDirectoryReader, type DirectoryReader } from '@anneal/directory/reader.ts';
import { openTokenReader, tokenHash, type TokenReader } from '@anneal/directory/tokens.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
import { on, routeMessages } from '@anneal/bus/consume/route.ts';
import { providerAnnounced } from '@anneal/contracts/resource.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIdentity } from './testing/start-identity.ts';

const password = 'correct horse';
let context: TestContext;
let identity: RunningService;
let directory: DirectoryReader;
let tokens: TokenReader;
const stops: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  context = await createTestContext({ name: 'identity' });
  for (const service of ['scheduling', 'templating'] as const) {
    const routes = routeMessages([on(providerAnnounced, () => Promise.resolve())]);
    const consumer = await context.bus.consume(requestsQueue(service), routes);
    stops.push(() => consumer.stop());
  }
  identity = await startIdentity(context, password);
  directory = await openDirectoryReader(context.store);
  tokens = await openTokenReader({ ...context, directory, now: () => new Date() });
});
afterAll(async () => {
  await identity.stop();
  for (const stop of stops) await stop();
  await context.dispose();
});

const ask = <Q, A>(call: CallDefinition<Q, A>, data: Q): Promise<A> =>
  context.bus.request({
    queue: requestsQueue('identity'),
    call,
    message: context.mint(call, { data }),
    timeoutMs: 20_000,
  });

/** A caller with this role in the project admin. */
const callerWith = (role: 'admin' | 'member'): IdentityCaller => ({
  user: { id: adminUser.id, domain_id: defaultDomain.id },
  project: { id: adminProject.id, domain_id: defaultDomain.id },
  domain: { id: defaultDomain.id },
  system: false,
  roles: [{ id: idOfRole(role), name: role, domain_id: '' }],
});
const create = (kind: IdentityKindName, id: string, fields: JsonObject, caller = callerWith('admin')) =>
  ask(identityObjectCreate, { caller, kind, id, fields: context.secrets.seal(fields) });

const logIn = (text: string, scope: JsonObject = {}) => {
  const user = { id: adminUser.id, password };
  const auth = { identity: { methods: ['password'], password: { user } }, scope };
  const until = new Date(Date.now() + 60_000).toISOString();
  return ask(identityLogIn, { token: tokenHash(text), until, from: '192.0.2.1', auth: context.secrets.seal(auth) });
};

describe('a repeated question', () => {
  it('creates no second object, and another one with its name is refused', async () => {
    for (let time = 0; time < 2; time += 1) await create('project', 'p1', { name: 'web' });
    expect(await directory.projects.list({ domain_id: defaultDomain.id, name: 'web' })).toMatchObject([{ id: 'p1' }]);
    const again = create('project', 'p2', { name: 'web' });
    await expect(again).rejects.toMatchObject({ code: 'AlreadyExists' });
  });

  it('uses a trust once, and leaves one token', async () => {
    const both = { trustor_user_id: adminUser.id, trustee_user_id: adminUser.id };
    const fields = { ...both, project_id: adminProject.id, impersonation: true, roles: [{ name: 'admin' }] };
    await create('trust', 't1', { ...fields, remaining_uses: 1 });
    const scope = { 'OS-TRUST:trust': { id: 't1' } };
    for (let time = 0; time < 2; time += 1) await logIn('the same token', scope);
    expect(await directory.trusts.find('t1')).toMatchObject({ remaining_uses: 0 });
    expect(await tokens.find('the same token')).toMatchObject({ user_id: adminUser.id, trust_id: 't1' });
    await expect(logIn('another token', scope)).rejects.toMatchObject({ code: 'Unauthorized' });
    expect(await tokens.find('another token')).toBeUndefined();
  });
});

describe('the rights of a caller', () => {
  it('are checked by the service itself', async () => {
    const refused = create('user', 'u1', { name: 'eve' }, callerWith('member'));
    await expect(refused).rejects.toMatchObject({
      code: 'Forbidden',
      message: 'You are not authorized to perform the requested action: identity:create_user.',
    });
    expect(await directory.users.find('u1')).toBeUndefined();
  });

  it('do not help against a wrong field: nothing is stored', async () => {
    await expect(create('user', 'u2', { name: '' })).rejects.toMatchObject({ code: 'InvalidRequest' });
    expect(await directory.users.find('u2')).toBeUndefined();
  });
});

it('refuses a first start without a password of admin', async () => {
  const fresh = await createTestContext({ name: 'identity' });
  try {
    await expect(startIdentity(fresh, '')).rejects.toMatchObject({
      code: 'InvalidRequest',
      message: expect.stringContaining('ANNEAL_GATEWAY_ADMIN_PASSWORD') as string,
    });
  } finally {
    await fresh.dispose();
  }
});
