/** One request to a listener, signed according to Standard Webhooks. Redirects are not followed. */
import { createHmac } from 'node:crypto';
import { isIP } from 'node:net';
import { Agent, request } from 'undici';
import { isPublic, publicLookup } from './address.ts';
import { retryAfterOf, type DeliveryOutcome } from './schedule.ts';

export interface WebhookRequest {
  readonly url: string;
  /** The keys of all valid secrets, without the prefix `whsec_`. The listener may verify with any of them. */
  readonly keys: readonly Uint8Array[];
  /** The same for every attempt of the same content. */
  readonly id: string;
  readonly contentType: string;
  readonly body: string;
}

export interface WebhookSender {
  send(parameters: WebhookRequest): Promise<DeliveryOutcome>;
  /** Aborts the requests in progress and closes the connections. */
  close(): Promise<void>;
}

/** The most bytes of an unread answer that are received before the connection is closed. */
const mostDumped = 16 * 1024;

export const singleType = 'application/cloudevents+json; charset=utf-8';
export const batchType = 'application/cloudevents-batch+json; charset=utf-8';

/** The bytes of a secret in the form `whsec_…`. */
export const signingKey = (secret: string): Uint8Array => Buffer.from(secret.slice('whsec_'.length), 'base64');

/** The header `webhook-signature`: a signature with each key. */
export const signatureOf = (keys: readonly Uint8Array[], signed: string): string =>
  keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`).join(' ');

/** A sender with connections of its own, so that one listener cannot take those of another. */
export function createSender({
  timeoutMs,
  allowPrivate,
  connections,
}: {
  timeoutMs: number;
  allowPrivate: boolean;
  connections: number;
}): WebhookSender {
  const agent = new Agent({
    connect: { timeout: timeoutMs, ...(!allowPrivate && { lookup: publicLookup }) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    pipelining: 1,
    connections,
  });
  const open = new Set<AbortController>();

  return {
    async send({ url, keys, id, contentType, body }) {
      const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
      // A literal address needs no lookup, so check it here.
      if (!allowPrivate && isIP(host) !== 0 && !isPublic(host)) {
        return { status: null, error: `${host} is not a public address`, retryAfter: null };
      }
      // Listeners compare this time with their own clocks, so it is the time of the system, which a test may not move.
      const seconds = Math.floor(Date.now() / 1000);
      const aborter = new AbortController();
      const timer = setTimeout(() => aborter.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      open.add(aborter);
      try {
        const response = await request(url, {
          dispatcher: agent,
          method: 'POST',
          signal: aborter.signal,
          headers: {
            'content-type': contentType,
            'user-agent': 'anneal',
            'webhook-id': id,
            'webhook-timestamp': String(seconds),
            'webhook-signature': signatureOf(keys, `${id}.${seconds}.${body}`),
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
            status === 429 || status === 503 ? retryAfterOf(Array.isArray(after) ? after[0] : after, Date.now()) : null,
        };
      } catch (error) {
        return { status: null, error: reasonOf(error), retryAfter: null };
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

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  const message = error instanceof AggregateError ? error.errors.map(String).join('; ') : error.message;
  return `${code}${message || error.name}`.slice(0, 1000);
}
