/** The known resource types: the built-in types, and the types that providers have announced. */
import { createHash } from 'node:crypto';
import type { ProviderAnnouncement } from '@anneal/contracts/resource.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { servedTypes } from '@anneal/hot/served.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';

interface ProviderDocument extends Document {
  /** The same in the documents of all providers, so that one query finds them. The revision is a document beside them. */
  readonly kind: 'provider' | 'revision';
  readonly queue: string;
  readonly types: readonly ResourceType[];
}

export type ServedType = ResourceType & { readonly provider: string };

export interface ResourceTypes {
  announce(announcement: ProviderAnnouncement): Promise<void>;
  /** Shared by all callers. */
  list(): Promise<readonly ServedType[]>;
}

const builtIn: readonly ServedType[] = Object.entries(servedTypes).flatMap(([provider, types]) =>
  types.map((type: ResourceType) => ({ ...type, provider })),
);

const versions = new WeakMap<readonly ServedType[], string>();

/** Names a list of types by its content, so that it is the same at every replica. */
export function versionOf(types: readonly ServedType[]): string {
  const version = versions.get(types) ?? createHash('sha256').update(JSON.stringify(types)).digest('base64url');
  versions.set(types, version);
  return version;
}

/** Counts announcements: the long documents of the providers are read again only when it has changed. */
const revisionId = 'revision';
/** An earlier version of this service announces without a revision, and a writer may die before it writes it. */
const trustedMs = 5_000;

export async function openResourceTypes(store: Store): Promise<ResourceTypes> {
  const providers: Collection<ProviderDocument> = await store.collection({
    name: 'templating_providers',
    indexes: [{ fields: ['kind'] }],
  });
  const read = async (): Promise<readonly ServedType[]> => {
    const known = new Map(builtIn.map((type) => [type.type, type]));
    const documents = await providers.find({ where: { kind: 'provider' } });
    for (const { id, types } of documents.sort((a, b) => (a.id < b.id ? -1 : 1))) {
      for (const type of types) {
        const before = known.get(type.type);
        // A provider cannot replace a type that another provider serves.
        if (!before || before.provider === id) known.set(type.type, { ...type, provider: id });
      }
    }
    return [...known.values()].sort((a, b) => (a.type < b.type ? -1 : 1));
  };
  let known: { readonly revision: number; readonly readAt: number; readonly types: readonly ServedType[] } | undefined;
  return {
    async announce({ provider, queue, types }) {
      // The revision last, so that no reader keeps the earlier types under the new one.
      await providers.bulk([
        { kind: 'put', document: { id: provider, kind: 'provider', queue, types } },
        { kind: 'put', document: { id: revisionId, kind: 'revision', queue: '', types: [] } },
      ]);
    },
    /** Reads the revision in the store each time, because another replica may have received an announcement. */
    async list() {
      const readAt = performance.now();
      const revision = (await providers.get(revisionId))?.version ?? 0;
      if (known?.revision === revision && readAt - known.readAt < trustedMs) return known.types;
      const types = await read();
      known = { revision, readAt, types };
      return types;
    },
  };
}
