/**
 * One exchange with a controller: redirects on the same host, one deadline for connection, headers and body, and a
 * limit on the size of the answer.
 */
import { isObject } from '@anneal/contracts/json.ts';
import { createParser } from 'eventsource-parser';
import { request, type Dispatcher } from 'undici';
import { BmcError, type Repeat } from '../../bmc/bmc-error.ts';
import type { EventReader } from '../../bmc/port.ts';
import { Pools, tlsRefusal, type Trust } from '../../documents/trust.ts';
import { isOwn, ownUrl } from './links.ts';

export interface Access {
  /** Named in every error. */
  readonly node: string;
  readonly address: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly trust: Trust;
}

export type Method = 'GET' | 'PATCH' | 'POST' | 'DELETE';

export interface RedfishAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** Why the body is not a JSON object. */
  readonly problem: string | undefined;
  readonly etag: string | undefined;
  /** A path where it is an address of the controller itself, however the controller wrote it. */
  readonly location: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** Token of an opened session. */
  readonly token: string | undefined;
}

export interface Exchange {
  readonly method: Method;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

const largestAnswer = 8_000_000;
const largestEvent = 1_000_000;
const neverSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

export class Transport {
  readonly #pools: Pools;
  readonly #answerMs: number;

  constructor({ connectMs, answerMs }: { connectMs: number; answerMs: number }) {
    this.#pools = new Pools(connectMs);
    this.#answerMs = answerMs;
  }

  destroy(): Promise<void> {
    return this.#pools.destroy();
  }

