/**
 * Redfish over HTTP: authentication, retries, answers that lead elsewhere, and errors that name the node and the answer.
 *
 * R3 A request is retried, with backoff and jitter, when it was not carried out (no connection, 429, 503), or when it
 *    is idempotent (GET, PATCH of one version). A request that may have pushed a button is never retried here.
 * R4 The signal of a call ends it at once, whatever it waits for.
 * R5 The answer 303 accepts a request: its result is read at the place that it names, and the request is never sent again for it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { BmcError } from '../../bmc/bmc-error.ts';
import type { EventReader } from '../../bmc/port.ts';
import { ownUrl } from './links.ts';
import { RedfishRefusal } from './refusal.ts';
import { RunningTasks } from './running-tasks.ts';
import { BmcSessions } from './sessions.ts';
import { Transport, type Access, type RedfishAnswer, type Method } from './transport.ts';

export type { RedfishAnswer as Answer } from './transport.ts';

export interface HttpOptions {
  readonly connectTimeoutMs?: number;
  readonly answerTimeoutMs?: number;
  readonly tries?: number;
}

/** One request to a controller, and how far to try it. */
export interface Sending {
  readonly method: Method;
  /** With or without the query; any form of an address of the controller. */
  readonly path: string;
  /** The name of the path in the error of one that leads elsewhere. */
  readonly what?: string | undefined;
  readonly body?: unknown;
  readonly etag?: string | undefined;
  readonly signal: AbortSignal;
  /** Fewer attempts, for callers that retry by themselves. */
  readonly tries?: number | undefined;
}

/** A controller that asks for more time than this is asked sooner. */
const longestPauseMs = 30_000;
const mostPlaces = 5;
const mostRounds = 5;

export class RedfishHttp {
  readonly tasks = new RunningTasks();
  readonly #transport: Transport;
  readonly #sessions: BmcSessions;
  readonly #tries: number;
  readonly #closing = new AbortController();
  /** Ends the calls in progress. */
  readonly #inHand = new Set<AbortController>();

  constructor({ connectTimeoutMs = 5_000, answerTimeoutMs = 15_000, tries = 4 }: HttpOptions = {}) {
    this.#tries = tries;
    this.#transport = new Transport({ connectMs: connectTimeoutMs, answerMs: answerTimeoutMs });
    this.#sessions = new BmcSessions(this.#transport, this.#closing.signal);
  }

  /** Closes the sessions. Calls in progress fail at once and are not retried. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const each of this.#inHand) each.abort(this.#closing.signal.reason);
    await this.#sessions.closeAll();
    await this.#transport.destroy();
  }

  /** @throws RedfishRefusal with the answer; another BmcError without one. */
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
        await sleep(Math.min(error.retryAfterMs ?? pause, longestPauseMs), undefined, { signal }).catch(() => {
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
    { path, signal, ...reader }: { path: string; signal: AbortSignal } & EventReader,
  ): Promise<void> {
    const url = ownUrl(access, path, { what: 'its stream of events (ServerSentEventUri)' });
    const { headers } = await this.#sessions.credentials(access, signal);
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    const accepting = { accept: 'text/event-stream', ...headers };
    await this.#transport.listen(access, { url, headers: accepting, signal: ended, ...reader });
  }

  /** @param places the answers 303 that led to this request */
  async #once(access: Access, sending: Sending, places = 0): Promise<RedfishAnswer> {
    const { method, what = 'a link' } = sending;
    const url = ownUrl(access, sending.path, { what });
    const answer = await this.#answered(access, { ...sending, url });
    if (answer.status === 303) return this.#seeOther(access, sending, { answer, places });
    if (answer.status < 300) return answer;
    throw new RedfishRefusal(access, { method, url }, answer);
  }

  /** The answer to a session that the controller knows, else to a new one (R2). */
  async #answered(access: Access, sending: Sending & { readonly url: URL }): Promise<RedfishAnswer> {
    let { answer, token } = await this.#exchange(access, sending);
    let isNew = false;
    for (let round = 0; (answer.status === 401 || answer.status === 403) && token !== undefined; round += 1) {
      const isCurrent = this.#sessions.isCurrent(access, token);
      // Another caller may have replaced the session meanwhile, also the new one.
      if ((isCurrent && isNew) || round >= mostRounds) break;
      if (isCurrent) {
        isNew = true;
        await this.#sessions.giveUp(access, token);
      }
      ({ answer, token } = await this.#exchange(access, sending));
    }
    const busy = answer.status === 401 && token === undefined ? this.#sessions.takeBusy(access) : undefined;
    if (busy) throw busy;
    return answer;
  }

  /** R5 */
  async #seeOther(
    access: Access,
    { method, signal }: Sending,
    { answer, places }: { answer: RedfishAnswer; places: number },
  ): Promise<RedfishAnswer> {
    const accepted = { ...answer, status: 204, location: undefined };
    if (answer.location === undefined || places >= mostPlaces) return accepted;
    const what = `the place of the answer 303 to ${method}`;
    try {
      return await this.#once(access, { method: 'GET', path: answer.location, what, signal }, places + 1);
    } catch (error) {
      const isLost = error instanceof RedfishRefusal || (error instanceof BmcError && error.code === 'BmcUnreachable');
      if (method !== 'GET' && isLost && !signal.aborted) return accepted;
      throw error;
    }
  }

  async #exchange(
    access: Access,
    { method, url, body, etag, signal }: Sending & { readonly url: URL },
  ): Promise<{ answer: RedfishAnswer; token: string | undefined }> {
    const { headers: own, token } = await this.#sessions.credentials(access, signal);
    const headers: Record<string, string> = {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(etag !== undefined && { 'if-match': etag }),
      ...own,
    };
    return { answer: await this.#transport.exchange(access, { method, url, headers, body, signal }), token };
  }
}

function mayRepeat(error: unknown, method: Method): error is BmcError {
  if (!(error instanceof BmcError)) return false;
  return error.repeat === 'always' || (error.repeat === 'idempotent' && method !== 'POST');
}
