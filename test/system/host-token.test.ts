/** Every gateway of an installation refuses a host's token at once when it was renewed or the host was deleted. */
import { connect } from '@anneal/client/connect.ts';
import { configurationService } from '@anneal/configuration/service.ts';
import { hostCreate, hostDelete, hostTokenRenew } from '@anneal/contracts/calls/hosts.ts';
import { queuePost } from '@anneal/contracts/calls/queues.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { resourceCreate } from '@anneal/contracts/resource.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { startIdentity } from '@anneal/identity/testing/start-identity.ts';
import { metadataAddress } from '@anneal/runtime/secrets/host-keys.ts';
import type { RunningService } from '@anneal/runtime/service/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';

let context: TestContext;
const contexts: TestContext[] = [];
const running: RunningService[] = [];
const urls: string[] = [];
beforeAll(async () => {
  context = await createTestContext({ name: 'gateway' });
  running.push(await startIdentity(context, 'correct horse'));
  running.push(await configurationService.start(context, readSettings(configurationService.settings, {})));
  for (let replica = 0; replica < 2; replica += 1) {
    const settings = readSettings(gatewayService.settings, { ANNEAL_GATEWAY_PORT: '0' });
    const own = await createTestContext({ name: 'gateway', bus: context.bus, store: context.store });
    contexts.push(own);
    const started = (await gatewayService.start(own, settings)) as RunningService & { url: string };
    running.push(started);
    urls.push(started.url);
  }
});
afterAll(async () => {
  for (const service of running.toReversed()) await service.stop();
  for (const own of contexts) await own.dispose();
  await context.dispose();
});

const queue = requestsQueue('configuration');
const hostWith = async (id: string): Promise<string> => {
  const data = { id, name: id, project: adminProject.id };
  const { token } = await context.bus.request({ queue, call: hostCreate, message: context.mint(hostCreate, { data }) });
  return token;
};
const claim = async (url: string, token: string, wait = 0): Promise<number> => {
  const path = `${url}/messaging/v2/queues/host.h1.requests/claims?wait=${wait}`;
  const response = await fetch(path, { method: 'POST', headers: { 'x-auth-token': token } });
  await response.arrayBuffer();
  return response.status;
};
/** The statuses of the other calls of an agent: an answer, a heartbeat, a removal. */
const calls = (url: string, token: string): Promise<number[]> => {
  const queues = `${url}/messaging/v2/queues/host.h1`;
  const headers = { 'x-auth-token': token, 'content-type': 'application/json' };
  const hello = JSON.stringify({ messages: [{ ttl: 60, body: { hello: true } }] });
  return Promise.all(
    [
      fetch(`${queues}.responses/messages`, { method: 'POST', headers, body: hello }),
      fetch(`${queues}.requests/claims/none`, { method: 'PATCH', headers, body: '{"ttl": 60}' }),
      fetch(`${queues}.requests/messages/none`, { method: 'DELETE', headers }),
    ].map(async (call) => (await call).status),
  );
};
const claims = (token: string): Promise<number[]> => Promise.all(urls.map((url) => claim(url, token)));

it('a host token stops working in every gateway at once when it is renewed or its host is deleted', async () => {
  const old = await hostWith('h1');
  expect(await claims(old)).toEqual([204, 204]);
  const message = context.mint(hostTokenRenew, { data: { host: 'h1' } });
  const { token } = await context.bus.request({ queue, call: hostTokenRenew, message });
  expect(await claims(old)).toEqual([401, 401]);
  // The gateways remember the old token, so only the configuration service can refuse these.
  for (const url of urls) expect(await calls(url, old)).toEqual([401, 401, 401]);
  expect(await claims(token)).toEqual([204, 204]);
  for (const url of urls) expect(await calls(url, token)).toEqual([201, 404, 204]);

  await context.bus.request({ queue, call: hostDelete, message: context.mint(hostDelete, { data: { id: 'h1' } }) });
  expect(await claims(token)).toEqual([401, 401]);
  // The refused gateways ask again who the host is, and an agent ends at this answer.
  expect(await claims(token)).toEqual([410, 410]);
  for (const url of urls) expect(await calls(url, token)).toEqual([410, 410, 410]);
  expect(await claims(old)).toEqual([401, 401]);
});

