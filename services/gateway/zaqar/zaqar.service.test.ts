import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { host, hostToken } from '../testing/stand-ins.ts';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const client = { 'client-id': '3381af92-2b9e-11e3-b191-71861300734c' };
const asHost = { ...client, 'x-auth-token': hostToken };
const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = client) =>
  gateway.call(method, `/messaging${path}`, body, headers);

describe('v2', () => {
  it('creates, shows, changes, lists and deletes queues', async () => {
    const made = await call('PUT', '/v2/queues/q1');
    expect([made.status, made.headers.get('location')]).toEqual([201, '/v2/queues/q1']);
    expect((await call('PUT', '/v2/queues/q1', { owner: 'me' })).status).toBe(204);
    expect((await call('GET', '/v2/queues/q1')).json).toEqual({
      owner: 'me',
      _max_messages_post_size: 524288,
      _default_message_ttl: 3600,
      _default_message_delay: 0,
      _dead_letter_queue: null,
      _dead_letter_queue_messages_ttl: null,
      _max_claim_count: null,
      _enable_encrypt_messages: false,
    });
    const patch = (body: unknown) =>
      call('PATCH', '/v2/queues/q1', body, {
        ...client,
        'content-type': 'application/openstack-messaging-v2.0-json-patch',
      });
    expect((await patch([{ op: 'replace', path: '/metadata/owner', value: 'you' }])).json).toMatchObject({
      owner: 'you',
    });
    expect((await patch([{ op: 'remove', path: '/metadata/none' }])).json).toMatchObject({
      title: 'Resource conflict',
      description: "Can't remove non-existent object none.",
    });
    // The size limit is the one of the configuration service, and of queues that the first message will create.
    expect((await call('GET', '/v2/queues/not-yet')).json).toMatchObject({ _max_messages_post_size: 524288 });
    // A client that replaces all metadata removes the reserved keys that it was shown.
    const shown = (await call('GET', '/v2/queues/q1')).json;
    expect(
      (
        await patch([
          { op: 'remove', path: '/metadata/_default_message_ttl' },
          { op: 'add', path: '/metadata/_max_claim_count', value: 3 },
        ])
      ).json,
    ).toEqual({ ...shown, _max_claim_count: 3 });
    expect((await patch([{ op: 'remove', path: '/metadata/_max_claim_count' }])).json).toEqual(shown);
    expect((await call('GET', '/v2/queues?detailed=true&limit=1')).json).toMatchObject({
      queues: [{ name: 'q1', href: '/v2/queues/q1', metadata: { owner: 'you' } }],
      links: [{ rel: 'next', href: '/v2/queues?limit=1&detailed=true&marker=q1' }],
    });
    expect((await call('GET', '/v2/queues/q1/stats')).json).toEqual({ messages: { claimed: 0, free: 0, total: 0 } });
    expect((await call('DELETE', '/v2/queues/q1')).status).toBe(204);
    expect((await call('DELETE', '/v2/queues/q1')).status).toBe(204);
  });

  it('posts, lists, claims, renews, deletes and pops messages', async () => {
    const posted = await call('POST', '/v2/queues/work/messages', {
      messages: [{ ttl: 300, body: { n: 1 } }, { body: 'two' }, { ttl: 60, body: 3 }],
    });
    expect(posted.status).toBe(201);
    const { resources } = posted.json as unknown as { resources: string[] };
    expect(resources).toHaveLength(3);
    expect(posted.headers.get('location')).toMatch(/^\/v2\/queues\/work\/messages\?ids=m\d+,m\d+,m\d+$/);
    const id = resources[0]?.split('/').at(-1) ?? '';
    const one = await gateway.call('GET', resources[0] ?? '', undefined, client);
    expect(one.json).toEqual({ id, href: resources[0], ttl: 300, age: 0, body: { n: 1 } });

    const claimed = await call('POST', '/v2/queues/work/claims?limit=2', { ttl: 60, grace: 60 });
    expect(claimed.status).toBe(201);
    const claim = claimed.headers.get('location') ?? '';
    expect(claim).toMatch(/^\/v2\/queues\/work\/claims\/c\d+$/);
    const claimId = claim.split('/').at(-1) ?? '';
    expect(claimed.json['messages']).toHaveLength(2);
    expect(claimed.json).toMatchObject({
      messages: [{ id, href: `${resources[0]}?claim_id=${claimId}`, ttl: 300, age: 0, body: { n: 1 } }, {}],
    });
    expect((await call('GET', '/v2/queues/work/messages?echo=true')).json['messages']).toHaveLength(1);
    expect((await gateway.call('GET', claim, undefined, client)).json).toMatchObject({ age: 0, ttl: 60, href: claim });
    expect((await gateway.call('PATCH', claim, { ttl: 120, grace: 60 }, client)).status).toBe(204);
    expect((await call('DELETE', `/v2/queues/work/messages/${id}`)).status).toBe(403);
    expect((await call('DELETE', `/v2/queues/work/messages/${id}?claim_id=${claimId}`)).status).toBe(204);
    expect((await gateway.call('DELETE', claim, undefined, client)).status).toBe(204);
    expect((await call('GET', `/v2/queues/work/claims/c0`)).json).toMatchObject({ title: 'Not found' });
    const popped = await call('DELETE', '/v2/queues/work/messages?pop=2');
    expect(popped.json['messages']).toMatchObject([{ body: 'two' }, { body: 3 }]);
  });

  it('answers an empty list for a queue without messages', async () => {
    expect((await call('GET', '/v2/queues/nope/messages')).json).toEqual({ messages: [], links: [] });
    expect((await call('POST', '/v2/queues/nope/claims', { ttl: 60, grace: 60 })).status).toBe(204);
  });

  it('refuses wrong requests with Zaqar’s messages', async () => {
    const refused = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
      const { status, json } = await call(method, path, body, headers);
      return [status, json['title'], json['description']];
    };
    const messages = '/v2/queues/q/messages';
    expect(await refused('PUT', '/v2/queues/q1', undefined, {})).toEqual([
      400,
      'Missing header value',
      'The "Client-ID" header is required.',
    ]);
    expect(await refused('PUT', '/v2/queues/q1', undefined, { 'client-id': 'host-1' })).toEqual([
      400,
      'Wrong UUID value',
      'Malformed hexadecimal UUID.',
    ]);
    expect((await refused('PUT', '/v2/queues/a%20b'))[1]).toBe('Invalid queue identification');
    expect((await refused('POST', messages, { messages: [] }))[2]).toBe('No messages to enqueu.');
    expect((await refused('POST', messages, [{ body: 1 }]))[2]).toBe('No messages were found in the request body.');
    expect((await refused('POST', messages, { messages: [{ ttl: 60 }] }))[2]).toBe('Missing "body" field.');
    expect((await refused('POST', messages, { messages: [{ ttl: 'x', body: 1 }] }))[2]).toBe(
      'The value of the "ttl" field must be a int.',
    );
    expect((await refused('POST', messages, '{oops'))[0]).toBe(400);
    expect(
      (await refused('POST', messages, 'a=b', { ...client, 'content-type': 'application/x-www-form-urlencoded' }))[0],
    ).toBe(400);
    expect((await refused('DELETE', messages))[0]).toBe(400);
    expect((await refused('DELETE', `${messages}?pop=1&ids=a`))[0]).toBe(400);
    expect((await refused('DELETE', messages))[2]).toContain('either "ids" or "pop"');
    expect((await refused('GET', `${messages}?limit=1.5`))[2]).toBe(
      'Limit must be at least 1 and no greater than 100 (ANNEAL_GATEWAY_QUEUE_PAGE).',
    );
    expect((await refused('DELETE', `${messages}?pop=x`))[2]).toBe(
      'Pop value must be at least 1 and may not be greater than 20 (ANNEAL_GATEWAY_QUEUE_POP).',
    );
    expect(await refused('GET', `${messages}?echo=maybe`)).toEqual([
      400,
      'Invalid API request',
      'The query is not valid: echo: must be true or false, not "maybe"',
    ]);
    expect((await refused('PUT', '/v2/queues/q1', []))[2]).toBe('The request body must be a JSON object.');
    expect((await refused('GET', '/v2/nothing'))[0]).toBe(404);
    expect((await refused('POST', '/v2/queues/q1', {}))[0]).toBe(405);
    expect((await refused('GET', '/v2/queues', undefined, { ...client, 'x-auth-token': 'x' }))[0]).toBe(401);
  });
});

