/** Tokens of users: random, stored only as a hash, removed at expiry or revocation. They survive a restart. */
import { createHash, randomBytes } from 'node:crypto';
import type { Document, Store } from '@anneal/store/port.ts';

export interface TokenDocument extends Document {
  readonly user_id: string;
  readonly project_id: string | null;
  readonly methods: string[];
  readonly audit_ids: string[];
  readonly issued_at: string;
  readonly expires_at: string;
}

export interface Tokens {
  issue(parameters: {
    userId: string;
    projectId: string | null;
    methods: string[];
    /** The token that this one is derived from. A derived token never outlives it. */
    parent?: TokenDocument;
  }): Promise<{ text: string; document: TokenDocument }>;
  find(text: string): Promise<TokenDocument | undefined>;
  revoke(text: string): Promise<boolean>;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

export async function openTokens({
  store,
  now,
  lifetimeMs,
}: {
  store: Store;
  now: () => Date;
  lifetimeMs: number;
}): Promise<Tokens> {
  const tokens = await store.collection<TokenDocument>({
    name: 'gateway_tokens',
    indexes: [{ fields: ['expires_at'] }],
  });

  const sweep = async (): Promise<void> => {
    const expired = await tokens.find({
      where: { expires_at: { lt: now().toISOString() } },
      orderBy: ['expires_at'],
      limit: 100,
    });
    if (expired.length > 0) await tokens.bulk(expired.map(({ id }) => ({ kind: 'remove', id })));
  };

  return {
    async issue({ userId, projectId, methods, parent }) {
      // Each new token removes some expired ones, so the collection stays bounded without a timer.
      await sweep();
      const text = `gAAAAA${randomBytes(48).toString('base64url')}`;
      const at = now();
      const document = await tokens.insert({
        id: hashOf(text),
        user_id: userId,
        project_id: projectId,
        methods: [...new Set([...methods, ...(parent?.methods ?? [])])],
        audit_ids: [randomBytes(16).toString('base64url'), ...(parent?.audit_ids.slice(-1) ?? [])],
        issued_at: at.toISOString(),
        expires_at: parent?.expires_at ?? new Date(at.getTime() + lifetimeMs).toISOString(),
      });
      return { text, document };
    },
    async find(text) {
      const found = await tokens.get(hashOf(text));
      return found && found.expires_at > now().toISOString() ? found : undefined;
    },
    revoke: (text) => tokens.remove(hashOf(text)),
  };
}
