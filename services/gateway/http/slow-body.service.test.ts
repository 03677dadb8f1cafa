import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { fastify, type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { limitBodyTime } from './slow-body.ts';

const limitMs = 60_000;
useQuickClock();
let app: FastifyInstance;
beforeEach(async () => {
  app = fastify();
  limitBodyTime(app, limitMs);
  app.post('/', ({ body }) => body);
  // As the reader of a form does: it has begun to read, and refuses the head of the request.
  app.addContentTypeParser('text/refused', (_request, payload, done) => {
    payload.on('readable', () => {});
    done(Object.assign(new Error('no boundary'), { statusCode: 400 }));
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(() => app.close());

/** A connection that stays open, and a wait for text that it receives. */
async function open() {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const post = (type: string, body: string, length = body.length): void =>
    void socket.write(
      `POST / HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${body}`,
    );
  return { post, has: (part: string) => eventually(() => text.includes(part), { last: () => text }) };
}

describe('the time of a body', () => {
  it('ends a request whose body does not arrive', async () => {
    const { post, has } = await open();
    post('application/json', '{', 10);
    await has(' 408 ');
  });

  it('is over with the answer to a request that is refused unread, so that no timer stays', async () => {
    const { post, has } = await open();
    const began = Date.now();
    post('text/refused', '{}');
    await has(' 400 ');
    await eventually(() => vi.getTimerCount() === 0);
    // Otherwise the clock has moved to the limit.
    expect(Date.now() - began).toBeLessThan(limitMs);
  });
});
