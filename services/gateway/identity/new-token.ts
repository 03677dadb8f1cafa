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

/**
 * Makes a token, which `store` asks the identity service to store.
 * @throws AnnealError Unauthorized when it gives no access, because its user has lost it meanwhile; what `store` throws
 */
export async function makeToken(
  { directory, tokens, now, lifetimeMs }: Omit<NewTokenOptions, 'ask'>,
  store: (stored: { readonly token: string; readonly until: string }) => Promise<unknown>,
): Promise<IssuedToken> {
  const text = `gAAAAA${randomBytes(48).toString('base64url')}`;
  await store({ token: tokenHash(text), until: new Date(now().getTime() + lifetimeMs).toISOString() });
  const token = await tokens.find(text);
  const access = token && (await accessOfToken(directory, token, now()));
  if (!access) throw new AnnealError('Unauthorized', 'The request you have made requires authentication.');
  return { text, token, access };
}

/** A token for a user whom the gateway has identified. */
export const issueToken = (
  options: NewTokenOptions,
  user: { readonly user: string; readonly project: string | null; readonly methods: string[] },
): Promise<IssuedToken> =>
  makeToken(options, (stored) => options.ask('identity', identityTokenIssue, { data: { ...stored, ...user } }));
