/**
 * Redfish over HTTP: who we are (session, else Basic), what may be tried again, and errors that name node and answer.
 *
 * R1 Sessions are few on a controller: one per address and user, shared by its systems, opened once even when many ask.
 * R2 A 401 opens a new session once; the second 401 is the controller's answer.
 * R3 Broken connections, timeouts, 429 and 5xx are tried again with backoff and jitter, waiting as long as Retry-After says.
 */
import { isObject } from '@anneal/contracts/json.ts';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AnnealError } from '@anneal/contracts/errors.ts';
import pRetry, { AbortError } from 'p-retry';
import { Agent, request, type Dispatcher } from 'undici';

export interface Access {
  /** Named in every error. */
  readonly node: string;
  readonly address: string;
  readonly username: string | null;
  readonly password: string | null;
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly etag: string | undefined;
  readonly location: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Of an opened session. */
  readonly token: string | undefined;
}

export interface HttpOptions {
  readonly connectTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  readonly tries?: number;
}

interface SessionState {
  token: string | undefined;
  location: string | undefined;
  /** The controller has no sessions, or no free one: Basic until then. */
  basicUntil: number;
  opening: Promise<void> | undefined;
}

type Method = 'GET' | 'PATCH' | 'POST' | 'DELETE';
interface Sending {
  readonly body?: unknown;
  readonly etag?: string | undefined;
}

export class RedfishHttp {
  readonly #dispatcher: Dispatcher;
  readonly #sessions = new Map<string, SessionState>();
  readonly #tries: number;
  readonly #closing = new AbortController();

