/** A stop is quick, whatever connections clients keep open. */
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { host, hostToken } from './testing/stand-ins.ts';
import { startTestGateway } from './testing/test-gateway.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A connection that sends the given text and keeps the answer. */
async function open(url: string, text: string): Promise<{ answer: () => string; closed: Promise<void> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  socket.write(text);
  return { answer: () => received, closed };
}

const request = (line: string, token: string, body = ''): string =>
  [`${line} HTTP/1.1`, 'Host: anneal', `X-Auth-Token: ${token}`, `Content-Length: ${body.length}`, '', body].join(
    '\r\n',
  );

describe('a stop of the gateway', () => {
  it('does not wait for open long polls, streams, idle connections or half a request, and answers waiting clients', async () => {
    const gateway = await startTestGateway();
    await gateway.behind.post('mine', 'hello');
    const idle = await open(gateway.url, request('GET /api/v1/info', ''));
    const silent = await open(gateway.url, '');
    const half = await open(
      gateway.url,
      'POST /identity/v3/auth/tokens HTTP/1.1\r\nHost: anneal\r\nContent-Length: 99\r\n\r\n{',
    );
    const poll = await open(gateway.url, request(`POST /messaging/v2/queues/${host.name}/claims?wait=30`, hostToken));
    const stream = await open(gateway.url, request('GET /api/v1/queues/mine/watch', gateway.token));
    await expect.poll(idle.answer).toContain('200 OK');
    await expect.poll(stream.answer).toContain('200 OK');
    const began = performance.now();
    await gateway.stop();
    // Well before the wait of 30 s ends.
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(poll.answer()).toContain('204 No Content');
    await Promise.all([idle, silent, half, poll, stream].map(({ closed }) => closed));
  });
});
