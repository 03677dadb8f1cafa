/**
 * Redfish over HTTP: authentication (session, else Basic), retries, and errors that name the node and the answer.
 *
 * R1 Controllers have few sessions: use one per address and user, shared by its systems and opened once for all
 *    callers.
 * R2 A 401 opens a new session once; the second 401 is the controller's answer.
 * R3 A request is retried, with backoff and jitter, when it was not carried out (no connection, 429, 503), or when it
 *    is idempotent (GET, PATCH of one version). A request that may have pushed a button is never retried here.
 * R4 The signal of a call ends it at once, whatever it waits for.
 */
import { redactText } from '@anneal/runtime/secrets/redact.ts';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BmcError, type Repeat } from '../bmc/bmc-error.ts';
import type { EventReader } from '../bmc/port.ts';
import { Transport, type Access, type RedfishAnswer, type Method } from './transport.ts';

export type { RedfishAnswer as Answer } from './transport.ts';

export interface HttpOptions {
  readonly connectTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  readonly tries?: number;
}

interface SessionState {
  token: string | undefined;
  location: string | undefined;
  /** Use Basic until this time, because the controller has no sessions or no free one. */
  basicUntil: number;
  opening: Promise<void> | undefined;
}

/** One request to a controller, and how far to try it. */
export interface Sending {
  readonly method: Method;
  /** With or without the query; joined to the address of the controller. */
  readonly path: string;
  readonly body?: unknown;
  readonly etag?: string | undefined;
  readonly signal: AbortSignal;
  /** Fewer attempts, for callers that retry by themselves. */
  readonly tries?: number | undefined;
}

export class RedfishHttp {
  readonly #transport: Transport;
  readonly #sessions = new Map<string, SessionState & { readonly access: Access }>();
  readonly #tries: number;
  readonly #closing = new AbortController();
  /** Ends the calls in progress. */
  readonly #inHand = new Set<AbortController>();

  constructor({ connectTimeoutMs = 5_000, answerTimeoutMs = 15_000, tries = 4 }: HttpOptions = {}) {
    this.#tries = tries;
    this.#transport = new Transport({ connectMs: connectTimeoutMs, answerMs: answerTimeoutMs });
  }