it('a purge deletes every message, unless its body excludes messages', async () => {
  await call('POST', '/v2/queues/full/messages', { messages: [{ body: 1 }, { body: 2 }] });
  const purge = (body?: unknown) => call('POST', '/v2/queues/full/purge', body);
  expect((await purge({ resource_types: ['subscriptions'] })).status).toBe(204);
  expect(gateway.behind.messages('full')).toHaveLength(2);
  expect((await purge({ resource_types: ['all'] })).status).toBe(400);
  expect((await purge({ resource_types: ['messages'] })).status).toBe(204);
  expect(gateway.behind.messages('full')).toHaveLength(0);
});

it('every href works joined to the endpoint of the catalog, and resolved against the host', async () => {
  for (const version of ['v1.1', 'v2']) {
    const posted = await call('POST', `/${version}/queues/linked/messages`, {
      messages: [{ body: version }, { body: 2 }],
    });
    const { resources } = posted.json as unknown as { resources: string[] };
    const page = await call('GET', `/${version}/queues/linked/messages?echo=true&limit=1`);
    const next = page.json['links']?.[0]?.['href'] ?? '';
    const queues = await call('GET', `/${version}/queues?limit=1`);
    for (const href of [resources[0] ?? '', next, queues.json['queues']?.[0]?.['href'] ?? '']) {
      expect(href).toMatch(new RegExp(`^/${version}/`));
      for (const base of ['/messaging', '']) {
        expect((await gateway.call('GET', `${base}${href}`, undefined, client)).status).toBe(200);
      }
    }
    expect((await gateway.call('PUT', `/${version}/ping`, undefined, client)).status).toBe(405);
    expect((await gateway.call('GET', `/${version}/nothing`, undefined, client)).json).toMatchObject({
      title: 'Not found',
    });
  }
});

