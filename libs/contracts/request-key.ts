/** The key of a request that its client may send again, as in the IETF's draft "The Idempotency-Key HTTP Header Field". */

/** The header of the key. */
export const keyHeader = 'idempotency-key';
/** The header of an answer that was given before to the same request: `true`. */
export const replayedHeader = 'idempotency-replayed';
/**
 * The header of a login's answer that names what this server does beyond the APIs of others: `Idempotency-Key`. A client
 * repeats a request to an older server only by hand.
 */
export const acceptsHeader = 'x-anneal-accepts';
/** The most characters of a key. */
export const longestKey = 255;

/** A new key. Works also on a page that came without TLS, where a browser has no `randomUUID`. */
export const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
