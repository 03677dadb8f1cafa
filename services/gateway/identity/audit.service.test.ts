/** The audit log of a gateway that really listens. */
import { PassThrough } from 'node:stream';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { login, password, project, startTestGateway, type TestGateway } from '../testing/test-gateway.ts';
import type { AuditLine } from './audit.ts';

const destination = new PassThrough();
let text = '';
destination.on('data', (chunk: Buffer) => (text += chunk.toString()));

const lines = (): AuditLine[] =>
  text
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => {
      const { audit, msg } = JSON.parse(line) as { audit?: AuditLine; msg: string };
      return audit && msg === 'audit' ? [audit] : [];
    });
/** The line of a call, by the id of the request in its answer. */
const lineOf = (headers: Headers): Promise<AuditLine> =>
  eventually(() => lines().find(({ request }) => request === headers.get('x-openstack-request-id')), {
    what: 'the line of the call',
    last: lines,
  });

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({}, { log: createLog({ level: 'info', format: 'json', destination }) });
});
afterAll(() => gateway.stop());

const admin = { name: 'admin', domain: 'default' };

describe('the audit log', () => {
  it('names the user, the action, its object, the address and the outcome of a call', async () => {
    const made = await gateway.call('POST', '/identity/v3/users', { user: { name: 'ann', password: 'ann hunter2' } });
    expect(made.status, made.text).toBe(201);
    expect(await lineOf(made.headers)).toMatchObject({
      action: 'POST /identity/v3/users',
      names: {},
      user: admin,
      project,
      from: '127.0.0.1',
      status: 201,
      outcome: 'success',
    });
    const missing = await gateway.call('DELETE', '/api/v1/hosts/nowhere');
    expect(await lineOf(missing.headers)).toMatchObject({
      action: 'DELETE /api/v1/hosts/:host',
      names: { host: 'nowhere' },
      user: admin,
      status: missing.status,
      outcome: 'failure',
    });
  });

  it('has logins, also refused ones, and refused calls, without the names that a stranger chose', async () => {
    const good = await gateway.call('POST', '/identity/v3/auth/tokens', login(), { 'x-auth-token': '' });
    expect(await lineOf(good.headers)).toMatchObject({ user: admin, status: 201, outcome: 'success' });
    const wrong = login();
    wrong.auth.identity.password.user.password = 'wrong hunter2';
    const bad = await gateway.call('POST', '/identity/v3/auth/tokens', wrong, { 'x-auth-token': '' });
    expect(await lineOf(bad.headers)).toMatchObject({
      action: 'POST /identity/v3/auth/tokens',
      user: null,
      project: null,
      status: 401,
      outcome: 'refused',
    });
    const stranger = await gateway.call('DELETE', '/api/v1/hosts/web', undefined, { 'x-auth-token': 'x-hunter2' });
    expect(await lineOf(stranger.headers)).toMatchObject({ names: {}, user: null, status: 401, outcome: 'refused' });
  });

  it('has the reason of a call that demands one for the log', async () => {
    const said = { reason: 'unplugged' };
    const confirmed = await gateway.call('POST', '/api/v1/nodes/rack1-7/confirm-off', said);
    expect(await lineOf(confirmed.headers)).toMatchObject({
      action: 'POST /api/v1/nodes/:node/confirm-off',
      names: { node: 'rack1-7' },
      user: admin,
      reason: 'unplugged',
    });
  });

  it('names the user whose rights are not enough', async () => {
    const reader = { user: { name: 'reader', password: 'reader hunter2', default_project_id: project } };
    const { json } = await gateway.call('POST', '/identity/v3/users', reader);
    const { id } = (json as unknown as { user: { id: string } }).user;
    const roles = await gateway.call('GET', '/identity/v3/roles?name=reader');
    const [role] = (roles.json as unknown as { roles: { id: string }[] }).roles;
    await gateway.call('PUT', `/identity/v3/projects/${project}/users/${id}/roles/${role?.id}`);
    const as = login();
    as.auth.identity.password.user = { ...as.auth.identity.password.user, name: 'reader', password: 'reader hunter2' };
    const entered = await gateway.call('POST', '/identity/v3/auth/tokens', as, { 'x-auth-token': '' });
    expect(entered.status, entered.text).toBe(201);
    const token = entered.headers.get('x-subject-token') ?? '';
    const refused = await gateway.call('DELETE', '/api/v1/hosts/web', undefined, { 'x-auth-token': token });
    expect(refused.status, refused.text).toBe(403);
    expect(await lineOf(refused.headers)).toMatchObject({ user: { id, name: 'reader' }, project, outcome: 'refused' });
  });

  it('has no line for a read, and no secret', async () => {
    const read = await gateway.call('GET', '/api/v1/hosts');
    const write = await gateway.call('DELETE', '/api/v1/hosts/last?key=hunter2');
    await lineOf(write.headers);
    const requests = lines().map(({ request }) => request);
    expect(requests).not.toContain(read.headers.get('x-openstack-request-id'));
    for (const secret of ['hunter2', password, gateway.token]) expect(text).not.toContain(secret);
  });

  it('has a line for each read, or for no call, when the setting says so', async () => {
    await gateway.restart({ ANNEAL_GATEWAY_AUDIT: 'all' });
    const read = await gateway.call('GET', '/api/v1/hosts');
    expect(await lineOf(read.headers)).toMatchObject({ action: 'GET /api/v1/hosts' });
    await gateway.restart({ ANNEAL_GATEWAY_AUDIT: 'off' });
    const write = await gateway.call('DELETE', '/api/v1/hosts/last');
    await gateway.restart();
    await lineOf((await gateway.call('DELETE', '/api/v1/hosts/last')).headers);
    expect(lines().map(({ request }) => request)).not.toContain(write.headers.get('x-openstack-request-id'));
  });
});
