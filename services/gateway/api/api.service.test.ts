import { hostEvent } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { Consumer } from '@anneal/bus/port.ts';
import { answer, routeMessages } from '@anneal/bus/consume/route.ts';
import { eventKept } from '@anneal/contracts/events.ts';
import { eventLog } from '@anneal/contracts/calls/event-log.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { openReplicas } from '@anneal/runtime/service/replica.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { host, hostToken } from '../testing/stand-ins.ts';
import { project, startTestGateway, type TestGateway } from '../testing/test-gateway.ts';

/** Another origin whose pages may call the API. */
const foreignPage = 'https://page.example.org';
let gateway: TestGateway;
let notification: Consumer;
const log: Envelope[] = [];
beforeAll(async () => {
  gateway = await startTestGateway({
    ANNEAL_GATEWAY_HEARTBEAT_MS: '100',
    ANNEAL_GATEWAY_MAX_STREAMS: '3',
    ANNEAL_GATEWAY_ALLOWED_ORIGINS: foreignPage,
  });
  const { context } = gateway;
  notification = await context.bus.consume(
    requestsQueue('notification'),
    routeMessages([
      answer(context, eventLog, async ({ data: { after, limit } }) => {
        if (after === undefined) return { events: log.slice(-limit) };
        const from = log.findIndex(({ id }) => id === after) + 1;
        const gap = from === 0 && after !== 'beginning' && { after, oldest: log[0]?.time ?? null };
        return { events: log.slice(from, from + limit), position: log.length, ...(gap && { gap }) };
      }),
    ]),
  );
});
afterAll(async () => {
  await notification.stop();
  await gateway.stop();
});

async function happen(): Promise<string> {
  const { mint, bus } = gateway.context;
  const event = mint(hostEvent.up, {
    project,
    subject: 'h',
    data: { origin: unknownOrigin(), host_id: 'h', name: 'h', status: 'up', facts: {}, version: log.length + 1 },
  });
  log.push(event);
  await bus.publish([mint(eventKept, { data: { project }, project })]);
  return event.id;
}

interface Followed {
  ids: string[];
  text: () => string;
  opened: Promise<void>;
  leave: () => void;
}

