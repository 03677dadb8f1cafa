/** Redirects of a server: credentials stay with it, over both ways to send. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ownFetch } from './own-fetch.ts';
import { plainHttp } from './plain-http.ts';
import { reach } from './reach.ts';

const servers: Server[] = [];
const seen: string[] = [];
let [own, elsewhere] = ['', ''];

async function listen(answer: (path: string) => { status: number; location?: string }): Promise<string> {
  const server = createServer((request, response) => {
    seen.push(`${request.headers.host} ${request.url} ${String(request.headers['x-auth-token'])}`);
    const { status, location } = answer(request.url ?? '');
    response.writeHead(status, location === undefined ? {} : { location }).end('done');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  elsewhere = await listen(() => ({ status: 200 }));
  own = await listen((path) => {
    if (path === '/name') return { status: 302, location: '/id' };
    if (path === '/circle') return { status: 302, location: '/circle' };
    return path === '/id' ? { status: 200 } : { status: 307, location: `${elsewhere}/taken` };
  });
});
afterAll(() => {
  for (const server of servers) server.close();
});

it.each([
  ['fetch', ownFetch],
  ['node:http', plainHttp],
] as const)('over %s follows a redirect within the server only', async (_name, send) => {
  const headers = { 'x-auth-token': 'secret' };
  const asked = (path: string, method = 'GET') => {
    const url = new URL(path, own);
    return reach(send, { what: 'read it', root: own, url }, { method, headers });
  };
  expect(await (await asked('/name')).text()).toBe('done');
  expect((await asked('/circle')).status).toBe(302);
  expect((await asked('/name', 'POST')).status).toBe(302);
  for (const method of ['GET', 'POST']) {
    await expect(asked('/away', method)).rejects.toThrow(
      `The server at ${own} redirects to ${elsewhere}. Nothing was sent there`,
    );
  }
  expect(seen.filter((request) => request.startsWith(new URL(elsewhere).host))).toEqual([]);
});
