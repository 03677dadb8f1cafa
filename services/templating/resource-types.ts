/** Which resource types there are: the built-in ones, always, and those that providers have announced. */
import type { ProviderAnnouncement } from '@anneal/contracts/resource.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { configurationTypes } from '@anneal/hot/types/configuration.ts';
import { nestedTypes, scalingTypes } from '@anneal/hot/types/nested.ts';
import { provisioningTypes } from '@anneal/hot/types/provisioning.ts';
import { schedulingTypes } from '@anneal/hot/types/scheduling.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';

interface ProviderDocument extends Document {
  /** The same in all, so that all of them are one query. */
  readonly kind: 'provider';
  readonly queue: string;
  readonly types: readonly ResourceType[];
}

export type ServedType = ResourceType & { readonly provider: string };

export interface ResourceTypes {
  announce(announcement: ProviderAnnouncement): Promise<void>;
  list(): Promise<ServedType[]>;
}

const served = (types: readonly ResourceType[], provider: string): ServedType[] =>
  types.map((type) => ({ ...type, provider }));

const builtIn: readonly ServedType[] = [
  ...served([...schedulingTypes, ...nestedTypes, ...scalingTypes], 'anneal.scheduling'),
  ...served(provisioningTypes, 'anneal.provisioning'),
  ...served(configurationTypes, 'anneal.configuration'),
];

export async function openResourceTypes(store: Store): Promise<ResourceTypes> {
  const providers: Collection<ProviderDocument> = await store.collection({
    name: 'templating_providers',
    indexes: [{ fields: ['kind'] }],
  });
  return {
    async announce({ provider, queue, types }) {
      await providers.bulk([{ kind: 'put', document: { id: provider, kind: 'provider', queue, types } }]);
    },
    /** Read each time: another replica may have taken the announcement. */
    async list() {
      const known = new Map(builtIn.map((type) => [type.type, type]));
      const documents = await providers.find({ where: { kind: 'provider' } });
      for (const { id, types } of documents.sort((a, b) => (a.id < b.id ? -1 : 1))) {
        for (const type of types) {
          const before = known.get(type.type);
          // Nobody takes over a type that another provider serves.
          if (!before || before.provider === id) known.set(type.type, { ...type, provider: id });
        }
      }
      return [...known.values()].sort((a, b) => (a.type < b.type ? -1 : 1));
    },
  };
}