it('an unknown queue is empty in v2 and not found in v1', async () => {
  expect((await call('GET', '/v2/queues/nosuch')).json).toMatchObject({ _max_claim_count: null });
  expect((await call('GET', '/v2/queues/nosuch/stats')).json).toEqual({ messages: { claimed: 0, free: 0, total: 0 } });
  expect((await call('GET', '/v1.1/queues/nosuch')).json).toEqual({});
  expect((await call('GET', '/v1/queues/nosuch')).status).toBe(404);
});

it('deleted messages are not found, and more than 20 ids or names over 64 characters are refused', async () => {
  const gone = '3381af92-2b9e-81e3-b191-71861300734c';
  expect((await call('GET', `/v2/queues/work/messages?ids=${gone}`)).status).toBe(404);
  expect((await call('GET', `/v1/queues/work/messages?ids=${gone}`)).status).toBe(204);
  const many = Array.from({ length: 21 }, () => gone).join(',');
  for (const method of ['GET', 'DELETE']) {
    const { status, json } = await call(method, `/v2/queues/work/messages?ids=${many}`);
    expect([status, json['description']]).toEqual([400, expect.stringContaining('at most 20')]);
  }
  const long = 'q'.repeat(65);
  expect((await call('PUT', `/v2/queues/${long}`)).status).toBe(400);
  expect((await call('POST', `/v2/queues/${long}/messages`, { messages: [{ body: 1 }] })).status).toBe(400);
  expect((await call('PUT', `/v2/queues/${'q'.repeat(64)}`)).status).toBe(201);
});

