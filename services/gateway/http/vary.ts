/** Names the request headers that an answer depends on. */
import type { FastifyReply } from 'fastify';

/** Adds a request header to `Vary`, unless it is there. */
export function varyBy(reply: FastifyReply, name: string): void {
  const present = [reply.getHeader('vary') ?? []].flat().map(String);
  const names = present.flatMap((text) => text.split(',')).map((text) => text.trim().toLowerCase());
  if (!names.includes(name.toLowerCase())) void reply.header('vary', [...present, name].join(', '));
}
