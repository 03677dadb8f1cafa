/** Tokens that are signed and not stored, `<kind>.<body>.<mac>`: safe in headers, paths and queries. */
import type { Secrets } from './secrets.ts';

/** One kind of token. */
export interface TokenKind {
  readonly kind: string;
  /** The text to sign for a body. No two kinds may have the same. */
  readonly signedText: (body: string) => string;
}

/** A token of this kind with a value of JSON, which its holder can read. */
export function signedToken(secrets: Secrets, { kind, signedText }: TokenKind, value: unknown): string {
  const body = Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${kind}.${body}.${secrets.sign(signedText(body))}`;
}

/** The value of a token. Undefined when the text is no token of this kind that was signed with our keys. */
export function readSignedToken(secrets: Secrets, { kind, signedText }: TokenKind, text: string): unknown {
  const [found, body, mac, ...rest] = text.split('.');
  if (found !== kind || body === undefined || mac === undefined || rest.length > 0) return undefined;
  if (!secrets.isSigned(signedText(body), mac)) return undefined;
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as unknown;
}
