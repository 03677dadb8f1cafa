import { connect, type Socket } from 'node:net';
import { answer, routeMessages } from '@anneal/bus/consume/route.ts';
import type { Consumer } from '@anneal/bus/port.ts';
import { eventLog } from '@anneal/contracts/calls/event-log.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { eventKept, hostEvent } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import Fastify from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { Upgrades } from '../../http/upgrades.ts';
import { createStreamPlaces } from '../../http/stream-places.ts';
import { createEventSockets } from './event-socket.ts';
import { login, project, startTestGateway, type TestGateway } from '../../testing/test-gateway.ts';

let gateway: TestGateway;
let notification: Consumer;
const log: Envelope[] = [];
const filters: unknown[] = [];
beforeAll(async () => {
  gateway = await startTestGateway({ ANNEAL_GATEWAY_HEARTBEAT_MS: '100', ANNEAL_GATEWAY_MAX_STREAMS: '3' });
  const { context } = gateway;
  notification = await context.bus.consume(
    requestsQueue('notification'),
    routeMessages([
      answer(context, eventLog, async ({ data: { after, limit, ...filter } }) => {
        filters.push(filter);
        // These events are all of hosts.
        if (filter.types[0] === 'node.#') return { events: [], cursor: log.at(-1)?.id, position: log.length };
        if (after === undefined) return { events: log.slice(-limit) };
        const from = log.findIndex(({ id }) => id === after) + 1;
        const gap = from === 0 && after !== 'beginning' && { after, oldest: log[0]?.time ?? null };
        return { events: log.slice(from, from + limit), position: log.length, ...(gap && { gap }) };
      }),
    ]),
  );
});
const opened: Follower[] = [];
afterEach(async () => {
  for (const { socket } of opened.splice(0)) {
    if (socket.readyState === WebSocket.CLOSED) continue;
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.terminate();
    await closed;
  }
});
afterAll(async () => {
  await notification.stop();
  await gateway.stop();
});

async function happen(facts: Record<string, string> = {}): Promise<string> {
  const { mint, bus } = gateway.context;
  const data = {
    origin: unknownOrigin(),
    host_id: 'h',
    name: 'h',
    status: 'up' as const,
    facts,
    version: log.length + 1,
  };
  const event = mint(hostEvent.up, { project, subject: 'h', data });
  log.push(event);
  await bus.publish([mint(eventKept, { data: { project }, project })]);
  return event.id;
}

interface Follower {
  readonly socket: WebSocket;
  readonly ids: string[];
  readonly types: string[];
  readonly positions: string[];
  pings: number;
  /** Code and reason of the close, or the status of a refusal with its body. */
  end?: readonly [number, string];
}

function follow(path: string, headers: Record<string, string> = {}, protocols: string[] = []): Follower {
  const address = `${gateway.url.replace('http', 'ws')}${path}`;
  const socket = new WebSocket(address, protocols, { headers: { 'x-auth-token': gateway.token, ...headers } });
  const follower: Follower = { socket, ids: [], types: [], positions: [], pings: 0 };
  opened.push(follower);
  socket.on('message', (text: Buffer) => {
    const { id, type } = JSON.parse(text.toString()) as Envelope;
    if (type === 'events.position') {
      follower.positions.push(id);
      return;
    }
    follower.ids.push(id);
    follower.types.push(type);
  });
  socket.on('ping', () => (follower.pings += 1));
  socket.on('error', () => undefined);
  socket.on('close', (code, reason) => (follower.end ??= [code, reason.toString()]));
  socket.on('unexpected-response', (_request, response) => {
    let body = '';
    response.on('data', (chunk: Buffer) => (body += chunk.toString()));
    response.on('end', () => (follower.end = [response.statusCode ?? 0, body]));
  });
  return follower;
}
const open = (follower: Follower): Promise<true> =>
  eventually(() => (follower.socket.readyState === WebSocket.OPEN ? true : undefined), {
    what: 'the socket being open',
    last: () => follower.end,
  });
const ended = (follower: Follower): Promise<readonly [number, string]> =>
  eventually(() => follower.end, { what: 'the end of the socket' });
const path = '/api/v1/events/ws';