  /** Closes the sessions. Calls in progress fail at once and are not retried. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const each of this.#inHand) each.abort(this.#closing.signal.reason);
    await Promise.all(
      [...this.#sessions.values()].map(async ({ token, location, access }) => {
        if (token === undefined || location === undefined) return;
        const url = new URL(location, access.address);
        const headers = { 'x-auth-token': token };
        const signal = AbortSignal.timeout(2_000);
        await this.#transport.exchange(access, { method: 'DELETE', url, headers, signal }).catch(() => undefined);
      }),
    );
    await this.#transport.destroy();
  }

  /** @throws BmcError. Refusals that the caller can answer with another request have `details.status`. */
  async send(access: Access, sending: Sending): Promise<RedfishAnswer> {
    const { signal: wanted, tries = this.#tries } = sending;
    // Not `AbortSignal.any`: the long-lived signal of the closing would keep a weak reference to each of many requests.
    const either = new AbortController();
    const end = (): void => either.abort(wanted.reason);
    if (wanted.aborted) end();
    if (this.#closing.signal.aborted) either.abort(this.#closing.signal.reason);
    wanted.addEventListener('abort', end, { once: true });
    this.#inHand.add(either);
    try {
      return await this.#tried(access, { ...sending, tries, signal: either.signal });
    } finally {
      wanted.removeEventListener('abort', end);
      this.#inHand.delete(either);
    }
  }

  async #tried(access: Access, sending: Sending & { readonly tries: number }): Promise<RedfishAnswer> {
    const { signal, tries } = sending;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#once(access, sending);
      } catch (error) {
        if (attempt >= tries || !mayRepeat(error, sending.method)) throw error;
        const pause = Math.min(2_000, 150 * 2 ** attempt) * (0.5 + Math.random() / 2);
        await sleep(Math.min(error.retryAfterMs ?? pause, 5_000), undefined, { signal }).catch(() => {
          throw error;
        });
      }
    }
  }

  /**
   * Reads a stream of events until it ends, and gives the data of each.
   * @throws Error when the controller refuses the stream, or it breaks
   */
  async listen(
    access: Access,
    { url, signal, ...reader }: { url: URL; signal: AbortSignal } & EventReader,
  ): Promise<void> {
    const headers = { accept: 'text/event-stream', ...(await this.#credentials(access, signal)) };
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    await this.#transport.listen(access, { url, headers, signal: ended, ...reader });
  }

  async #once(access: Access, sending: Sending): Promise<RedfishAnswer> {
    const { method } = sending;
    const url = new URL(sending.path, access.address);
    let answer = await this.#exchange(access, sending);
    if (answer.status === 401 && (await this.#session(access, sending.signal))?.token !== undefined) {
      this.#forget(access);
      answer = await this.#exchange(access, sending);
    }
    if (answer.status < 300) return answer;
    // A BMC may quote the request in its answer.
    const reason = redactText(httpReason(answer.body), [access.password ?? '']);
    const answered = `node ${access.node}: ${method} ${url.href} answered ${answer.status}: ${reason}`;
    const details = { node: access.node, url: url.href, status: answer.status, method };
    if (answer.status === 401 || answer.status === 403) {
      const message = `The BMC refused the credentials: ${answered}`;
      throw new BmcError('BmcMisconfigured', message, { repeat: 'never', details });
    }
    throw new BmcError('BmcRefused', `The BMC refused the request: ${answered}`, {
      repeat: repeatOf(answer.status),
      retryAfterMs: answer.retryAfterMs,
      details,
    });
  }

  async #exchange(access: Access, { method, path, body, etag, signal }: Sending): Promise<RedfishAnswer> {
    const url = new URL(path, access.address);
    const headers: Record<string, string> = {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(etag !== undefined && { 'if-match': etag }),
      ...(await this.#credentials(access, signal)),
    };
    return this.#transport.exchange(access, { method, url, headers, body, signal });
  }

  /** The headers that every request to a controller has: the version of the protocol, and a session or Basic. */
  async #credentials(access: Access, signal: AbortSignal): Promise<Record<string, string>> {
    const { token } = (await this.#session(access, signal)) ?? {};
    return { 'odata-version': '4.0', ...(token !== undefined ? { 'x-auth-token': token } : basic(access)) };
  }

  async #session(access: Access, signal: AbortSignal): Promise<SessionState | undefined> {
    if (access.username === null) return undefined;
    const state = this.#stateOf(access);
    if (state.token !== undefined || Date.now() < state.basicUntil) return state;
    // R1: a caller during the opening of a session waits for that session, within its own time limit.
    if (!state.opening) {
      state.opening = this.#open(access, state).finally(() => {
        state.opening = undefined;
      });
      // Each caller gets the error below. When all of them have left, it concerns none.
      state.opening.catch(() => undefined);
    }
    await unlessAborted(state.opening, signal);
    return state;
  }

  async #open(access: Access, state: SessionState): Promise<void> {
    const { signal } = this.#closing;
    const headers = { accept: 'application/json' };
    const at = (path: string): URL => new URL(path, access.address);
    const root = await this.#transport.exchange(access, { method: 'GET', url: at('/redfish/v1/'), headers, signal });
    const path = linkIn(root.body, 'Links', 'Sessions') ?? '/redfish/v1/SessionService/Sessions';
    const answer = await this.#transport.exchange(access, {
      method: 'POST',
      url: at(path),
      headers: { ...headers, 'content-type': 'application/json' },
      body: { UserName: access.username, Password: access.password ?? '' },
      signal,
    });
    if (answer.status >= 300 || answer.token === undefined) {
      state.basicUntil = Date.now() + 60_000;
      return;
    }
    state.token = answer.token;
    state.location = answer.location;
  }

  #stateOf(access: Access): SessionState & { readonly access: Access } {
    const key = keyOf(access);
    const state = this.#sessions.get(key) ?? {
      access,
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

function mayRepeat(error: unknown, method: Method): error is BmcError {
  if (!(error instanceof BmcError)) return false;
  return error.repeat === 'always' || (error.repeat === 'idempotent' && method !== 'POST');
}

/** Requests answered 429 or 503 were not carried out. 501 and other refusals are final. */
function repeatOf(status: number): Repeat {
  if (status === 429 || status === 503) return 'always';
  return status >= 500 && status !== 501 ? 'idempotent' : 'never';
}

/** The result of `work`, or the reason of the signal as soon as it aborts. `work` continues for other callers. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Nodes with different trust share no session, because each verifies the controller in its own way. */
const keyOf = (access: Access): string =>
  `${new URL(access.address).origin} ${createHash('sha256')
    .update(JSON.stringify([access.username, access.password, access.trust]))
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

/** A controller's reason for a refusal, in one line. */
export function httpReason(body: Readonly<Record<string, unknown>>): string {
  const error = body['error'] as { message?: unknown; '@Message.ExtendedInfo'?: { Message?: unknown }[] } | undefined;
  const message = error?.['@Message.ExtendedInfo']?.[0]?.Message ?? error?.message ?? body['text'];
  return typeof message === 'string' ? message.slice(0, 500) : 'no reason given';
}
