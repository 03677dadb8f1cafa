/** Tokens of users: random, stored only as a hash, removed at expiry or revocation. They survive a restart. */
import { createHash, randomBytes } from 'node:crypto';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { readTrustToken } from '@anneal/runtime/secrets/trust-token.ts';
import type { Document, Store } from '@anneal/store/port.ts';
import type { Directory } from './directory/directory.ts';

/** The scope that a token was issued for. All absent or null: no scope. */
export interface TokenScope {
  readonly project_id: string | null;
  readonly domain_id?: string;
  readonly system?: boolean;
}

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

/** The user and the scope of a new token. */
export interface TokenRequest {
  readonly userId: string;
  readonly scope: TokenScope;
  readonly methods: readonly string[];
  /** The token that this one is derived from. A derived token never outlives it. */
  readonly parent?: TokenDocument;
  readonly applicationCredentialId?: string;
  readonly trustId?: string;
}

export interface Tokens {
  issue(request: TokenRequest): Promise<{ text: string; document: TokenDocument }>;
  find(text: string): Promise<TokenDocument | undefined>;
  /** Ends a token, and those that were derived from it when it is the first of its chain. */
  revoke(text: string): Promise<void>;
}

/** False from the end of a token on. */
export const isLive = ({ expires_at }: TokenDocument, now: Date): boolean => expires_at > now.toISOString();

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

export async function openTokens({
  store,
  secrets,
  directory: { revision, trusts },
  now,
  lifetimeMs,
}: {
  store: Store;
  secrets: Secrets;
  /** Its revision is raised when a token is revoked. */
  directory: Pick<Directory, 'revision' | 'trusts'>;
  now: () => Date;
  lifetimeMs: number;
}): Promise<Tokens> {
  const tokens = await store.collection<TokenDocument>({
    name: 'gateway_tokens',
    indexes: [{ fields: ['expires_at'] }, { fields: ['chain'], only: { field: 'chain' } }],
  });

  const sweep = async (): Promise<void> => {
    const expired = await tokens.find({
      where: { expires_at: { lt: now().toISOString() } },
      orderBy: ['expires_at'],
      limit: 100,
    });
    if (expired.length > 0) await tokens.bulk(expired.map(({ id }) => ({ kind: 'remove', id })));
  };

  /** A token that a service of Anneal made for a trust. */
  const ofTrust = async (text: string): Promise<TokenDocument | undefined> => {
    const read = readTrustToken(secrets, text);
    const trust = read && (await trusts.find(read.trust));
    if (!read || !trust) return undefined;
    return {
      id: hashOf(text),
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
    async issue({ userId, scope, methods, parent, applicationCredentialId, trustId }) {
      // Each new token removes some expired ones, so the collection stays bounded without a timer.
      await sweep();
      const text = `gAAAAA${randomBytes(48).toString('base64url')}`;
      const at = now();
      const chain = parent?.audit_ids.at(-1);
      const document = await tokens.insert({
        id: hashOf(text),
        user_id: userId,
        ...scope,
        methods: [...new Set([...methods, ...(parent?.methods ?? [])])],
        audit_ids: [randomBytes(16).toString('base64url'), ...(chain === undefined ? [] : [chain])],
        chain: chain ?? null,
        ...(applicationCredentialId !== undefined && { application_credential_id: applicationCredentialId }),
        ...(trustId !== undefined && { trust_id: trustId }),
        issued_at: at.toISOString(),
        expires_at: parent?.expires_at ?? new Date(at.getTime() + lifetimeMs).toISOString(),
      });
      return { text, document };
    },
    async find(text) {
      const found = (await ofTrust(text)) ?? (await tokens.get(hashOf(text)));
      return found && isLive(found, now()) ? found : undefined;
    },
    async revoke(text) {
      const found = await tokens.get(hashOf(text));
      if (!found) return;
      const [own = ''] = found.audit_ids;
      // The derived tokens first: after a crash between the two, the caller can still revoke the first one again.
      const derived = await tokens.find({ where: { chain: own } });
      await revision.raiseAfter(() => tokens.bulk([...derived, found].map(({ id }) => ({ kind: 'remove', id }))));
    },
  };
}