describe('the WebSocket of events', () => {
  it('sends each event as a CloudEvent as it is stored, and pings between events', async () => {
    await happen();
    const follower = follow(path, {}, ['cloudevents.json']);
    await open(follower);
    expect(follower.socket.protocol).toBe('cloudevents.json');
    await eventually(() => (follower.pings > 1 ? true : undefined));
    const ids = [await happen(), await happen()];
    await eventually(() => (follower.ids.length === 2 ? true : undefined));
    expect(follower.ids).toEqual(ids);
  });

  it('begins with the position, so that a reader that is cut off before its first event misses none', async () => {
    const newest = await happen();
    const first = follow(path);
    await eventually(() => (first.positions.length > 0 ? true : undefined));
    expect(first.positions).toEqual([newest]);
    first.socket.terminate();
    const missed = await happen();
    const second = follow(`${path}?after=${first.positions[0]}`);
    await eventually(() => (second.ids.length > 0 ? true : undefined));
    expect([second.ids, second.positions]).toEqual([[missed], []]);
  });

  it('names its position when events pass that the filter does not want', async () => {
    const follower = follow(`${path}?types=node.%23&after=${await happen()}`);
    await open(follower);
    const passed = await happen();
    await eventually(() => (follower.positions.includes(passed) ? true : undefined));
    expect(follower.ids).toEqual([]);
  });

  it('continues after an id without a gap, and takes the filters of the other doors', async () => {
    const first = await happen();
    const missed: string[] = [];
    for (let count = 0; count < 250; count += 1) missed.push(await happen());
    const follower = follow(`${path}?types=host.%23&stack=web&after=${first}`);
    await eventually(() => (follower.ids.length >= 250 ? true : undefined));
    expect(follower.ids).toEqual(missed);
    expect(filters.at(-1)).toMatchObject({ project, types: ['host.#'], filters: [{ exact: { stack: 'web' } }] });
    const header = follow(path, { 'last-event-id': missed[247] ?? '' });
    await eventually(() => (header.ids.length >= 2 ? true : undefined));
    expect(header.ids).toEqual(missed.slice(248));
  });

  it('begins with a report of a gap, and again when the reader continues after it', async () => {
    const only = await happen();
    const follower = follow(`${path}?after=removed`);
    await eventually(() => (follower.ids.includes(only) ? true : undefined));
    expect([follower.types[0], follower.ids[0]]).toEqual(['events.gap', 'removed']);
    expect(follower.types.filter((type) => type === 'events.gap')).toHaveLength(1);
  });

  it('refuses before the handshake: without a token, with unknown fields, and above the limit', async () => {
    expect((await ended(follow(path, { 'x-auth-token': 'wrong' })))[0]).toBe(401);
    const [status, body] = await ended(follow(`${path}?tpyes=x`));
    expect([status, body]).toEqual([400, expect.stringContaining('tpyes')]);
    expect(await raw(upgradeOf({ version: '7' }))).toMatch(/^HTTP\/1.1 400 /);
    expect(await raw(upgradeOf({ key: 'short' }))).toMatch(/^HTTP\/1.1 400 /);
    for (const follower of [follow(path), follow(path), follow(path)]) await open(follower);
    expect((await ended(follow(path)))[0]).toBe(429);
    for (const { socket } of opened) socket.terminate();
    await eventually(async () => {
      const again = follow(path);
      await eventually(() => again.end ?? (again.socket.readyState === WebSocket.OPEN ? true : undefined));
      return again.end === undefined ? true : undefined;
    });
  });

  it('answers a plain request with what is missing, and other offers to upgrade as plain requests', async () => {
    const plain = await gateway.call('GET', path);
    expect([plain.status, plain.headers.get('upgrade')]).toEqual([400, 'websocket']);
    const text = await raw(
      `GET /api/v1/info HTTP/1.1\r\nHost: anneal\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1.1 200 OK/);
    const other = await raw(
      `GET /api/v1/info HTTP/1.1\r\nHost: anneal\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
    );
    expect(other).toMatch(/^HTTP\/1.1 200 OK/);
  });

  it('opens by the session of a browser for a page of this server only', async () => {
    const { host } = new URL(gateway.url);
    const cookie = `anneal_session_${new URL(gateway.url).port}=${gateway.token}`;
    const by = (origin: string) => follow(path, { 'x-auth-token': '', cookie, origin });
    expect((await ended(by('https://evil.example')))[0]).toBe(403);
    expect((await ended(by('null')))[0]).toBe(403);
    await open(by(`http://${host}`));
  });

  it('opens with a ticket from any page, which has its own filter, and no longer when it has expired', async () => {
    const made = await gateway.call('POST', '/api/v1/events/ticket', { types: ['host.#'], stack: ['web'] });
    const { socket_path: address } = made.json as unknown as { socket_path: string };
    const headers = { 'x-auth-token': '', origin: 'https://page.example' };
    const first = await happen();
    const follower = follow(`${address}&after=beginning`, headers);
    await eventually(() => (follower.ids.includes(first) ? true : undefined));
    expect(filters.at(-1)).toMatchObject({ types: ['host.#'], filters: [{ exact: { stack: 'web' } }] });
    const [status, body] = await ended(follow(`${address}&types=node.%23`, headers));
    expect([status, body]).toEqual([400, expect.stringContaining('types')]);
    expect((await ended(follow(`${path}?ticket=events.a.b`, headers)))[0]).toBe(401);
  });

  it('closes with 4401 when the token is revoked, and no later event leaves', async () => {
    const { headers } = await gateway.call('POST', '/identity/v3/auth/tokens', login(), { 'x-auth-token': '' });
    const token = headers.get('x-subject-token') ?? '';
    const follower = follow(path, { 'x-auth-token': token });
    await open(follower);
    await eventually(() => (follower.pings > 0 ? true : undefined));
    await gateway.call('DELETE', '/identity/v3/auth/tokens', undefined, { 'x-subject-token': token });
    expect(await ended(follower)).toEqual([4401, expect.stringContaining('authentication')]);
    const seen = follower.ids.length;
    await happen();
    expect(follower.ids).toHaveLength(seen);
  });

  it('closes a client that speaks, and one that does not answer pings', async () => {
    const speaking = follow(path);
    await open(speaking);
    speaking.socket.send('hello');
    expect(await ended(speaking)).toEqual([1008, 'This stream takes no messages.']);
    const silent = await handshake();
    await eventually(() => (silent.destroyed ? true : undefined), { what: 'the end of the silent client' });
  });

  it('closes a slow reader with the event to continue after, holds little for it, and loses nothing', async () => {
    const { server, sent } = await flood(200);
    onTestFinished(() => server.close());
    const reader = new WebSocket(`${server.listeningOrigin.replace('http', 'ws')}/flood`);
    const ids: string[] = [];
    reader.on('message', (text: Buffer) => ids.push((JSON.parse(text.toString()) as Envelope).id));
    reader.once('open', () => reader.pause());
    const count = await eventually(sent.end, { what: 'the end of the stream' });
    // The buffers of the system, and not more than 256 KiB and an event of the gateway.
    expect(count).toBeGreaterThan(0);
    expect(count * itemBytes).toBeLessThan(16 * 1024 * 1024);
    const closed = new Promise<[number, string]>((resolve) =>
      reader.once('close', (code, reason) => resolve([code, reason.toString()])),
    );
    reader.resume();
    const [code, reason] = await closed;
    const last = /after=(\d+)$/.exec(reason)?.[1];
    expect(code).toBe(1013);
    // It got everything up to the named event, and may have got the next one.
    expect(Number(ids.at(-1)) - Number(last)).toBeOneOf([0, 1]);
    expect(ids).toEqual(ids.map((_, index) => String(index + 1)));
  });

  it('closes with 1001 and the event to continue after when the gateway stops', async () => {
    const follower = follow(`${path}?after=beginning`);
    await eventually(() => (follower.ids.length >= log.length ? true : undefined));
    await gateway.restart();
    const [code, reason] = await ended(follower);
    expect([code, reason]).toEqual([1001, `The server stops. Continue with after=${log.at(-1)?.id}`]);
    const missed = await happen();
    const again = follow(`${path}?after=${follower.ids.at(-1)}`);
    await eventually(() => (again.ids.length > 0 ? true : undefined));
    expect(again.ids).toEqual([missed]);
  });
});

