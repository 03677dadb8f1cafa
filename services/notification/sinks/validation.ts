/**
 * Asks a webhook whether it agrees to receive events: the validation of "HTTP 1.1 Web Hooks for Event Delivery" of
 * CloudEvents. A webhook agrees in its answer, or later with a request to the callback.
 */
import type { LookupFunction } from 'node:net';
import { Agent, request } from 'undici';
import { isAccepted } from './outcome.ts';
import { reasonOf } from './sink.ts';

/** The longest wait, so that the client that creates a subscription gets its answer. */
const longestMs = 10_000;

export interface ValidationAnswer {
  readonly isAllowed: boolean;
  readonly status: number | null;
  /** Why it is not allowed. */
  readonly error: string | null;
  /** The requests per minute that the listener allows. Absent: any number. */
  readonly rate?: number | undefined;
}

/** Sends the request of the validation. Never rejects. */
export async function askWebhook({
  url,
  origin,
  callback,
  timeoutMs,
  lookup,
}: {
  url: string;
  /** The name of this system, as the webhook lists it. */
  origin: string;
  callback: string;
  timeoutMs: number;
  lookup: LookupFunction | undefined;
}): Promise<ValidationAnswer> {
  const agent = new Agent({ connect: { timeout: longestMs, ...(lookup && { lookup }) } });
  try {
    const {
      statusCode: status,
      headers,
      body,
    } = await request(url, {
      dispatcher: agent,
      method: 'OPTIONS',
      signal: AbortSignal.timeout(Math.min(timeoutMs, longestMs)),
      headers: {
        'user-agent': 'anneal',
        'webhook-request-origin': origin,
        'webhook-request-callback': callback,
      },
    });
    await body.dump({ limit: 16 * 1024 }).catch(() => undefined);
    if (!isAccepted(status)) return { isAllowed: false, status, error: `the listener answered ${status} to OPTIONS` };
    const isAllowed = allowsOrigin(headers['webhook-allowed-origin'], origin);
    const error = `the listener does not allow ${origin} in WebHook-Allowed-Origin`;
    return { isAllowed, status, error: isAllowed ? null : error, rate: allowedRate(headers['webhook-allowed-rate']) };
  } catch (error) {
    return { isAllowed: false, status: null, error: reasonOf(error) };
  } finally {
    await agent.destroy();
  }
}

/** Whether the header allows the origin: its name, or `*`. */
function allowsOrigin(header: string | string[] | undefined, origin: string): boolean {
  const named = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',').map((each) => each.trim());
  return named.some((each) => each === '*' || each.toLowerCase() === origin.toLowerCase());
}

/** The requests per minute of the header `WebHook-Allowed-Rate`. Undefined for `*`, and for what is no positive number. */
function allowedRate(header: string | string[] | undefined): number | undefined {
  const [given = ''] = [header].flat();
  return /^[1-9]\d{0,8}$/.test(given.trim()) ? Number(given) : undefined;
}

/** Posts a JSON text once. Ignores the answer. Never rejects. */
export async function postOnce(
  url: string,
  body: string,
  { timeoutMs, lookup }: { timeoutMs: number; lookup: LookupFunction | undefined },
): Promise<void> {
  const agent = new Agent({ connect: { timeout: longestMs, ...(lookup && { lookup }) } });
  try {
    const answered = await request(url, {
      dispatcher: agent,
      method: 'POST',
      signal: AbortSignal.timeout(Math.min(timeoutMs, longestMs)),
      headers: { 'content-type': 'application/json', 'user-agent': 'anneal' },
      body,
    });
    await answered.body.dump({ limit: 16 * 1024 });
  } catch {
    // The subscription stays unconfirmed. Its owner creates it again, which asks again.
  } finally {
    await agent.destroy();
  }
}
