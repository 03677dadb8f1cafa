import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { openConnection } from './connection.ts';
import { followStream } from './stream.ts';

useQuickClock({ stepMs: 20 });

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
});

interface Seen {
  logins: number;
  requests: { method: string; path: string; token: string; last: string | undefined; key: string | undefined }[];
}

/** A gateway that accepts the newest token only; `answer` returns its response to a request. */
async function gateway(
  answer: (
    request: Seen['requests'][number],
    seen: Seen,
  ) => { status?: number; body?: string; cut?: boolean; lost?: boolean; type?: string; after?: Promise<void> },
  login: Readonly<Record<string, string>> = {},
): Promise<{ authUrl: string; seen: Seen; expire: () => void }> {
  const seen: Seen = { logins: 0, requests: [] };
  let valid = '';
  server = createServer((request, response) => {
    const base = `http://${request.headers.host}`;
    if (request.url === '/identity/v3/auth/tokens') {
      seen.logins += 1;
      valid = `token-${seen.logins}`;
      response.writeHead(201, { ...login, 'x-subject-token': valid, 'content-type': 'application/json' });
      const catalog = [{ type: 'orchestration', endpoints: [{ interface: 'public', url: `${base}/heat/` }] }];
      response.end(
        JSON.stringify({ token: { user: { id: 'u1', name: 'admin' }, project: { id: 'p1', name: 'admin' }, catalog } }),
      );
      return;
    }
    const token = String(request.headers['x-auth-token']);
    if (token !== valid) {
      response.writeHead(401).end(JSON.stringify({ error: { code: 401, message: 'The token has expired.' } }));
      return;
    }
    const last = request.headers['last-event-id'];
    const one = {
      method: request.method ?? '',
      path: request.url ?? '',
      token,
      last: typeof last === 'string' ? last : undefined,
      key: request.headers['idempotency-key']?.toString(),
    };
    seen.requests.push(one);
    const { status = 200, body = '{}', cut = false, lost, type = 'application/json', after } = answer(one, seen);
    if (lost) return void request.socket.destroy();
    const send = async (): Promise<void> => {
      await after;
      response.writeHead(status, { 'content-type': type });
      if (cut) response.write(body, () => response.destroy());
      else response.end(body);
    };
    void send();
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const authUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/identity/v3`;
  return { authUrl, seen, expire: () => (valid = 'none') };
}

const user = { username: 'admin', password: 'x', project: 'admin' };

describe('openConnection', () => {
  it('refuses an address with a user or password, and does not quote it', async () => {
    const address = 'http://root:hunter2@127.0.0.1:9/identity/v3';
    const refused = openConnection({ authUrl: address, ...user }).catch((error: unknown) => String(error));
    expect(await refused).toContain('OS_USERNAME and OS_PASSWORD');
    expect(await refused).not.toContain('hunter2');
  });

  it('C1: calls that are refused at the same time share one new login', async () => {
    const { authUrl, seen, expire } = await gateway(() => ({}));
    const connection = await openConnection({ authUrl, ...user });
    expire();
    const call = { service: 'orchestration', path: '/stacks', what: 'list' } as const;
    await Promise.all([connection.json(call), connection.json(call), connection.json(call)]);
    expect(seen.logins).toBe(2);
    expect(seen.requests.map(({ path, token }) => `${path} ${token}`)).toEqual(Array(3).fill('/heat/stacks token-2'));
  });

  it.each(['', '.', '..'])(
    'sends no call for the name "%s", because its address is that of something else',
    async (name) => {
      const { authUrl, seen } = await gateway(() => ({}));
      const connection = await openConnection({ authUrl, ...user });
      for (const path of [`/hosts/${encodeURIComponent(name)}`, `/hosts/${encodeURIComponent(name)}/join`]) {
        const call = { service: 'orchestration', path, method: 'DELETE', what: `delete the host ${name}` } as const;
        const why =
          name === '' ? 'the host: its name or id is empty.' : `the host ${name}: "${name}" is no name or id.`;
        await expect(connection.json(call)).rejects.toMatchObject({
          code: 'InvalidRequest',
          message: `Could not delete ${why}`,
        });
      }
      expect(seen.requests).toEqual([]);
    },
  );

  it('C2: sends a call again only when its token was refused', async () => {
    const { authUrl, seen } = await gateway(() => ({
      status: 503,
      body: '{"error":{"code":"Unavailable","message":"Busy."}}',
    }));
    const connection = await openConnection({ authUrl, ...user });
    const call = connection.json({ service: 'api', path: '/x', method: 'POST', body: {}, what: 'x' });
    await expect(call).rejects.toMatchObject({ code: 'Unavailable', message: 'Busy.' });
    expect(seen.requests).toHaveLength(1);
  });

  it.each([
    ['GET', 2],
    ['POST', 1],
  ] as const)('C2: a %s whose connection ends before the answer is sent %i times', async (method, times) => {
    const { authUrl, seen } = await gateway((_, { requests }) => ({ lost: requests.length === 1 }));
    const connection = await openConnection({ authUrl, ...user });
    const call = connection.json({ service: 'api', path: '/x', method, what: 'x' });
    if (method === 'GET') expect(await call).toEqual({});
    else await expect(call).rejects.toMatchObject({ code: 'Unavailable' });
    expect(seen.requests).toHaveLength(times);
  });

  it('C2: sends a POST again with the same key when its connection ends, to a server that takes keys', async () => {
    const answer = (_: unknown, { requests }: Seen) => ({ lost: requests.length === 1 });
    const { authUrl, seen } = await gateway(answer, { 'x-anneal-accepts': 'Idempotency-Key' });
    const connection = await openConnection({ authUrl, ...user });
    expect(await connection.json({ service: 'api', path: '/x', method: 'POST', body: {}, what: 'x' })).toEqual({});
    await connection.json({ service: 'api', path: '/x', method: 'POST', body: {}, what: 'x' });
    const [first, again, other] = seen.requests.map(({ key }) => key);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect([again === first, other === first]).toEqual([true, false]);
  });

  it('reports a slow answer once, and no quick one', async () => {
    const release = Promise.withResolvers<void>();
    const { authUrl } = await gateway(({ path }) => (path.endsWith('/slow') ? { after: release.promise } : {}));
    const reported: string[] = [];
    const connection = await openConnection(
      { authUrl, ...user },
      { reports: { slow: (text) => void reported.push(text) } },
    );
    await connection.json({ service: 'api', path: '/quick', what: 'look' });
    const answer = connection.json({ service: 'api', path: '/slow', what: 'list the stacks' });
    await eventually(() => (reported.length > 0 ? true : undefined));
    release.resolve();
    expect(await answer).toEqual({});
    expect(reported).toEqual([`Waiting to list the stacks at ${connection.url} …`]);
  });

  it('reports that no server answers, with the address', async () => {
    const { authUrl } = await gateway(() => ({}));
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    server = undefined;
    const open = openConnection({ authUrl, ...user });
    await expect(open).rejects.toMatchObject({ code: 'Unavailable', message: expect.stringContaining('ECONNREFUSED') });
  });
});

describe('followStream', () => {
  it('T1: continues after the last event when the connection broke', async () => {
    const { authUrl, seen } = await gateway(({ last }) =>
      last === undefined
        ? { type: 'text/event-stream', body: ': hello\n\nid: 1\ndata: "a"\n\nid: 2\ndata: "b"\n\nid: 3\nda', cut: true }
        : { type: 'text/event-stream', body: 'id: 3\ndata: "c"\n\n' },
    );
    const connection = await openConnection({ authUrl, ...user });
    const stop = new AbortController();
    const got: unknown[] = [];
    for await (const { data } of followStream({ connection, path: '/events', what: 'follow', signal: stop.signal })) {
      got.push(data);
      if (got.length === 3) stop.abort();
    }
    expect(got).toEqual(['a', 'b', 'c']);
    expect(seen.requests.map(({ last }) => last)).toEqual([undefined, '2']);
  });

  it('reports a refusal that may pass once, and that the stream is open again; not a connection that was only cut', async () => {
    const refused = { status: 503, body: '{"error":{"code":"Unavailable","message":"No broker."}}' };
    const answers = [
      { type: 'text/event-stream', body: 'id: 1\ndata: "a"\n\n', cut: true },
      { type: 'text/event-stream', body: 'id: 2\ndata: "b"\n\n', cut: true },
      refused,
      refused,
      { type: 'text/event-stream', body: 'id: 3\ndata: "c"\n\n' },
    ];
    const { authUrl } = await gateway(() => answers.shift() ?? {});
    const reported: string[] = [];
    const connection = await openConnection(
      { authUrl, ...user },
      { reports: { stream: (text) => void reported.push(text) } },
    );
    const stop = new AbortController();
    for await (const { data } of followStream({ connection, path: '/events', what: 'follow', signal: stop.signal })) {
      if (data === 'b') expect(reported).toEqual([]);
      if (data === 'c') stop.abort();
    }
    expect(reported).toEqual(['No broker. Retrying; no event is lost.', 'Reconnected to the server.']);
  });

  it('T3: ends with the error when a retry cannot help', async () => {
    const { authUrl } = await gateway(() => ({
      status: 404,
      body: '{"error":{"code":"NotFound","message":"No queue."}}',
    }));
    const connection = await openConnection({ authUrl, ...user });
    const stream = followStream({ connection, path: '/x', what: 'x', signal: new AbortController().signal });
    await expect(stream.next()).rejects.toMatchObject({ code: 'NotFound' });
  });
});
