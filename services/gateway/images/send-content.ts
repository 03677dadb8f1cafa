/** Answers with the content of an image. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ImageUploads } from './uploads.ts';

export function sendContent(
  { content, size }: Pick<Awaited<ReturnType<ImageUploads['read']>>, 'content' | 'size'>,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): FastifyReply {
  void reply.type('application/octet-stream').header('content-length', size);
  if (request.method !== 'HEAD') return reply.send(content);
  content.destroy();
  return reply.send();
}
