/** Issues and revokes tokens of users: random, stored only as a hash, removed at expiry or revocation. */
import { randomBytes } from 'node:crypto';
import type { DirectoryRevision } from '@anneal/directory/revision.ts';
import { openTokenCollection, tokenHash, type TokenDocument, type TokenScope } from '@anneal/directory/tokens.ts';
import type { Store } from '@anneal/store/port.ts';

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

export interface TokenWriter {
  issue(request: TokenRequest): Promise<{ text: string; document: TokenDocument }>;
  /** Ends a token, and those that were derived from it when it is the first of its chain. */
  revoke(text: string): Promise<void>;
}

export async function openTokenWriter({
  store,
  revision,
  now,
  lifetimeMs,
}: {
  store: Store;
  /** Raised when a token is revoked. */
  revision: DirectoryRevision;
  now: () => Date;
  lifetimeMs: number;
}): Promise<TokenWriter> {
  const tokens = await openTokenCollection(store);

  const sweep = async (): Promise<void> => {
    const expired = await tokens.find({
      where: { expires_at: { lt: now().toISOString() } },
      orderBy: ['expires_at'],
      limit: 100,
    });
    if (expired.length > 0) await tokens.bulk(expired.map(({ id }) => ({ kind: 'remove', id })));
  };

  return {
    async issue({ userId, scope, methods, parent, applicationCredentialId, trustId }) {
      // Each new token removes some expired ones, so the collection stays bounded without a timer.
      await sweep();
      const text = `gAAAAA${randomBytes(48).toString('base64url')}`;
      const at = now();
      const chain = parent?.audit_ids.at(-1);
      const document = await tokens.insert({
        id: tokenHash(text),
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
    async revoke(text) {
      const found = await tokens.get(tokenHash(text));
      if (!found) return;
      const [own = ''] = found.audit_ids;
      // The derived tokens first: after a crash between the two, the caller can still revoke the first one again.
      const derived = await tokens.find({ where: { chain: own } });
      await revision.raiseAfter(() => tokens.bulk([...derived, found].map(({ id }) => ({ kind: 'remove', id }))));
    },
  };
}