it('v1 answers with lists, needs no Client-ID, and answers 204 for empty results', async () => {
  const v1 = (method: string, path: string, body?: unknown) => call(method, `/v1${path}`, body, {});
  expect((await v1('GET', '/queues/old/messages')).status).toBe(204);
  const posted = await v1('POST', '/queues/old/messages', [{ ttl: 60, body: 'a' }]);
  expect([posted.status, posted.json['partial']]).toEqual([201, false]);
  expect((await v1('GET', '/queues/old')).status).toBe(204);
  expect((await v1('PUT', '/queues/old/metadata', { k: 1 })).status).toBe(204);
  expect((await v1('GET', '/queues/old/metadata')).json).toEqual({ k: 1 });
  const claimed = await v1('POST', '/queues/old/claims', { ttl: 60, grace: 60 });
  const [message] = claimed.json as unknown as Record<string, unknown>[];
  expect(Object.keys(message ?? {}).sort()).toEqual(['age', 'body', 'href', 'ttl']);
  expect((await v1('POST', '/queues/old/claims', { ttl: 60, grace: 60 })).status).toBe(204);
});

it('the API serves its versions, home documents and pings', async () => {
  const versions = await call('GET', '', undefined, { 'x-auth-token': '' });
  expect([versions.status, versions.text.includes('"2"')]).toEqual([300, true]);
  for (const version of ['v1', 'v1.1', 'v2']) {
    expect((await call('GET', `/${version}/ping`)).status).toBe(204);
    expect((await call('GET', `/${version}`)).headers.get('content-type')).toContain('json-home');
  }
});

