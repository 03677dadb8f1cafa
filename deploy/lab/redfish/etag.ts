/** Versions of documents: a client changes only the version that it read. */
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RedfishError } from './errors.ts';

const etagOf = (body: object): string =>
  `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 16)}"`;

export function tagged(request: FastifyRequest, reply: FastifyReply, body: object): FastifyReply {
  const tag = etagOf(body);
  void reply.header('etag', tag);
  if (request.headers['if-none-match'] === tag) return reply.code(304).send();
  return reply.send({ ...body, '@odata.etag': tag });
}

/** Also accepts a weak tag of the same content, because some clients confuse weak and strong tags. */
export function requireMatch(request: FastifyRequest, body: object): void {
  const required = request.headers['if-match'];
  if (required === undefined || required === '*') return;
  const tags = required.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (tags.includes(etagOf(body))) return;
  throw new RedfishError(
    'PreconditionFailed',
    'The ETag supplied did not match the ETag required to change this resource.',
  );
}
