/**
 * A token by which a service of Anneal acts for a user: that of a trust, for a few minutes. It is signed, not stored, and
 * gives nothing once the trust has ended, so that the user can take it back at any time.
 */
import { z } from 'zod';
import type { Secrets } from './secrets.ts';
import { readSignedToken, signedToken, type TokenKind } from './signed-token.ts';

const tokenSchema = z.object({ trust: z.string(), at: z.int() });

const kind: TokenKind = { kind: 'trust', signedText: (body) => `token of a trust ${body}` };
/** The clocks of the services may differ by some of it. */
const validMs = 300_000;
/** Tokens of the same minute are equal, so that the gateway remembers the user. */
const stepMs = 60_000;

/** A token of the trust with this id. `now`: the system clock, in milliseconds. */
export function trustToken(secrets: Secrets, trust: string, now: number): string {
  return signedToken(secrets, kind, { trust, at: now - (now % stepMs) });
}

/** The trust of a token, and from when to when the token is valid. Undefined when the text is no token of `trustToken`. */
export function readTrustToken(
  secrets: Secrets,
  text: string,
): { readonly trust: string; readonly from: Date; readonly until: Date } | undefined {
  const value = readSignedToken(secrets, kind, text);
  if (value === undefined) return undefined;
  const { trust, at } = tokenSchema.parse(value);
  return { trust, from: new Date(at), until: new Date(at + validMs) };
}

/** The id of the trust by which messages of a subscription to a queue are posted. */
export const trustOfSubscription = (subscription: string): string => subscription.replaceAll('-', '');
