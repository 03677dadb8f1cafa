/**
 * Requests over `node:http`, for programs that run for one request: Node needs several times as long to load `fetch`.
 * It follows redirects within one server only, because the requests have a token.
 */
import type { IncomingMessage, request } from 'node:http';
import { redirectOf } from './own-fetch.ts';
import type { WholeAnswer, RequestOptions } from './reach.ts';

/** Without `import`, which reads every export: `WebSocket` of `node:http` loads `fetch`, 60 ms of processor time. */
const requestOf = (protocol: string): typeof request =>
  protocol === 'https:'
    ? process.getBuiltinModule('node:https').request
    : process.getBuiltinModule('node:http').request;

/** Reads the whole answer. @throws Error with a code when no server answers; the reason of the abort */
export async function plainHttp(url: URL, asked: RequestOptions): Promise<WholeAnswer> {
  let target = url;
  for (let redirects = 0; ; redirects += 1) {
    const { status, headers, body } = await exchange(target, asked);
    const answer = { status, location: headers.location };
    const next = redirectOf(answer, { url: target, method: asked.method, redirects });
    if (!next) {
      return {
        status,
        ok: status >= 200 && status < 300,
        headers: { get: (name) => [headers[name.toLowerCase()]].flat()[0] ?? null },
        text: () => Promise.resolve(body),
      };
    }
    target = next;
  }
}

function exchange(
  url: URL,
  { method, headers, body, signal }: RequestOptions,
): Promise<{ status: number; headers: IncomingMessage['headers']; body: string }> {
  return new Promise((resolve, reject) => {
    if (typeof body === 'object') throw new TypeError('Only fetch sends a stream.');
    const sent = requestOf(url.protocol)(url, {
      method: method ?? 'GET',
      headers: { ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
      ...(signal && { signal }),
    });
    sent.once('error', (error) => reject(signal?.aborted ? (signal.reason as Error) : error));
    sent.once('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(pieces).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
      });
    });
    sent.end(body);
  });
}
