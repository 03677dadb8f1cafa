/**
 * Addresses that a peer gave: links of its documents, `Location`, redirects. Credentials go only to the origin for which
 * they were given. Pure.
 */

/**
 * The URL of an address that a peer gave, without a user and a password, which the text may contain. Undefined when it leads
 * to another origin, or is no address.
 * @param own the address of the peer
 * @param from the URL that a relative address belongs to
 */
export function ownAddress(own: URL, given: string, from: URL = own): URL | undefined {
  const url = URL.parse(given, from.href);
  return url?.origin === own.origin ? new URL(`${own.origin}${url.pathname}${url.search}`) : undefined;
}

/** The place of an address for an error: its origin, or that it is none. */
export function placeOfAddress(given: string, from: URL): string {
  const url = URL.parse(given, from.href);
  if (url === null) return 'no address';
  return url.origin === 'null' ? url.protocol : url.origin;
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Whether an answer leads to another address. */
export const isRedirect = (status: number, location: string | null | undefined): location is string =>
  redirects.has(status) && typeof location === 'string';

/** A sentence about a redirect that was not followed, because it leads to another origin. */
export const foreignRedirect = (own: URL, location: string): string =>
  `The server at ${own.origin} redirects to ${placeOfAddress(location, own)}. Nothing was sent there, because credentials go ` +
  'only to the address that they were given for. If that is the right address, use it.';