function follow(path: string, headers: Record<string, string> = {}): Followed {
  const leaving = new AbortController();
  let text = '';
  const ids: string[] = [];
  const opened = (async () => {
    const response = await fetch(`${gateway.url}${path}`, {
      signal: leaving.signal,
      headers: { accept: 'text/event-stream', 'x-auth-token': gateway.token, ...headers },
    });
    if (!response.body || response.status !== 200) throw new Error(`answered ${response.status}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    void (async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        text += value;
        const events = text.split('\n\n').filter((item) => !item.startsWith('event: position'));
        ids.splice(0, ids.length, ...events.flatMap((item) => /^id: (.+)$/m.exec(item)?.[1] ?? []));
      }
    })().catch(() => undefined);
  })();
  return { ids, text: () => text, opened, leave: () => leaving.abort() };
}

describe('the event stream', () => {
  it('sends each event as it is stored, and heartbeats between events', async () => {
    await happen();
    const stream = follow('/api/v1/events');
    await stream.opened;
    // More than arrive within a minute at the default interval.
    await eventually(() => stream.text().split(': still here').length > 5);
    const ids = [await happen(), await happen()];
    await eventually(() => (stream.ids.length === 2 ? true : undefined));
    expect(stream.ids).toEqual(ids);
    stream.leave();
  });

  it('continues after Last-Event-ID without a gap', async () => {
    const first = await happen();
    const missed: string[] = [];
    for (let count = 0; count < 250; count += 1) missed.push(await happen());
    const stream = follow('/api/v1/events?after=beginning', { 'last-event-id': first });
    await eventually(() => (stream.ids.length >= 250 ? true : undefined));
    expect(stream.ids).toEqual(missed);
    stream.leave();
  });

  it('begins with a report of the gap when the log has removed the event to start after', async () => {
    const only = await happen();
    const stream = follow('/api/v1/events', { 'last-event-id': 'removed' });
    await eventually(() => (stream.ids.includes(only) ? true : undefined));
    const [, first = ''] = stream.text().split('\n\n');
    expect(first).toBe(`event: gap\ndata: ${JSON.stringify({ after: 'removed', oldest: log[0]?.time })}`);
    expect(stream.text().match(/event: gap/g)).toHaveLength(1);
    stream.leave();
    const page = await gateway.call('GET', '/api/v1/events?after=removed&limit=1');
    expect(page.json).toMatchObject({ events: [{ id: log[0]?.id }], gap: { after: 'removed' } });
    const known = await gateway.call('GET', `/api/v1/events?after=${only}`);
    expect(known.json).toEqual({ events: [] });
  });

  it('is limited in number, and a reader that disconnects frees a place', async () => {
    const streams = [1, 2, 3].map(() => follow('/api/v1/events'));
    await Promise.all(streams.map(({ opened }) => opened));
    const refused = await gateway.call('GET', '/api/v1/events', undefined, { accept: 'text/event-stream' });
    expect([refused.status, refused.json['error']?.['code']]).toEqual([429, 'LimitReached']);
    for (const stream of streams) stream.leave();
    await eventually(async () => {
      const again = follow('/api/v1/events');
      const opened = await again.opened.then(
        () => true,
        () => undefined,
      );
      again.leave();
      return opened;
    });
  });

  it('begins with its position when the reader names no start, so that an early break loses nothing', async () => {
    const newest = await happen();
    const stream = follow('/api/v1/events');
    const position = `event: position\nid: ${newest}\ndata: {"after":"${newest}"}\n`;
    await eventually(() => (stream.text().includes(position) ? true : undefined), { last: stream.text });
    stream.leave();
  });

  it('is readable for a page of an allowed origin', async () => {
    const leaving = new AbortController();
    const { status, headers } = await fetch(`${gateway.url}/api/v1/events`, {
      signal: leaving.signal,
      headers: { accept: 'text/event-stream', origin: foreignPage, 'x-auth-token': gateway.token },
    });
    leaving.abort();
    expect([status, headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([
      200,
      foreignPage,
      'Origin',
    ]);
  });

  it('names the time after which a reader reconnects', async () => {
    const stream = follow('/api/v1/events');
    await eventually(() => (stream.text().includes('\n\n') ? true : undefined));
    expect(stream.text()).toMatch(/^retry: \d+$/m);
    stream.leave();
  });

  it('opens with a ticket in the address, without a header, until the ticket expires', async () => {
    const made = await gateway.call('POST', '/api/v1/events/ticket', {
      types: ['host.#'],
      stack: ['web'],
      seconds: 60,
    });
    expect(made.status).toBe(201);
    const { path, ticket } = made.json as unknown as { path: string; ticket: string };
    const first = await happen();
    const stream = follow(`${path}&after=beginning`, { 'x-auth-token': '' });
    await eventually(() => (stream.ids.includes(first) ? true : undefined));
    stream.leave();
    const refusal = async (text: string) => {
      const refused = await fetch(`${gateway.url}/api/v1/events/stream?ticket=${text}`);
      return [refused.status, JSON.stringify(await refused.json()).includes(text)];
    };
    const [kind = '', body = '', mac = ''] = ticket.split('.');
    expect(JSON.parse(Buffer.from(body, 'base64url').toString())).toMatchObject({
      project,
      types: ['host.#'],
      filters: [{ exact: { stack: 'web' } }],
    });
    const other = Buffer.from(Buffer.from(body, 'base64url').toString().replace('web', 'abc')).toString('base64url');
    expect(await refusal(`${kind}.${other}.${mac}`)).toEqual([401, false]);
    expect(await refusal('events.abc')).toEqual([401, false]);
    // It is no token for anything else.
    const listed = await gateway.call('GET', '/api/v1/events', undefined, { 'x-auth-token': ticket });
    expect(listed.status).toBe(401);
    const short = await gateway.call('POST', '/api/v1/events/ticket', { seconds: 1 });
    const { ticket: expiring } = short.json as unknown as { ticket: string };
    await eventually(async () => {
      const waiting = new AbortController();
      const answered = await fetch(`${gateway.url}/api/v1/events/stream?ticket=${expiring}`, {
        signal: waiting.signal,
      });
      waiting.abort();
      return answered.status === 401;
    });
    const wrong = await gateway.call('POST', '/api/v1/events/ticket', { seconds: 0, tpyes: ['#'] });
    expect(wrong.status).toBe(400);
  });

  it('is a page of JSON for a client that does not request a stream', async () => {
    const { json } = await gateway.call('GET', '/api/v1/events?limit=2');
    expect(json['events']).toHaveLength(2);
    const bad = await gateway.call('GET', '/api/v1/events?limit=0');
    expect([bad.status, bad.json['error']?.['mistakes']]).toMatchObject([400, [{ path: 'limit' }]]);
  });
});

describe('queues', () => {
  it('of services, hosts and users are listed together', async () => {
    await gateway.behind.post(host.requests_queue, { n: 1 });
    await gateway.behind.post('mine', { n: 1 });
    const { json } = await gateway.call('GET', '/api/v1/queues');
    const rows = json['queues'] as unknown as { name: string; kind: string; depth: number }[];
    const row = (name: string) => rows.find((each) => each.name === name);
    expect(row('anneal.scheduling.requests')).toMatchObject({ kind: 'service', depth: 0, consumers: 1 });
    expect(row(host.requests_queue)).toMatchObject({ kind: 'host', depth: 1, consumers: null });
    expect(row('mine')).toMatchObject({ kind: 'user', depth: 1 });
    expect((await gateway.call('GET', `/api/v1/queues/${host.requests_queue}/messages`)).json).toMatchObject({
      messages: [{ body: { n: 1 } }],
    });
  });

  it('are refused when they do not exist, with the nearest existing name', async () => {
    await gateway.behind.post('observed', { n: 0 });
    for (const [name, nearest] of [
      ['obsevred', 'observed'],
      ['anneal.scheduling.request', 'anneal.scheduling.requests'],
      [`${host.requests_queue}s`, host.requests_queue],
      [`${host.name}.request`, `${host.name}.requests`],
      [`${host.name}.respones`, `${host.name}.responses`],
      [`${host.name}x`, host.name],
    ] as const) {
      for (const path of ['watch', 'messages']) {
        const { status, text } = await gateway.call('GET', `/api/v1/queues/${name}/${path}`);
        expect(status).toBe(404);
        expect(text).toContain(`The nearest name is ${nearest}.`);
      }
    }
  });

  it('take messages, show how many they hold, and are purged; those of services refuse both', async () => {
    const body = { messages: [{ body: { job: 1 } }, { body: 'text', ttl: 600 }] };
    const path = '/api/v1/queues/published/messages';
    expect(await gateway.call('POST', path, body)).toMatchObject({ status: 201 });
    expect((await gateway.call('GET', '/api/v1/queues/published')).json).toMatchObject({ kind: 'user', depth: 2 });
    expect((await gateway.call('DELETE', path)).status).toBe(204);
    expect((await gateway.call('GET', '/api/v1/queues/published')).json).toMatchObject({ depth: 0 });
    for (const method of ['POST', 'DELETE'] as const) {
      const refused = await gateway.call(
        method,
        '/api/v1/queues/anneal.scheduling.requests/messages',
        method === 'POST' ? body : undefined,
      );
      expect([refused.status, refused.text]).toMatchObject([403, expect.stringContaining('work in progress')]);
    }
    expect((await gateway.call('DELETE', '/api/v1/queues/publishd/messages')).text).toContain('published');
  });

  it('can be watched with masked secrets', async () => {
    await gateway.call('PUT', '/messaging/v1/queues/watched', undefined, {});
    const stream = follow('/api/v1/queues/watched/watch');
    await gateway.behind.post('watched', { password: gateway.context.secrets.seal('hush') });
    const again = follow('/api/v1/queues/watched/watch');
    await again.opened;
    await gateway.behind.post('watched', { n: 2 });
    await eventually(() => (again.ids.length === 2 ? true : undefined), { last: () => again.text() });
    expect(again.text()).toContain('******');
    again.leave();
    stream.leave();
    await stream.opened.catch(() => undefined);
  });

  it('have dead letters that can be read, replayed and purged', async () => {
    const { bus, mint } = gateway.context;
    // No consumer of the requests queue knows this type, so it becomes a dead letter at once.
    await bus.send({ queue: requestsQueue('provisioning'), messages: [mint(eventKept, { data: { project } })] });
    const letter = await eventually(async () => {
      const { json } = await gateway.call('GET', `/api/v1/dead-letters?queue=${requestsQueue('provisioning')}`);
      return (json['dead_letters'] as unknown as { id: string; message: { type: string } }[])[0];
    });
    expect(letter.message.type).toBe('event.kept');
    const path = `/api/v1/dead-letters/${encodeURIComponent(letter.id)}`;
    expect((await gateway.call('GET', path)).json).toMatchObject({ failure: { code: 'InvalidMessage' } });
    const masked = await gateway.call('POST', `${path}/replay`, { data: { a: [{ b: '******' }] } });
    expect(masked).toMatchObject({ status: 400, json: { error: { mistakes: [{ path: 'data.a.0.b' }] } } });
    const listed = await gateway.call('POST', `${path}/replay`, { data: ['a'] });
    expect(listed.status).toBe(400);
    const replayed = await gateway.call('POST', `${path}/replay`, { wait: 20 });
    expect(replayed).toMatchObject({
      status: 202,
      json: { id: letter.id, outcome: 'died', failure: { code: 'InvalidMessage' } },
    });
    const again = `/api/v1/dead-letters/${encodeURIComponent(replayed.json['dead_letter'] ?? '')}`;
    expect((await gateway.call('GET', again)).json).toMatchObject({
      attempts: 2,
      replays: 1,
      history: [{}, { error: 'Replayed after 1 attempt.' }, {}],
      message: { type: 'event.kept' },
    });
    expect((await gateway.call('POST', `${again}/replay`)).json).toMatchObject({ outcome: 'sent' });
    const last = await eventually(async () => {
      const { json } = await gateway.call('GET', '/api/v1/dead-letters');
      return (json['dead_letters'] as unknown as { id: string }[])[0];
    });
    expect((await gateway.call('DELETE', `/api/v1/dead-letters/${encodeURIComponent(last.id)}`)).status).toBe(204);
    expect((await gateway.call('GET', '/api/v1/dead-letters/none')).status).toBe(404);
  });

  it('are not all purged when the queue parameter is missing', async () => {
    for (const query of ['', '?', '?all=false', '?all=1', '?queue=']) {
      expect((await gateway.call('DELETE', `/api/v1/dead-letters${query}`)).status).toBe(400);
    }
    const queue = encodeURIComponent(requestsQueue('provisioning'));
    expect((await gateway.call('DELETE', `/api/v1/dead-letters?queue=${queue}`)).json).toEqual({ purged: 0 });
    expect((await gateway.call('DELETE', '/api/v1/dead-letters?all=true')).status).toBe(200);
  });
});

it('the server reports its version and the health of its services', async () => {
  const info = await gateway.call('GET', '/api/v1/info', undefined, { 'x-auth-token': '' });
  expect(info.json).toMatchObject({
    name: 'anneal',
    links: { identity: `${gateway.url}/identity/v3` },
    limits: { body_bytes: 1_048_576 },
  });
  const { json } = await gateway.call('GET', '/api/v1/services');
  expect(json['services']).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({ name: 'configuration', status: 'up' }),
      expect.objectContaining({ name: 'gateway', status: 'up', consumers: 1 }),
    ]),
  );
  expect((await gateway.call('GET', '/api/v1/hosts')).json).toMatchObject({ hosts: [{ id: host.host_id }] });
});

it('pages of users and projects are searched, sorted and counted, and show no password', async () => {
  for (const name of ['zoe', 'ann', 'bob']) {
    const user = { name, password: 'a long password', enabled: name !== 'bob', description: `the ${name} of tests` };
    expect((await gateway.call('POST', '/identity/v3/users', { user })).status).toBe(201);
    const made = { name: `${name}-project`, description: 'for tests' };
    expect((await gateway.call('POST', '/identity/v3/projects', { project: made })).status).toBe(201);
  }
  const names = async (path: string) => {
    const { json, text } = await gateway.call('GET', path);
    expect(text).not.toMatch(/hash|salt|grants/);
    const rows = (json['users'] ?? json['projects']) as unknown as { name: string }[];
    return { names: rows.map(({ name }) => name), total: json['total'], found: json['found'] };
  };
  expect(await names('/api/v1/users?limit=2')).toEqual({ names: ['admin', 'ann'], total: 4, found: 4 });
  expect(await names('/api/v1/users?find=tests&sort=name&descending=true&offset=1')).toEqual({
    names: ['bob', 'ann'],
    total: 4,
    found: 3,
  });
  expect(await names('/api/v1/users?find=disabled')).toEqual({ names: ['bob'], total: 4, found: 1 });
  expect((await names('/api/v1/users?sort=status')).names[0]).toBe('bob');
  expect(await names('/api/v1/projects?find=for+tests&limit=1&offset=2')).toEqual({
    names: ['zoe-project'],
    total: 4,
    found: 3,
  });
  expect((await gateway.call('GET', '/api/v1/users?sort=password')).status).toBe(400);
});

it('each service lists its replicas: health, version and shards, and counts those that do not report', async () => {
  const documents = await openReplicas(gateway.context.store);
  const process_ = { machine: 'box', pid: 7, started_at: '2026-01-01T00:00:00.000Z', problems: {}, shards: [] };
  await documents.insert({ ...process_, id: 'one', services: ['scheduling'], release: '1.0.0', shards: [0, 2] });
  await documents.insert({
    ...process_,
    id: 'two',
    services: ['scheduling', 'configuration'],
    release: '1.1.0',
    started_at: '2026-01-02T00:00:00.000Z',
    problems: { scheduling: 'its shards are not open', configuration: 'it has not started yet' },
  });
  const shown = await eventually(async () => {
    const { json } = await gateway.call('GET', '/api/v1/services');
    const services = json['services'] as unknown as { name: string; replicas: { id: string }[]; unreported: number }[];
    const named = new Map(services.map((each) => [each.name, each]));
    return named.get('scheduling')?.replicas.length === 2 ? named : undefined;
  });
  expect(shown.get('scheduling')).toMatchObject({
    unreported: 0,
    replicas: [
      { id: 'one', machine: 'box', pid: 7, version: '1.0.0', status: 'ready', reason: '', shards: [0, 2] },
      { id: 'two', version: '1.1.0', status: 'degraded', reason: 'scheduling: its shards are not open' },
    ],
  });
  expect(shown.get('configuration')?.replicas).toMatchObject([{ reason: 'configuration: it has not started yet' }]);
  expect(shown.get('templating')).toMatchObject({ replicas: [], unreported: 1 });
});

it('the AsyncAPI document is complete, and needs no token', async () => {
  const { json } = await gateway.call('GET', '/api/v1/asyncapi.json', undefined, { 'x-auth-token': '' });
  expect(json).toMatchObject({ asyncapi: '3.0.0', servers: { rabbitmq: {}, nats: {} } });
  expect(JSON.stringify(json)).not.toMatch(/"\$ref":"[^#]/);
});

it('the OpenAPI document describes every route', async () => {
  const { json } = await gateway.call('GET', '/api/v1/openapi.json', undefined, { 'x-auth-token': '' });
  expect(json).toMatchObject({ openapi: '3.1.0' });
  const paths = json['paths'] as unknown as Record<string, Record<string, { responses: object }>>;
  for (const path of [
    '/hosts',
    '/queues/{queue}/watch',
    '/dead-letters/{id}/replay',
    '/events',
    '/subscriptions/{id}/deliveries',
  ]) {
    expect(Object.keys(paths)).toContain(path);
  }
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(methods)) {
      expect(Object.keys(responses).length, `${method} ${path}`).toBeGreaterThan(1);
      const { status } = await gateway.call(
        method.toUpperCase(),
        `/api/v1${path.replaceAll(/\{\w+\}/g, 'x')}`,
        undefined,
        {
          'x-auth-token': 'wrong',
        },
      );
      // A signature proves a confirmation, and the address of a wait is a permission of its own. These are wrong.
      const open =
        path.endsWith('/confirm') || ['/hooks/{token}', '/events/stream'].includes(path)
          ? 400
          : path.startsWith('/hooks/')
            ? 403
            : 401;
      expect(status, `${method} ${path}`).toBe(path === '/info' ? 200 : open);
    }
  }
});

describe('nodes', () => {
  it('are enrolled, shown, listed and powered in Ironic’s terms', async () => {
    const made = await gateway.call('POST', '/baremetal/v1/nodes', {
      name: 'rack1',
      driver: 'redfish',
      driver_info: { redfish_address: 'http://127.0.0.1:1', redfish_password: 'secret' },
    });
    expect(made.status).toBe(201);
    expect(made.headers.get('x-openstack-ironic-api-maximum-version')).toBeTruthy();
    expect(made.json).toMatchObject({
      name: 'rack1',
      provision_state: 'enroll',
      power_state: null,
      instance_uuid: null,
    });
    expect(made.text).not.toContain('secret');
    const uuid = made.json['uuid'];
    expect((await gateway.call('GET', '/baremetal/v1/nodes/rack1')).json).toMatchObject({ uuid });
    const unnamed = { driver: 'redfish', driver_info: { redfish_address: 'http://127.0.0.1:9' } };
    for (const name of ['a b', 'ä', 'a/b']) {
      expect((await gateway.call('POST', '/baremetal/v1/nodes', { ...unnamed, name })).status).toBe(400);
      const patch = [{ op: 'replace', path: '/name', value: name }];
      expect((await gateway.call('PATCH', '/baremetal/v1/nodes/n1', patch)).status).toBe(400);
    }
    expect((await gateway.call('GET', '/baremetal/v1/nodes?fields=uuid,name')).json).toEqual({
      nodes: [{ uuid, name: 'rack1', links: expect.any(Array) }],
    });
    expect((await gateway.call('PUT', '/baremetal/v1/nodes/rack1/states/power', { target: 'power on' })).status).toBe(
      202,
    );
    expect((await gateway.call('GET', '/baremetal/v1/nodes/rack1/states')).json).toMatchObject({
      target_power_state: 'power on',
    });
    const bad = await gateway.call('PUT', '/baremetal/v1/nodes/rack1/states/power', { target: 'explode' });
    expect(JSON.parse(bad.json['error_message'] ?? '{}')).toMatchObject({
      faultcode: 'Client',
      code: 'InvalidRequest',
    });
    expect((await gateway.call('GET', '/baremetal/v1/nodes/nope')).status).toBe(404);
  });
});

describe('booting', () => {
  const none = { 'x-auth-token': '' };

  it('serves a document without secrets, exchanges the secret for the seed, and accepts the report with its token', async () => {
    const loaded = await gateway.call('GET', '/boot/v1/right-secret', undefined, none);
    expect(loaded.json).toEqual({ format: 2, purpose: 'deploy', node: 'machine-1' });
    const key = 'a key of 16 letters';
    const seed = await gateway.call('POST', '/boot/v1/right-secret/exchange', { key }, none);
    expect(seed.json).toMatchObject({ format: 1, purpose: 'deploy', token: hostToken });
    const token = { 'x-auth-token': 'report-token' };
    const report = await gateway.call('POST', '/boot/v1/report', { status: 'cleaned' }, token);
    expect(report.status).toBe(204);
    expect(gateway.behind.reports.at(-1)).toEqual({ token: 'report-token', status: 'cleaned', message: '' });
  });

  it('refuses an exchange without a key of the machine', async () => {
    for (const body of [{}, { key: 'short' }, { key: 7 }]) {
      const refused = await gateway.call('POST', '/boot/v1/right-secret/exchange', body, none);
      expect(refused).toMatchObject({ status: 400, json: { error: { code: 'InvalidRequest' } } });
    }
  });

  it('slows down guesses', async () => {
    const statuses: number[] = [];
    for (let guess = 0; guess < 25; guess += 1) {
      statuses.push((await gateway.call('GET', `/boot/v1/guess-${guess}`)).status);
    }
    expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 404));
    expect(statuses).toContain(429);
  });
});

it('an unknown address is 404 with the address of the list of endpoints', async () => {
  const { status, json } = await gateway.call('GET', '/nothing/here');
  expect([status, json['error']?.['code']]).toEqual([404, 'NotFound']);
});
