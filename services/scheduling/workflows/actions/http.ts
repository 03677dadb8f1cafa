/** The action std.http: one request over HTTP, with limits on time, bytes and targets. Redirects are not followed. */
import { readWebAddress } from '@anneal/contracts/readers/web-address.ts';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIpAddress } from '@anneal/contracts/readers/ip.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { jsonOrText } from '@anneal/contracts/plain-json.ts';
import type { Result } from '@anneal/provider/document.ts';
import { isPublic, privateTarget, publicLookupFor } from '@anneal/runtime/network/public-address.ts';

const setting = 'ANNEAL_SCHEDULING_ALLOW_PRIVATE';
const lookup = publicLookupFor(setting);
const defaultSeconds = 60;
/** Bytes of an answer; a longer one fails the action. */
const mostBytes = 512 * 1024;

interface Answered {
  readonly status: number;
  readonly reason: string;
  readonly headers: JsonObject;
  readonly content: Json;
}

/** Sends the request of an action. A status outside 200 to 306, and any error of the network, fails it. */
export async function callHttp(
  { id, input }: { id: string; input: JsonObject },
  { allowPrivate }: { allowPrivate: boolean },
): Promise<Result> {
  const failed = (message: string, result: Json = message): Result => ({
    kind: 'failed',
    error: { code: 'ResourceFailed', message, details: { result } },
  });
  const url = targetOf(input);
  if (typeof url === 'string') return failed(url);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // A literal address needs no lookup, so check it here.
  if (!allowPrivate && isIpAddress(host) && !isPublic(host)) return failed(privateTarget(host, host, setting));
  const seconds = Number(input['timeout'] ?? defaultSeconds);
  if (!(seconds > 0))
    return failed(`timeout must be a number of seconds above 0, not ${JSON.stringify(input['timeout'])}`);
  try {
    const answered = await send(url, { id, input, ms: Math.min(seconds, 3600) * 1000, allowPrivate });
    const result = { ...answered, url: url.href };
    if (answered.status >= 200 && answered.status <= 306) return { kind: 'complete', attributes: { result } };
    return failed(`${url.origin} answered ${answered.status} ${answered.reason}`.trim(), result);
  } catch (error) {
    const reason = error instanceof Error ? error.message || error.name : String(error);
    return failed(`${url.origin} was not reached: ${reason}`);
  }
}

function targetOf(input: JsonObject): URL | string {
  const given = input['url'];
  const url = typeof given === 'string' ? readWebAddress(given) : undefined;
  if (!url) return `url must be an address that begins with http:// or https://, not ${JSON.stringify(given ?? null)}`;
  if (url.username !== '' || url.password !== '') return 'url must not contain a user or password; send a header';
  const { params } = input;
  if (isObject(params))
    for (const [name, value] of Object.entries(params)) url.searchParams.append(name, textOf(value));
  return url;
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

function send(
  url: URL,
  { id, input, ms, allowPrivate }: { id: string; input: JsonObject; ms: number; allowPrivate: boolean },
): Promise<Answered> {
  const { body, json, headers, method } = input;
  const content = json ?? body;
  const isText = json === undefined && typeof body === 'string';
  const own = isObject(headers)
    ? Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), textOf(value)]))
    : {};
  const start = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = start(
      url,
      {
        method: typeof method === 'string' ? method.toUpperCase() : 'GET',
        signal: AbortSignal.timeout(ms),
        headers: {
          'user-agent': 'anneal',
          'idempotency-key': id,
          ...(content !== undefined && !isText && { 'content-type': 'application/json' }),
          ...own,
        },
        ...(!allowPrivate && { lookup }),
      },
      (response) => {
        read(response).then(resolve, reject);
      },
    );
    request.on('error', (error) => {
      reject(
        error.name === 'TimeoutError' || error.name === 'AbortError'
          ? new Error(`no answer within ${ms / 1000} s`)
          : error,
      );
    });
    request.end(content === undefined || content === null ? undefined : textOf(content));
  });
}

async function read(response: IncomingMessage): Promise<Answered> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) {
      response.destroy();
      throw new Error(`the answer is larger than ${mostBytes} bytes`);
    }
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const headers = Object.entries(response.headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return {
    status: response.statusCode ?? 0,
    reason: response.statusMessage ?? '',
    headers: Object.fromEntries(headers) as JsonObject,
    content: jsonOrText(text),
  };
}