  constructor({ connectTimeoutMs = 5_000, answerTimeoutMs = 15_000, tries = 4 }: HttpOptions = {}) {
    this.#tries = tries;
    this.#dispatcher = new Agent({
      connect: { timeout: connectTimeoutMs },
      headersTimeout: answerTimeoutMs,
      bodyTimeout: answerTimeoutMs,
      connections: 16,
    });
  }

  /** Gives the sessions back; what is under way fails at once and is not tried again. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(
      [...this.#sessions].map(async ([key, { token, location }]) => {
        if (token === undefined || location === undefined) return;
        const url = new URL(location, key.split(' ')[0]);
        const answer = await request(url, {
          method: 'DELETE',
          headers: { 'x-auth-token': token },
          dispatcher: this.#dispatcher,
          signal: AbortSignal.timeout(2_000),
        }).catch(() => undefined);
        await answer?.body.dump().catch(() => undefined);
      }),
    );
    await this.#dispatcher.destroy();
  }

  /** @throws AnnealError BmcUnreachable or BmcRefused. 412 and other refusals that the caller can mend have `details.status`. */
  async send(access: Access, method: Method, path: string, sending: Sending = {}): Promise<Answer> {
    const url = new URL(path, access.address);
    return pRetry(() => this.#once(access, method, url, sending), {
      retries: this.#tries - 1,
      minTimeout: 150,
      maxTimeout: 2_000,
      factor: 2,
      randomize: true,
      signal: this.#closing.signal,
    });
  }

  async #once(access: Access, method: Method, url: URL, sending: Sending): Promise<Answer> {
    let answer = await this.#exchange(access, method, url, sending);
    if (answer.status === 401 && (await this.#session(access))?.token !== undefined) {
      this.#forget(access);
      answer = await this.#exchange(access, method, url, sending);
    }
    if (answer.status < 300) return answer;
    const said = `node ${access.node}: ${method} ${url.href} answered ${answer.status}: ${reasonOf(answer.body)}`;
    const details = { node: access.node, url: url.href, status: answer.status };
    if (answer.status === 401 || answer.status === 403) {
      throw new AbortError(new AnnealError('BmcRefused', `The BMC refused the credentials; ${said}`, { details }));
    }
    const error = new AnnealError('BmcRefused', `The BMC refused; ${said}`, { details });
    if (answer.status !== 429 && answer.status < 500) throw new AbortError(error);
    if (answer.status === 501) throw new AbortError(error);
    if (answer.retryAfterMs !== undefined) await sleep(Math.min(answer.retryAfterMs, 5_000));
    throw error;
  }

  async #exchange(access: Access, method: Method, url: URL, sending: Sending): Promise<Answer> {
    const session = await this.#session(access);
    const headers: Record<string, string> = {
      accept: 'application/json',
      'odata-version': '4.0',
      ...(sending.body !== undefined && { 'content-type': 'application/json' }),
      ...(sending.etag !== undefined && { 'if-match': sending.etag }),
      ...(session?.token !== undefined ? { 'x-auth-token': session.token } : basic(access)),
    };
    return this.#raw(access, method, url, headers, sending.body);
  }

  async #raw(
    access: Access,
    method: Method,
    from: URL,
    headers: Record<string, string>,
    body: unknown,
  ): Promise<Answer> {
    let url = from;
    for (let redirects = 0; ; redirects += 1) {
      let answer: Dispatcher.ResponseData;
      let text: string;
      try {
        answer = await request(url, {
          method,
          headers,
          dispatcher: this.#dispatcher,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        text = await answer.body.text();
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new AnnealError(
          'BmcUnreachable',
          `The BMC of node ${access.node} does not answer: ${method} ${url.href}: ${why}`,
          {
            cause: error,
            details: { node: access.node, url: url.href },
          },
        );
      }
      const header = (name: string): string | undefined => {
        const value = answer.headers[name];
        return Array.isArray(value) ? value[0] : value;
      };
      const location = header('location');
      if ([301, 302, 307, 308].includes(answer.statusCode) && location !== undefined && redirects < 5) {
        const next = new URL(location, url);
        // Credentials go to the controller that they were given for, and to no other.
        if (next.host !== url.host) throw new AbortError(`node ${access.node}: ${url.href} leads away to ${next.href}`);
        url = next;
        continue;
      }
      return {
        status: answer.statusCode,
        body: parse(text),
        etag: header('etag'),
        location,
        retryAfterMs: retryAfter(header('retry-after')),
        token: header('x-auth-token'),
      };
    }
  }

  async #session(access: Access): Promise<SessionState | undefined> {
    if (access.username === null) return undefined;
    const state = this.#stateOf(access);
    if (state.token !== undefined || Date.now() < state.basicUntil) return state;
    // R1: who comes while a session is being opened waits for that one.
    state.opening ??= this.#open(access, state).finally(() => {
      state.opening = undefined;
    });
    await state.opening;
    return state;
  }

  async #open(access: Access, state: SessionState): Promise<void> {
    const root = await this.#raw(
      access,
      'GET',
      new URL('/redfish/v1/', access.address),
      { accept: 'application/json' },
      undefined,
    );
    const path = linkIn(root.body, 'Links', 'Sessions') ?? '/redfish/v1/SessionService/Sessions';
    const answer = await this.#raw(
      access,
      'POST',
      new URL(path, access.address),
      { accept: 'application/json', 'content-type': 'application/json' },
      { UserName: access.username, Password: access.password ?? '' },
    );
    if (answer.status >= 300 || answer.token === undefined) {
      state.basicUntil = Date.now() + 60_000;
      return;
    }
    state.token = answer.token;
    state.location = answer.location;
  }

  #stateOf(access: Access): SessionState {
    const key = keyOf(access);
    const state = this.#sessions.get(key) ?? {
      token: undefined,
      location: undefined,
      basicUntil: 0,
      opening: undefined,
    };
    this.#sessions.set(key, state);
    return state;
  }

  #forget(access: Access): void {
    const state = this.#stateOf(access);
    state.token = undefined;
    state.location = undefined;
  }
}

const keyOf = (access: Access): string =>
  `${new URL(access.address).origin} ${createHash('sha256')
    .update(JSON.stringify([access.username, access.password]))
    .digest('hex')}`;

function basic(access: Access): { authorization: string } | object {
  if (access.username === null) return {};
  return { authorization: `Basic ${Buffer.from(`${access.username}:${access.password ?? ''}`).toString('base64')}` };
}

export function linkIn(body: unknown, ...path: string[]): string | undefined {
  let value: unknown = body;
  for (const key of [...path, '@odata.id']) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return typeof value === 'string' ? value : undefined;
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : { value };
  } catch {
    return text === '' ? {} : { text: text.slice(0, 500) };
  }
}

/** What a controller says of a refusal, in one line. */
function reasonOf(body: Readonly<Record<string, unknown>>): string {
  const error = body['error'] as { message?: unknown; '@Message.ExtendedInfo'?: { Message?: unknown }[] } | undefined;
  const message = error?.['@Message.ExtendedInfo']?.[0]?.Message ?? error?.message ?? body['text'];
  return typeof message === 'string' ? message.slice(0, 500) : 'no reason given';
}

function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
