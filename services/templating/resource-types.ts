/** The known resource types: the built-in types, and the types that providers have announced. */
import type { ProviderAnnouncement } from '@anneal/contracts/resource.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { servedTypes } from '@anneal/hot/types/served.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';

interface ProviderDocument extends Document {
  /** The same in all documents, so that one query finds all of them. */
  readonly kind: 'provider';
  readonly queue: string;
  readonly types: readonly ResourceType[];
}

export type ServedType = ResourceType & { readonly provider: string };

export interface ResourceTypes {
  announce(announcement: ProviderAnnouncement): Promise<void>;
  list(): Promise<ServedType[]>;
}

const builtIn: readonly ServedType[] = Object.entries(servedTypes).flatMap(([provider, types]) =>
  types.map((type: ResourceType) => ({ ...type, provider })),
);

export async function openResourceTypes(store: Store): Promise<ResourceTypes> {
  const providers: Collection<ProviderDocument> = await store.collection({
    name: 'templating_providers',
    indexes: [{ fields: ['kind'] }],
  });
  return {
    async announce({ provider, queue, types }) {
      await providers.bulk([{ kind: 'put', document: { id: provider, kind: 'provider', queue, types } }]);
    },
    /** Reads the store each time, because another replica may have received an announcement. */
    async list() {
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
    },
  };
}
