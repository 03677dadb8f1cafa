/**
 * Conditional reads: each successful answer to GET and HEAD has a tag of its bytes, and a client that has the same bytes
 * gets 304 without them. The work of the services is the same; the client and the network save the transfer.
 *
 * T1 The tag is weak, because a compressed answer has other bytes with the same meaning.
 * T2 A cache may store an answer only for its own user, and asks again before each use.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { bytesOf } from './compression.ts';
import { varyBy } from './vary.ts';

/** Whether `If-None-Match` names the tag. */
export function hasTag(named: string, tag: string): boolean {
  const plain = (text: string): string => text.trim().replace(/^W\//, '');
  return named.trim() === '*' || named.split(',').some((each) => plain(each) === plain(tag));
}

/** Answers conditional reads of the scope. Leaves answers that have their own tag. */
export function answerConditionally(scope: FastifyInstance): void {
  scope.addHook('onSend', async (request, reply, payload: unknown) => {
    const { method, headers, routeOptions } = request;
    if (routeOptions.config.sensitive === true) {
      void reply.header('cache-control', 'no-store');
      return payload;
    }
    if (!['GET', 'HEAD'].includes(method) || reply.statusCode !== 200 || reply.hasHeader('etag')) return payload;
    const bytes = bytesOf(reply, payload);
    if (bytes === undefined) return payload;
    const tag = `W/"${createHash('sha1').update(bytes).digest('base64url')}"`;
    void reply.headers({ etag: tag, 'cache-control': 'private, no-cache' });
    varyBy(reply, 'Accept-Encoding');
    if (!hasTag(headers['if-none-match'] ?? '', tag)) return payload;
    void reply.code(304).removeHeader('content-length').removeHeader('content-type');
    return null;
  });
}
