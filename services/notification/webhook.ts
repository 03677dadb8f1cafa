/** One delivery attempt: the event as JSON, signed according to Standard Webhooks. Redirects are not followed. */
import { isIP } from 'node:net';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { Webhook } from 'standardwebhooks';
import { Agent, request } from 'undici';
import { isPublic, publicLookup } from './address.ts';
import { retryAfterOf, type DeliveryOutcome } from './schedule.ts';

export interface WebhookSender {
  send(parameters: { url: string; secret: string; event: Envelope; signal: AbortSignal }): Promise<DeliveryOutcome>;
  close(): Promise<void>;
}

/** The most bytes of an unread answer that are received before the connection is closed. */
const mostDumped = 16 * 1024;

export function createSender({
  timeoutMs,
  allowPrivate,
  now,
}: {
  timeoutMs: number;
  allowPrivate: boolean;
  now: () => number;
}): WebhookSender {
  const agent = new Agent({
    connect: { timeout: timeoutMs, ...(!allowPrivate && { lookup: publicLookup }) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    pipelining: 1,
    connections: 8,
  });

  return {
    async send({ url, secret, event, signal }) {
      const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
      // A literal address needs no lookup, so check it here.
      if (!allowPrivate && isIP(host) !== 0 && !isPublic(host)) {
        return { status: null, error: `${host} is not a public address`, retryAfter: null };
      }
      const body = JSON.stringify(event);
      const at = new Date(now());
      try {
        const response = await request(url, {
          dispatcher: agent,
          method: 'POST',
          signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
          headers: {
            'content-type': 'application/cloudevents+json; charset=utf-8',
            'user-agent': 'anneal',
            'webhook-id': event.id,
            'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
            'webhook-signature': new Webhook(secret).sign(event.id, at, body),
          },
          body,
        });
        const { statusCode: status, headers } = response;
        await response.body.dump({ limit: mostDumped }).catch(() => undefined);
        const ok = status >= 200 && status < 300;
        const after = headers['retry-after'];
        return {
          status,
          error: ok ? null : `the listener answered ${status}`,
          retryAfter:
            status === 429 || status === 503 ? retryAfterOf(Array.isArray(after) ? after[0] : after, now()) : null,
        };
      } catch (error) {
        return { status: null, error: reasonOf(error), retryAfter: null };
      }
    },
    close: () => agent.close(),
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  const message = error instanceof AggregateError ? error.errors.map(String).join('; ') : error.message;
  return `${code}${message || error.name}`.slice(0, 1000);
}