const itemBytes = 100_000;

/** A server whose stream sends without an end, and closes a reader that takes nothing for `stuckMs`. */
async function flood(stuckMs: number) {
  const upgrades = new Upgrades(['/flood']);
  const server = Fastify({ http: { shouldUpgradeCallback: upgrades.wants } });
  upgrades.route(server);
  const stopping = new AbortController().signal;
  const sockets = createEventSockets({
    places: createStreamPlaces(1),
    upgrades,
    stopping,
    now: Date.now,
    heartbeatMs: 1_000,
    stuckMs,
  });
  let count: number | undefined;
  server.get('/flood', async (request, reply) => {
    await sockets.open({ request, reply }, async (stream) => {
      let id = 0;
      for (; !stream.signal.aborted; id += 1) {
        const item = { id: String(id + 1), text: 'x'.repeat(itemBytes) };
        await stream.send({ id: item.id, data: item });
      }
      count = id;
    });
  });
  await server.listen({ port: 0, host: '127.0.0.1' });
  return { server, sent: { end: () => count } };
}

/** The bytes of a handshake. */
const upgradeOf = ({ version = '13', key = 'dGhlIHNhbXBsZSBub25jZQ==' }): string =>
  [
    `GET ${path} HTTP/1.1`,
    `Host: ${new URL(gateway.url).host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    `Sec-WebSocket-Version: ${version}`,
    `Sec-WebSocket-Key: ${key}`,
    `X-Auth-Token: ${gateway.token}`,
    '',
    '',
  ].join('\r\n');

/** Sends bytes and reads until the end of the connection. */
function raw(bytes: string): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}

/** A client that completes the handshake and then answers nothing. */
async function handshake(): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(upgradeOf({}));
  const answered = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
  expect(answered.toString()).toMatch(/^HTTP\/1.1 101 /);
  // Ends with the connection, which the gateway destroys.
  socket.resume();
  return socket;
}
