/**
 * Verifies the requests that Anneal sends to a webhook. They follow Standard Webhooks: the header `webhook-signature` has
 * one or more `v1,<base64>`, each an HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>` with the bytes of a secret.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { envelopeSchema } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { AnnealEvent } from './events.ts';

/** A request as it arrived. */
export interface WebhookRequest {
  /** The bytes of the body, before any parsing. */
  body: string | Uint8Array;
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The secret of the subscription; after a rotation both secrets, while deliveries may carry either. */
  secrets: string | readonly string[];
  /** The greatest difference of the clocks, and the longest time in transit. Default 300. */
  toleranceSeconds?: number | undefined;
  /** Milliseconds since the epoch. Default the system clock. */
  now?: number | undefined;
}

const secretForm = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/;

/**
 * Returns the events of a request: one, or several for a subscription with a batch size. An event may come again, so
 * remember the ids that were handled. Compares in constant time.
 * @throws AnnealError Unauthorized for a request that is not signed with a secret or is too old; InvalidRequest for a
 *     signed body that is no CloudEvent, and for a secret in another form
 */
export function verifyWebhook(request: WebhookRequest): AnnealEvent[] {
  const { toleranceSeconds = 300, now = Date.now() } = request;
  const [id, seconds, given] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(request.headers, name),
  );
  if (id === undefined || seconds === undefined || given === undefined) {
    throw refused('it lacks a header: webhook-id, webhook-timestamp or webhook-signature');
  }
  const sent = /^\d{1,12}$/.test(seconds) ? Number(seconds) : Number.NaN;
  if (!(Math.abs(now / 1000 - sent) <= toleranceSeconds)) {
    throw refused(`its time ${seconds} differs from this clock by more than ${toleranceSeconds} s`);
  }
  const body = Buffer.from(request.body as Uint8Array);
  const signed = Buffer.concat([Buffer.from(`${id}.${seconds}.`), body]);
  const wanted = keysOf(request.secrets).map((key) => createHmac('sha256', key).update(signed).digest());
  if (!hasSignature(given, wanted)) throw refused('no signature was made with a secret of this subscription');
  return eventsIn(body);
}

/** Compares each signature with each wanted one, so that the time does not depend on which is right. */
function hasSignature(given: string, wanted: readonly Buffer[]): boolean {
  let found = false;
  for (const text of given.split(' ').slice(0, 10)) {
    if (!text.startsWith('v1,')) continue;
    const signature = Buffer.from(text.slice('v1,'.length), 'base64');
    for (const right of wanted) {
      if (signature.length === right.length && timingSafeEqual(signature, right)) found = true;
    }
  }
  return found;
}

const keysOf = (secrets: string | readonly string[]): Buffer[] =>
  [secrets].flat().map((secret) => {
    const [, text] = secretForm.exec(secret) ?? [];
    if (text !== undefined) return Buffer.from(text, 'base64');
    throw new AnnealError(
      'InvalidRequest',
      'Cannot verify a webhook: a secret is `whsec_` and 24 to 64 bytes in base64, as `anneal subscription create` shows it.',
    );
  });

function headerOf(headers: WebhookRequest['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.[0];
}

function eventsIn(body: Buffer): AnnealEvent[] {
  try {
    const parsed = parseExact(body.toString('utf8'));
    return [parsed].flat().map((event) => envelopeSchema.parse(event) as AnnealEvent);
  } catch (error) {
    throw new AnnealError(
      'InvalidRequest',
      'The signed body of the webhook is neither a CloudEvent nor an array of them.',
      {
        cause: error,
      },
    );
  }
}

const refused = (why: string): AnnealError =>
  new AnnealError('Unauthorized', `Refused a webhook request: ${why}. Answer 401, and do not handle it.`);
