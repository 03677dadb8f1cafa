import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createMint } from '@anneal/contracts/envelope.ts';
import { activeTraceparent, isTracing, startTracing, traceHandling } from './trace.ts';

const mint = createMint({ source: 'anneal/test', newId: () => 'message-1', now: () => new Date(0) });
const sentIn = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const message = mint({ type: 'test.happened', data: z.unknown() }, { data: {}, traceparent: sentIn });

let stop: (() => Promise<void>) | undefined;
afterEach(() => stop?.());

describe('tracing', () => {
  it('records and sends nothing without an endpoint', async () => {
    let seen: string | undefined = 'not run';
    await traceHandling({ message, queue: 'q', attempt: 1 }, async () => {
      seen = activeTraceparent();
    });
    expect(seen).toBeUndefined();
    expect(isTracing()).toBe(false);
  });

  it('continues the trace of the sender, passes it on, and sends the span to the collector', async () => {
    const bodies: Buffer[] = [];
    const collector = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => bodies.push(chunk));
      request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
    }).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const { port } = collector.address() as AddressInfo;
    stop = await startTracing({ endpoint: `http://127.0.0.1:${port}/v1/traces`, service: 'anneal-test' });
    expect(isTracing()).toBe(true);

    let handedOn: string | undefined;
    await traceHandling({ message, queue: 'anneal.test.requests', attempt: 2 }, async () => {
      handedOn = activeTraceparent();
    });
    await stop();
    stop = undefined;
    collector.close();
    expect(handedOn).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/);
    const sent = Buffer.concat(bodies).toString();
    expect(sent).toContain('process test.happened');
    expect(sent).toContain('anneal.test.requests');
    expect(sent).toContain('anneal-test');
  });
});
