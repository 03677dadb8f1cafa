/**
 * New tokens: the gateway makes the text, and the identity service stores its hash after it has checked the login. The
 * gateway then reads what the token allows, as for every later request.
 */
import { randomBytes } from 'node:crypto';
import { identityTokenIssue } from '@anneal/contracts/calls/identity.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { accessOfToken } from '@anneal/directory/access.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import { tokenHash, type TokenReader } from '@anneal/directory/tokens.ts';
import type { Ask } from '../ask.ts';
import type { TokenAccess } from './known-users.ts';

export interface NewTokenOptions {
  readonly ask: Ask;
  readonly directory: DirectoryReader;
  readonly tokens: TokenReader;
  readonly now: () => Date;
  readonly lifetimeMs: number;
}

/** A token with its text. */
export interface IssuedToken extends TokenAccess {
  readonly text: string;
}

/** The parts of a token that the identity service stores. */
export interface StoredToken {
  /** The hash of its text. */
  readonly token: string;
  readonly until: string;
}

/**
 * Makes a token, which `store` asks the identity service to store. Undefined when `store` says that there is none.
 * @throws AnnealError Unauthorized when it gives no access, because its user has lost it meanwhile; what `store` throws
 */
export async function tokenUnless(
  { directory, tokens, now, lifetimeMs }: Omit<NewTokenOptions, 'ask'>,
  store: (stored: StoredToken) => Promise<{ readonly isMissing: boolean }>,
): Promise<IssuedToken | undefined> {
  const text = `gAAAAA${randomBytes(48).toString('base64url')}`;
  const until = new Date(now().getTime() + lifetimeMs).toISOString();
  if ((await store({ token: tokenHash(text), until })).isMissing) return undefined;
  const token = await tokens.find(text);
  const access = token && (await accessOfToken(directory, token, now()));
  if (!access) throw unauthorized();
  return { text, token, access };
}

/** Makes a token, which `store` asks the identity service to store. @throws AnnealError as `tokenUnless` */
export async function makeToken(
  options: Omit<NewTokenOptions, 'ask'>,
  store: (stored: StoredToken) => Promise<unknown>,
): Promise<IssuedToken> {
  const made = await tokenUnless(options, async (stored) => {
    await store(stored);
    return { isMissing: false };
  });
  if (!made) throw unauthorized();
  return made;
}

const unauthorized = (): AnnealError =>
  new AnnealError('Unauthorized', 'The request you have made requires authentication.');

/** Makes a token for a user whom the gateway has identified. */
export const issueToken = (
  options: NewTokenOptions,
  user: { readonly user: string; readonly project: string | null; readonly methods: string[] },
): Promise<IssuedToken> =>
  makeToken(options, (stored) => options.ask('identity', identityTokenIssue, { data: { ...stored, ...user } }));
