/** Tokens of users as they are stored: by the hash of their text. They survive a restart. */
import { createHash } from 'node:crypto';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { readTrustToken } from '@anneal/runtime/secrets/trust-token.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { DirectoryReader } from './reader.ts';

/** The scope that a token was issued for. All absent or null: no scope. */
export interface TokenScope {
  readonly project_id: string | null;
  readonly domain_id?: string;
  readonly system?: boolean;
}

/** A token. Its id is the hash of its text. */
export interface TokenDocument extends Document, TokenScope {
  readonly user_id: string;
  readonly methods: string[];
  /** Its own audit id, and that of the first token of its chain. */
  readonly audit_ids: string[];
  /** The audit id of the first token of its chain, or null for the first token itself. */
  readonly chain?: string | null;
  readonly application_credential_id?: string;
  readonly trust_id?: string;
  readonly issued_at: string;
  readonly expires_at: string;
}

/** False from the end of a token on. */
export const isLive = ({ expires_at }: TokenDocument, now: Date): boolean => expires_at > now.toISOString();

/** The id of the token with this text. */
export const tokenHash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Opens the collection of tokens. Its name is that of version 0.1.0. */
export const openTokenCollection = (store: Store): Promise<Collection<TokenDocument>> =>
  store.collection<TokenDocument>({
    name: 'gateway_tokens',
    indexes: [{ fields: ['expires_at'] }, { fields: ['chain'], only: { field: 'chain' } }],
  });

/** Finds the tokens of users. */
export interface TokenReader {
  /** Undefined for a token that is unknown or has ended. */
  find(text: string): Promise<TokenDocument | undefined>;
}

/** Opens the reader of tokens: those that are stored, and those that a service of Anneal made for a trust. */
export async function openTokenReader({
  store,
  secrets,
  directory: { trusts },
  now,
}: {
  store: Store;
  secrets: Secrets;
  directory: Pick<DirectoryReader, 'trusts'>;
  now: () => Date;
}): Promise<TokenReader> {
  const tokens = await openTokenCollection(store);

  const ofTrust = async (text: string): Promise<TokenDocument | undefined> => {
    const read = readTrustToken(secrets, text);
    const trust = read && (await trusts.find(read.trust));
    if (!read || !trust) return undefined;
    return {
      id: tokenHash(text),
      version: 1,
      user_id: trust.trustor_user_id,
      project_id: trust.project_id,
      trust_id: trust.id,
      methods: ['token'],
      audit_ids: [],
      issued_at: read.from.toISOString(),
      expires_at: read.until.toISOString(),
    };
  };

  return {
    async find(text) {
      const found = (await ofTrust(text)) ?? (await tokens.get(tokenHash(text)));
      return found && isLive(found, now()) ? found : undefined;
    },
  };
}
