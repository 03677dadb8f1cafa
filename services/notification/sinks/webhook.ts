/** Requests to a listener, signed according to Standard Webhooks when there are keys. Redirects are not followed. */
import { createHmac } from 'node:crypto';
import type { LookupFunction } from 'node:net';
import { Agent, request } from 'undici';
import { isAccepted, retryAfterOf } from './outcome.ts';
import { textHeaders, type RenderedEvents } from './rendering.ts';
import { awayBecause, type EventSink, type SinkRequest } from './sink.ts';

/** The most bytes of an unread answer that are received before the connection is closed. */
const mostDumped = 16 * 1024;

/** The bytes of a secret in the form `whsec_…`. */
export const signingKey = (secret: string): Uint8Array => Buffer.from(secret.slice('whsec_'.length), 'base64');

/** The header `webhook-signature`: a signature with each key. */
export const signatureOf = (keys: readonly Uint8Array[], signed: string): string =>
  keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`).join(' ');

function signedHeaders(id: string, keys: readonly Uint8Array[], body: string): Record<string, string> {
  // Listeners compare this time with their own clocks, so it is the time of the system, which a test may not move.
  const seconds = Math.floor(Date.now() / 1000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatureOf(keys, `${id}.${seconds}.${body}`),
  };
}

export interface WebhookOptions {
  readonly url: string;
  readonly timeoutMs: number;
  /** Absent: any address may be reached. */
  readonly lookup: LookupFunction | undefined;
  readonly connections: number;
  readonly render: (request: SinkRequest) => RenderedEvents;
  /** More headers of each request, which no option of the subscription replaces. */
  readonly headers?: () => Readonly<Record<string, string>>;
}

export function openWebhook(wanted: WebhookOptions): EventSink {
  const { url, timeoutMs, lookup, connections, render, headers: more } = wanted;
  const agent = new Agent({
    connect: { timeout: timeoutMs, ...(lookup && { lookup }) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    pipelining: 1,
    connections,
  });
  const open = new Set<AbortController>();

  return {
    async send(sent) {
      const { id, keys } = sent;
      const rendered = render(sent);
      const aborter = new AbortController();
      const timer = setTimeout(() => aborter.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      open.add(aborter);
      try {
        const response = await request(url, {
          dispatcher: agent,
          method: 'POST',
          signal: aborter.signal,
          headers: {
            'content-type': rendered.contentType,
            'user-agent': 'anneal',
            ...rendered.headers,
            ...textHeaders(rendered),
            ...more?.(),
            ...(keys.length > 0 && signedHeaders(id, keys, rendered.body)),
          },
          body: rendered.body,
        });
        const { statusCode: status, headers } = response;
        await response.body.dump({ limit: mostDumped }).catch(() => undefined);
        const after = headers['retry-after'];
        return {
          status,
          error: isAccepted(status) ? null : `the listener answered ${status}`,
          retryAfter:
            status === 429 || status === 503 ? retryAfterOf(Array.isArray(after) ? after[0] : after, Date.now()) : null,
        };
      } catch (error) {
        return awayBecause(error);
      } finally {
        clearTimeout(timer);
        open.delete(aborter);
      }
    },
    async close() {
      for (const each of open) each.abort(new Error('the service stops'));
      await agent.close();
    },
  };
}
