/**
 * The base of links: the address of the request, so that links work through tunnels and under any name of the machine.
 */
import type { FastifyRequest } from 'fastify';

const plainHost = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?$/;

export function baseUrl(request: FastifyRequest): string {
  const host = request.host;
  // The client controls the Host header, so only a plain name is used in a link.
  if (plainHost.test(host)) return `${request.protocol}://${host}`;
  const { localAddress = '127.0.0.1', localPort = 0 } = request.socket;
  return `${request.protocol}://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}

/** The path as sent, without the query. */
export const requestPath = (request: FastifyRequest): string => request.url.split('?', 1)[0] ?? '/';

/** `?a=b`, as sent, or nothing. */
export const queryOf = (request: FastifyRequest): string => {
  const at = request.url.indexOf('?');
  return at < 0 ? '' : request.url.slice(at);
};

/** The query of the next page: that of the request, repeated parameters too, with the given ones instead of its own. */
export function nextQueryOf(request: FastifyRequest, given: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(queryOf(request));
  for (const [name, value] of Object.entries(given)) query.set(name, value);
  return `?${query.toString()}`;
}
