/** Stores and revokes tokens of users: the hash alone, removed at expiry or revocation. */
import { randomBytes } from 'node:crypto';
import type { DirectoryRevision } from '@anneal/directory/revision.ts';
import { openTokenCollection, type TokenDocument, type TokenScope } from '@anneal/directory/tokens.ts';
import { DuplicateError, type Store } from '@anneal/store/port.ts';

/** A new token: its hash, its user and its scope. */
export interface TokenRequest {
  /** The hash of its text. */
  readonly id: string;
  readonly until: string;
  readonly userId: string;
  readonly scope: TokenScope;
  readonly methods: readonly string[];
  /** The token that this one is derived from. A derived token never outlives it. */
  readonly parent?: TokenDocument;
  readonly applicationCredentialId?: string;
  readonly trustId?: string;
}

export interface TokenWriter {
  find(id: string): Promise<TokenDocument | undefined>;
  /** Stores a token. A repeat changes nothing. */
  issue(request: TokenRequest): Promise<void>;
  /** Ends a token, and those that were derived from it when it is the first of its chain. */
  revoke(id: string): Promise<void>;
}

export async function openTokenWriter({
  store,
  revision,
  now,
}: {
  store: Store;
  /** Raised when a token is revoked. */
  revision: DirectoryRevision;
  now: () => Date;
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
    find: (id) => tokens.get(id),
    async issue({ id, until, userId, scope, methods, parent, applicationCredentialId, trustId }) {
      // Each new token removes some expired ones, so the collection stays bounded without a timer.
      await sweep();
      const chain = parent?.audit_ids.at(-1);
      try {
        await tokens.insert({
          id,
          user_id: userId,
          ...scope,
          methods: [...new Set([...methods, ...(parent?.methods ?? [])])],
          audit_ids: [randomBytes(16).toString('base64url'), ...(chain === undefined ? [] : [chain])],
          chain: chain ?? null,
          ...(applicationCredentialId !== undefined && { application_credential_id: applicationCredentialId }),
          ...(trustId !== undefined && { trust_id: trustId }),
          issued_at: now().toISOString(),
          expires_at: parent?.expires_at ?? until,
        });
      } catch (error) {
        if (!(error instanceof DuplicateError)) throw error;
      }
    },
    async revoke(id) {
      const found = await tokens.get(id);
      if (!found) return;
      const [own = ''] = found.audit_ids;
      // The derived tokens first: after a crash between the two, the caller can still revoke the first one again.
      const derived = await tokens.find({ where: { chain: own } });
      await revision.raiseAfter(() =>
        tokens.bulk([...derived, found].map((each) => ({ kind: 'remove', id: each.id }))),
      );
    },
  };
}
