/** The message ids of requests about resources. A message that is unreadable still has its id, which says what it asked. */

/** The request that a message id names. */
export type NamedRequest = { readonly resource: string } & (
  | { readonly kind: 'request' | 'cancel'; readonly fence: number }
  | { readonly kind: 'signal'; readonly signal: string }
);

/** Makes the message id of a request. A repeat of the request has the same. */
export function requestId(request: NamedRequest): string {
  switch (request.kind) {
    case 'request':
      return `${request.resource}:${request.fence}`;
    case 'cancel':
      return `${request.resource}:${request.fence}:cancel`;
    case 'signal':
      return `${request.resource}:signal:${request.signal}`;
  }
}

/** Reads the message id of a request. Undefined for an id that names none. */
export function requestOfId(id: string): NamedRequest | undefined {
  const [, resource = '', signal] = /^([^:]+):signal:(.+)$/s.exec(id) ?? [];
  if (signal !== undefined) return { kind: 'signal', resource, signal };
  const [, of = '', fence, cancel] = /^([^:]+):(\d+)(:cancel)?$/.exec(id) ?? [];
  return fence === undefined ? undefined : { kind: cancel ? 'cancel' : 'request', resource: of, fence: Number(fence) };
}
