/** The message ids of requests about resources. A message that is unreadable still has its id, which says what it asked. */

/** The request that a message id names. */
export type NamedRequest = { readonly resource: string } & (
  | { readonly kind: 'request' | 'cancel' | 'withdraw'; readonly fence: number }
  | { readonly kind: 'signal'; readonly signal: string }
);

/** Makes the message id of a request. A repeat of the request has the same. */
export function requestId(request: NamedRequest): string {
  switch (request.kind) {
    case 'request':
      return `${request.resource}:${request.fence}`;
    case 'cancel':
    case 'withdraw':
      return `${request.resource}:${request.fence}:${request.kind}`;
    case 'signal':
      return `${request.resource}:signal:${request.signal}`;
  }
}

/** Reads the message id of a request. Undefined for an id that names none. */
export function requestOfId(id: string): NamedRequest | undefined {
  const [, resource = '', signal] = /^([^:]+):signal:(.+)$/s.exec(id) ?? [];
  if (signal !== undefined) return { kind: 'signal', resource, signal };
  const [, of = '', fence, end = 'request'] = /^([^:]+):(\d+)(?::(cancel|withdraw))?$/.exec(id) ?? [];
  return fence === undefined
    ? undefined
    : { kind: end as 'request' | 'cancel' | 'withdraw', resource: of, fence: Number(fence) };
}
