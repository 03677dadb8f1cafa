/** Answers with the content of an image, or the part of it that the request asks for. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { requestedPart } from '../http/requested-part.ts';
import type { ImageUploads } from './uploads.ts';

export function sendContent(
  { content, size }: Pick<Awaited<ReturnType<ImageUploads['read']>>, 'content' | 'size'>,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): FastifyReply {
  const part = requestedPart(request.headers.range, size);
  void reply.type('application/octet-stream').header('accept-ranges', 'bytes');
  if (part === 'unsatisfiable') return reply.code(416).header('content-range', `bytes */${size}`).send();
  const { start, end } = part ?? { start: 0, end: size };
  if (part) void reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${size}`);
  void reply.header('content-length', end - start);
  return request.method === 'HEAD' ? reply.send() : reply.send(content({ start, end }));
}
