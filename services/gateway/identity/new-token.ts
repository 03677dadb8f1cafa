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

/** A token that the identity service has not stored yet. */
export interface DraftToken {
  readonly stored: StoredToken;
  /**
   * Reads the token after the identity service has stored it.
   * @throws AnnealError Unauthorized when it gives no access, because its user has lost it meanwhile
   */
  read(): Promise<IssuedToken>;
}

/** Makes a token. A question to the identity service stores it. */
export function draftToken({ directory, tokens, now, lifetimeMs }: Omit<NewTokenOptions, 'ask'>): DraftToken {
  const text = `gAAAAA${randomBytes(48).toString('base64url')}`;
  const until = new Date(now().getTime() + lifetimeMs).toISOString();
  return {
    stored: { token: tokenHash(text), until },
    async read() {
      const token = await tokens.find(text);
      const access = token && (await accessOfToken(directory, token, now()));
      if (access) return { text, token, access };
      throw new AnnealError('Unauthorized', 'The request you have made requires authentication.');
    },
  };
}

/** Makes a token for a user whom the gateway has identified. */
export async function issueToken(
  options: NewTokenOptions,
  user: { readonly user: string; readonly project: string | null; readonly methods: string[] },
): Promise<IssuedToken> {
  const draft = draftToken(options);
  await options.ask('identity', identityTokenIssue, { data: { ...draft.stored, ...user } });
  return draft.read();
}