describe('a waiting claim', () => {
  it('C1: is answered as soon as a message arrives', async () => {
    const began = performance.now();
    const waiting = call('POST', '/v2/queues/later/claims?wait=20', { ttl: 60, grace: 60 });
    await call('POST', '/v2/queues/later/messages', { messages: [{ body: 'now' }] });
    const { status, json } = await waiting;
    expect([status, json['messages']?.[0]?.['body']]).toEqual([201, 'now']);
    // Before the wait ends.
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  it('is answered with an empty list when its time is over', async () => {
    expect((await call('POST', '/v2/queues/never/claims?wait=0.05', { ttl: 60, grace: 60 })).status).toBe(204);
    expect((await call('POST', '/v2/queues/never/claims?wait=soon', { ttl: 60, grace: 60 })).status).toBe(400);
  });

  it('lasts longer for a host without a proxy in between', async () => {
    const other = await startTestGateway({ ANNEAL_GATEWAY_MAX_WAIT_SECONDS: '0' });
    const claim = (headers: Record<string, string>) =>
      other.call('POST', `/messaging/v2/queues/${host.name}/claims?wait=300`, { ttl: 60, grace: 60 }, headers);
    const direct = claim(asHost);
    for (const proxy of [{ 'x-forwarded-for': '192.0.2.1' }, { forwarded: 'for=192.0.2.1' }, { via: '1.1 proxy' }])
      expect((await claim({ ...asHost, ...proxy })).status).toBe(204);
    await other.behind.post(host.requests_queue, { id: 'req-1', body: 'x' });
    expect((await direct).status).toBe(201);
    await other.stop();
  });

  it('lasts for a host as long as the setting says', async () => {
    const other = await startTestGateway({ ANNEAL_GATEWAY_HOST_WAIT_SECONDS: '0' });
    const path = `/messaging/v2/queues/${host.name}/claims?wait=300`;
    expect((await other.call('POST', path, { ttl: 60, grace: 60 }, asHost)).status).toBe(204);
    await other.stop();
  });

  it('C3: ends when the gateway stops', async () => {
    const other = await startTestGateway();
    const waiting = other.call('POST', '/messaging/v2/queues/never/claims?wait=30', { ttl: 60, grace: 60 }, client);
    // The gateway answers the ping after the claim has arrived, because one event loop handles both in order.
    await other.call('GET', '/messaging/v2/ping', undefined, client);
    await other.stop();
    expect((await waiting.catch(() => ({ status: 204 }))).status).toBeLessThan(600);
  });
});

describe('a host', () => {
  const request = { id: 'req-1', body: 'x' };

  it('claims from its own queue and posts under each name of the queue', async () => {
    for (const name of [
      host.requests_queue,
      host.name,
      host.host_id,
      `${host.name}.requests`,
      `${host.host_id}.requests`,
    ]) {
      await gateway.behind.post(host.requests_queue, request);
      const claimed = await call('POST', `/v2/queues/${name}/claims?limit=1`, { ttl: 60, grace: 60 }, asHost);
      expect(claimed.status).toBe(201);
      const href = claimed.json['messages']?.[0]?.['href'] ?? '';
      expect((await gateway.call('DELETE', href, undefined, asHost)).status).toBe(204);
    }
    for (const name of [host.responses_queue, host.name, host.host_id, `${host.name}.responses`]) {
      const before = gateway.behind.messages(host.responses_queue).length;
      const posted = await call(
        'POST',
        `/v2/queues/${name}/messages`,
        { messages: [{ ttl: 600, body: { hello: true } }] },
        asHost,
      );
      expect(posted.status).toBe(201);
      expect(gateway.behind.messages(host.responses_queue)).toHaveLength(before + 1);
    }
  });

  it('answers a request by the name of a queue when its answer has no id, as heat-config-notify does', async () => {
    const id = '3381af92-2b9e-81e3-b191-71861300734c';
    const answer = (name: string) =>
      call(
        'POST',
        `/v1.1/queues/${name}/messages`,
        { messages: [{ ttl: 600, body: { deploy_status_code: 0 } }] },
        asHost,
      );
    expect((await answer(`answer-${id}`)).status).toBe(201);
    expect(gateway.behind.messages(host.responses_queue).at(-1)).toMatchObject({ body: { deploy_status_code: 0, id } });
    expect((await answer('answer-..')).status).toBe(403);
    expect((await call('POST', `/v2/queues/answer-${id}/claims`, { ttl: 60, grace: 60 }, asHost)).status).toBe(403);
  });

  it('may not do anything else', async () => {
    const refusals = await Promise.all([
      call('POST', '/v2/queues/other/claims', { ttl: 60, grace: 60 }, asHost),
      call('POST', `/v2/queues/${host.responses_queue}/claims`, { ttl: 60, grace: 60 }, asHost),
      call('GET', `/v2/queues/${host.responses_queue}/messages`, undefined, asHost),
      call('POST', `/v2/queues/${host.requests_queue}/messages`, { messages: [{ body: 1 }] }, asHost),
      call('POST', '/v2/queues/serv2/messages', { messages: [{ body: 1 }] }, asHost),
      call('DELETE', `/v2/queues/${host.requests_queue}`, undefined, asHost),
      call('PUT', '/v2/queues/mine', undefined, asHost),
      call('GET', '/v2/queues', undefined, asHost),
      gateway.call('GET', `/orchestration/v1/${host.project}/stacks`, undefined, asHost),
      gateway.call('GET', '/baremetal/v1/nodes', undefined, asHost),
      gateway.call('GET', '/api/v1/hosts', undefined, asHost),
      gateway.call('GET', '/identity/v3/projects', undefined, asHost),
    ]);
    expect(refusals.map(({ status }) => status)).toEqual(refusals.map(() => 403));
  });

  it('gets one message at a time, and the next when the first is deleted', async () => {
    await gateway.behind.post(host.requests_queue, { n: 1 });
    await gateway.behind.post(host.requests_queue, { n: 2 });
    const take = () => call('POST', `/v2/queues/${host.name}/claims?limit=10`, { ttl: 60, grace: 60 }, asHost);
    const first = await take();
    expect(first.json['messages']).toHaveLength(1);
    expect((await take()).status).toBe(204);
    await gateway.call('DELETE', first.json['messages']?.[0]?.['href'] ?? '', undefined, asHost);
    const second = await take();
    expect(second.json['messages']?.[0]?.['body']).toEqual({ n: 2 });
    await gateway.call('DELETE', second.json['messages']?.[0]?.['href'] ?? '', undefined, asHost);
  });
});
