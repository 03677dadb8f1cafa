import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { fetchOwn } from './fetch-own.ts';

it('sends the token of the host to no other server', async () => {
  let taken = 0;
  const open = async (location?: string) => {
    const server = createServer((_request, response) => {
      if (location === undefined) taken += 1;
      response.writeHead(location === undefined ? 200 : 307, location === undefined ? {} : { location }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };
  const elsewhere = await open();
  const gateway = await open(elsewhere.url);
  const request = { method: 'POST', headers: { 'X-Auth-Token': 'secret' }, body: '{}' };
  await expect(fetchOwn(gateway.url, request)).rejects.toThrow(
    `The server at ${gateway.url} redirects to ${elsewhere.url}.`,
  );
  expect(taken).toBe(0);
  expect((await fetchOwn(elsewhere.url, request)).status).toBe(200);
  for (const { server } of [elsewhere, gateway]) server.close();
});
