import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestGateway, type TestGateway } from '../testing/test-gateway.ts';
import { readJsonBodies, uploadScope } from './body.ts';
import { limitBodyTime } from './slow-body.ts';
import { answerUnreadable } from './unreadable.ts';

let gateway: TestGateway;
const logged: unknown[] = [];
beforeAll(async () => {
  gateway = await startTestGateway();
  const { log } = gateway.context;
  log.error = (...words: unknown[]) => void logged.push(words);
  log.warn = log.error;
});
afterAll(() => gateway.stop());

interface Ended {
  readonly status: number;
  readonly headers: string;
  readonly json: { error: { code: string; message: string } };
}

/** Sends bytes and returns what arrived until the server closed the connection. */
async function exchange(port: number, bytes: string): Promise<Ended> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined);
  socket.write(bytes);
  await closed;
  const [headers = '', body = ''] = text.split('\r\n\r\n');
  return { status: Number(headers.split(' ')[1]), headers: headers.toLowerCase(), json: JSON.parse(body) as never };
}

const secret = 'canary-in-the-bytes';

describe('bytes that are not readable as HTTP', () => {
  it.each<[string, string, number, string, string]>([
    ['a wrong request line', `GET /${secret} HTTQ/1.1\r\n\r\n`, 400, 'InvalidRequest', 'not valid HTTP/1.1'],
    ['no HTTP at all', `\u0016\u0003\u0001${secret}\r\n\r\n`, 400, 'InvalidRequest', 'not valid HTTP/1.1'],
    [
      'too large headers',
      `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${secret.repeat(2000)}\r\n\r\n`,
      431,
      'TooLarge',
      'headers',
    ],
    [
      'both headers for the length',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'InvalidRequest',
      'length of its body',
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd',
      400,
      'InvalidRequest',
      'length of its body',
    ],
    ['a wrong header', `GET / HTTP/1.1\r\nHost: a\r\n${secret} \u0000: b\r\n\r\n`, 400, 'InvalidRequest', 'not valid'],
  ])(
    'get an answer in the form of the API, and their connection ends: %s',
    async (_what, bytes, status, code, text) => {
      const answer = await exchange(Number(new URL(gateway.url).port), bytes);
      expect(answer.status).toBe(status);
      expect(answer.headers).toContain('content-type: application/problem+json');
      expect(answer.headers).toContain('connection: close');
      expect(answer.json).toMatchObject({ error: { code, message: expect.stringContaining(text) as string } });
      expect(JSON.stringify(answer)).not.toContain(secret);
      expect(logged).toEqual([]);
    },
  );

  it('get an answer when they do not arrive in time', async () => {
    const server = createServer({ requestTimeout: 200, headersTimeout: 100, connectionsCheckingInterval: 50 });
    server.on('clientError', answerUnreadable);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const answer = await exchange((server.address() as AddressInfo).port, 'GET / HTTP/1.1\r\nHost: a\r\n');
      expect(answer.status).toBe(408);
      expect(answer.json).toMatchObject({ error: { code: 'TimedOut' } });
    } finally {
      server.close();
    }
  });

  it('get an answer when their body does not arrive in time, but not an upload', async () => {
    const app = Fastify();
    limitBodyTime(app, 100);
    readJsonBodies(app);
    let arrived = '';
    app.post('/small', () => 'not reached');
    uploadScope(app, (uploads) => {
      uploads.post('/upload', { config: { upload: true } }, async ({ raw }) => {
        for await (const chunk of raw) arrived += String(chunk);
        return 'done';
      });
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    const request = (path: string): string =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: a/b\r\nContent-Length: 4\r\nConnection: close\r\n\r\nab`;
    try {
      const upload = connect(port, '127.0.0.1');
      const answered = new Promise<string>(
        (resolve) => void upload.once('data', (text: Buffer) => resolve(String(text))),
      );
      upload.write(request('/upload'));
      await vi.waitFor(() => expect(arrived).toBe('ab'));
      // Its time ends after that of the upload would.
      expect(await exchange(port, request('/small'))).toMatchObject({
        status: 408,
        json: { error: { code: 'TimedOut' } },
      });
      upload.write('cd');
      expect(await answered).toContain('200 OK');
      expect(arrived).toBe('abcd');
    } finally {
      await app.close();
    }
  });

  it('do not disturb an answer that has begun', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-length': '4' });
      response.write('ab');
    });
    server.on('clientError', answerUnreadable);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.endsWith('ab')) socket.write('no HTTP\r\n\r\n');
    });
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await closed;
    server.close();
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(text.endsWith('ab')).toBe(true);
  });
});