  /** @throws BmcError without an answer; the reason of the signal when it aborted. */
  async exchange(access: Access, exchange: Exchange): Promise<RedfishAnswer> {
    const either = new AbortController();
    let late = false;
    // Cleared after the answer: a timer of each of many requests would outlive it and abort what has ended.
    const timer = setTimeout(() => {
      late = true;
      either.abort(new Error('late'));
    }, this.#answerMs);
    const end = (): void => either.abort(exchange.signal.reason);
    if (exchange.signal.aborted) end();
    exchange.signal.addEventListener('abort', end, { once: true });
    try {
      return await this.#follow(access, exchange, { isLate: () => late, either: either.signal });
    } finally {
      clearTimeout(timer);
      exchange.signal.removeEventListener('abort', end);
    }
  }

  /**
   * Reads a stream of server-sent events until it ends, and gives the data of each. It follows no redirect.
   * @throws Error when the controller refuses the stream, or it breaks
   */
  async listen(
    access: Access,
    { url, headers, signal, onOpen, onData }: Pick<Exchange, 'url' | 'headers' | 'signal'> & EventReader,
  ): Promise<void> {
    const dispatcher = this.#pools.for(access.trust, access.node);
    const late = AbortSignal.timeout(this.#answerMs);
    const opening = new AbortController();
    const end = (): void => opening.abort(late.aborted ? late.reason : signal.reason);
    signal.addEventListener('abort', end, { once: true });
    late.addEventListener('abort', end, { once: true });
    try {
      if (signal.aborted) end();
      const { statusCode, body } = await request(url, { headers, dispatcher, signal: opening.signal });
      late.removeEventListener('abort', end);
      if (statusCode !== 200) {
        body.destroy();
        throw new Error(`it answered ${statusCode} to GET ${url.href}`);
      }
      onOpen();
      const broken = (error: Error): void => void body.destroy(error);
      const parser = createParser({
        onEvent: ({ data }) => onData(data),
        onError: (error) => error.type === 'max-buffer-size-exceeded' && broken(error),
        maxBufferSize: largestEvent,
      });
      const decoder = new TextDecoder();
      for await (const chunk of body as AsyncIterable<Buffer>) parser.feed(decoder.decode(chunk, { stream: true }));
    } finally {
      signal.removeEventListener('abort', end);
      late.removeEventListener('abort', end);
    }
  }

  async #follow(
    access: Access,
    { method, url: from, headers, body, signal }: Exchange,
    { isLate, either }: { isLate: () => boolean; either: AbortSignal },
  ): Promise<RedfishAnswer> {
    const dispatcher = this.#pools.for(access.trust, access.node);
    let url = from;
    for (let redirects = 0; ; redirects += 1) {
      let answer: Dispatcher.ResponseData;
      let text: string;
      try {
        answer = await request(url, {
          method,
          headers,
          dispatcher,
          signal: either,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        text = await readBounded(answer.body);
      } catch (error) {
        throw await this.#unanswered(error, { access, method, url, signal, late: isLate() });
      }
      const header = (name: string): string | undefined => {
        const value = answer.headers[name];
        return Array.isArray(value) ? value[0] : value;
      };
      const location = header('location');
      if ([301, 302, 307, 308].includes(answer.statusCode) && location !== undefined && redirects < 5) {
        url = ownUrl(access, location, { what: `the redirect of ${method} ${url.pathname}`, from: url });
        continue;
      }
      const parsed = parse(text);
      const { '@odata.etag': inside } = parsed.body;
      return {
        status: answer.statusCode,
        ...parsed,
        // Some controllers show the tag only in the document.
        etag: header('etag') ?? (typeof inside === 'string' ? inside : undefined),
        location: location === undefined ? undefined : placeIn(url, location),
        retryAfterMs: retryAfter(header('retry-after')),
        token: header('x-auth-token'),
      };
    }
  }

  async #unanswered(
    error: unknown,
    {
      access: { node },
      method,
      url,
      signal,
      late,
    }: { access: Access; method: Method; url: URL; signal: AbortSignal; late: boolean },
  ): Promise<unknown> {
    const details = { node, url: url.href, method };
    const unreachable = (why: string, repeat: Repeat): BmcError =>
      new BmcError('BmcUnreachable', `The BMC of node ${node} does not answer: ${method} ${url.href}: ${why}`, {
        repeat,
        cause: error,
        details,
      });
    if (signal.aborted) {
      const { reason } = signal as { reason: unknown };
      return reason instanceof BmcError ? unreachable('no complete answer in time', 'never') : reason;
    }
    if (late) return unreachable(`no complete answer within ${this.#answerMs / 1000} s`, 'never');
    const refusal = await tlsRefusal(error, url);
    if (refusal !== undefined) {
      const message = `The BMC of node ${node} at ${url.origin} cannot be trusted: ${refusal}`;
      return new BmcError('BmcMisconfigured', message, { repeat: 'never', cause: error, details });
    }
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const sent = !neverSent.has(code) && code !== 'UND_ERR_CONNECT_TIMEOUT';
    return unreachable(error instanceof Error ? error.message : String(error), sent ? 'idempotent' : 'always');
  }
}

/** A relative address belongs to that of the request, but some firmware leaves out the first slash of a path. */
function placeIn(url: URL, location: string): string {
  if (!URL.canParse(location, url.href)) return location;
  const { pathname, search, href } = new URL(location.replace(/^redfish\//, '/redfish/'), url);
  return isOwn({ address: url.origin }, href) ? `${pathname}${search}` : href;
}

/** Without an iterator, which costs more memory than a usual answer. */
function readBounded(body: Dispatcher.ResponseData['body']): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    body.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= largestAnswer) chunks.push(chunk);
      else body.destroy(new Error(`its answer is larger than ${largestAnswer / 1_000_000} MB`));
    });
    body.once('end', () => resolve(Buffer.concat(chunks, size).toString('utf8')));
    body.once('error', reject);
    body.once('close', () => reject(new Error('its answer ended early')));
  });
}

function parse(text: string): Pick<RedfishAnswer, 'body' | 'problem'> {
  if (text === '') return { body: {}, problem: 'the answer is empty' };
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return { body: value, problem: undefined };
    return { body: {}, problem: `the answer is not a JSON object but begins with ${beginning(text)}` };
  } catch {
    return { body: { text: beginning(text) }, problem: `the answer is not JSON but begins with ${beginning(text)}` };
  }
}

/** The first characters, without control characters, which could corrupt a log or a terminal. */
const beginning = (text: string): string => JSON.stringify(text.slice(0, 60).replaceAll(/[\p{Cc}\p{Cf}\ufffd]/gu, '.'));

function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}