it('a waiting claim ends without a message when its token is renewed', async () => {
  const old = await hostWith('h1');
  let ended: number | undefined;
  const waiting = claim(urls[0] ?? '', old, 60).then((status) => (ended = status));
  await eventually(async () => ((await claims(old)).every((status) => status === 204) ? true : undefined));
  const message = context.mint(hostTokenRenew, { data: { host: 'h1' } });
  await context.bus.request({ queue, call: hostTokenRenew, message });
  expect(await eventually(() => ended, { what: 'the end of the wait' })).toBe(401);
  await waiting;
});

const readContext = async (token: string, path = ''): Promise<{ status: number; text: string }> => {
  const response = await fetch(`${urls[0]}/api/v1/contexts${path}`, { headers: { 'x-auth-token': token } });
  return { status: response.status, text: await response.text() };
};

it('a host token reads the contexts that its own host is a member of, and no other', async () => {
  const [member, stranger] = [await hostWith('m1'), await hostWith('m2')];
  for (const id of ['m1', 'm2']) {
    const messages = [{ body: { hello: true, facts: { address: `address-of-${id}` } }, ttl: 60 }];
    const data = { project: adminProject.id, queue: `host.${id}.responses`, client_id: id, messages };
    await context.bus.request({ queue, call: queuePost, message: context.mint(queuePost, { data }) });
  }
  const made = ['m1', 'm2'].map((host) => ({ host, id: context.newId() }));
  for (const { host, id } of made) {
    const data = {
      resource: { id, name: 'circle', type: 'Anneal::Context', physical_name: 'circle' },
      stack: { id: context.newId(), name: `stack-of-${host}` },
      traversal: 't',
      fence: 1,
      deadline: new Date(Date.now() + 600_000).toISOString(),
      physical_id: null,
      properties: { members: { all: [host] }, facts: [], configs: [] },
      attributes: {},
    };
    const message = context.mint(resourceCreate, { project: adminProject.id, replyto: 'answers', data });
    await context.bus.send({ queue, messages: [message] });
  }
  const [own, other] = made.map(({ id }) => id);
  const shown = await eventually(async () => {
    const read = await readContext(member, `/${own}`);
    return read.text.includes('address-of-m1') ? read : undefined;
  });
  expect(shown.status).toBe(200);
  // Both contexts have this name; each host finds its own.
  expect((await readContext(member, '/circle')).text).toContain('address-of-m1');
  expect((await readContext(stranger, `/${own}`)).status).toBe(404);
  expect((await readContext(member, `/${other}`)).status).toBe(404);
  const listed = JSON.parse((await readContext(member)).text) as { contexts: { id: string }[] };
  expect(listed.contexts.map(({ id }) => id)).toEqual([own]);

  // Nothing else of the API is open to it.
  for (const path of ['hosts', 'deployments', 'events', 'queues']) {
    const response = await fetch(`${urls[0]}/api/v1/${path}`, { headers: { 'x-auth-token': member } });
    expect([path, response.status]).toEqual([path, 403]);
  }
  const message = context.mint(hostTokenRenew, { data: { host: 'm1' } });
  const { token } = await context.bus.request({ queue, call: hostTokenRenew, message });
  expect((await readContext(member, `/${own}`)).status).toBe(401);
  expect((await readContext(token, `/${own}`)).status).toBe(200);
});

it('an operator finds the metadata address of a host, and a new token changes it', async () => {
  const token = await hostWith('h3');
  const client = await connect({
    authUrl: `${urls[0]}/identity/v3`,
    username: 'admin',
    password: 'correct horse',
    project: 'admin',
  });
  const of = (hostToken: string): string => metadataAddress(contexts[0]?.gatewayUrl ?? '', { hostId: 'h3', hostToken });
  expect(await client.hosts.metadataUrl({ host: 'h3' })).toBe(of(token));
  const renewed = await client.hosts.renewToken({ host: 'h3' });
  expect(renewed.metadata_url).toBe(of(renewed.token));
  expect(renewed.metadata_url).not.toBe(of(token));
  expect(await client.hosts.metadataUrl({ host: 'h3' })).toBe(renewed.metadata_url);
  const refused = await fetch(`${urls[0]}/api/v1/hosts/h3/metadata-url`, {
    headers: { 'x-auth-token': renewed.token },
  });
  expect([401, 403]).toContain(refused.status);
});
