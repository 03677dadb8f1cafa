/** The provider of each resource type, from announcements that are stored. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { queuesOfService, serviceNames } from '@anneal/contracts/queues.ts';
import type { ProviderAnnouncement } from '@anneal/contracts/resource.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { SchedulingCollections } from './collections.ts';

const ownQueues: ReadonlySet<string> = new Set(serviceNames.flatMap(queuesOfService));

export interface ProviderDirectory {
  announce(announcement: ProviderAnnouncement): Promise<void>;
  typeOf(type: string): ResourceType | undefined;
  queueOf(type: string): string | undefined;
  /** Whether a program that is not one of our services serves the type, so that its responses come from outside. */
  isForeign(type: string): boolean;
  types(): string[];
  /** Reads the announcements that other replicas received. */
  refresh(): Promise<void>;
}

export async function createProviders(
  collection: SchedulingCollections['providers'],
  builtIn: readonly ResourceType[],
): Promise<ProviderDirectory> {
  const routes = new Map<string, { definition: ResourceType; queue: string }>();
  // Definitions of the built-in types. They define how to compare properties before their provider announces itself.
  const known = new Map(builtIn.map((definition) => [definition.type, definition]));

  const take = (announcement: ProviderAnnouncement): void => {
    for (const definition of announcement.types) routes.set(definition.type, { definition, queue: announcement.queue });
  };
  const refresh = async (): Promise<void> => {
    for (const { announcement } of await collection.find({ where: {} })) {
      take(announcement);
    }
  };
  await refresh();

  return {
    async announce(announcement) {
      const [outcome] = await collection.bulk([{ kind: 'put', document: { id: announcement.provider, announcement } }]);
      if (outcome !== 'done')
        throw new AnnealError('Unavailable', `The announcement of ${announcement.provider} was not stored.`);
      take(announcement);
    },
    typeOf: (type) => routes.get(type)?.definition ?? known.get(type),
    queueOf: (type) => routes.get(type)?.queue,
    isForeign: (type) => {
      const queue = routes.get(type)?.queue;
      return queue === undefined ? !known.has(type) : !ownQueues.has(queue);
    },
    types: () => [...routes.keys()].sort(),
    refresh,
  };
}
