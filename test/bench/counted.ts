/** A bus and a store that count their calls. */
import type { Bus } from '@anneal/bus/port.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';

export interface Counts {
  /** Round trips to the store. */
  storeCalls: number;
  documentsWritten: number;
  documentsRead: number;
  messages: number;
  events: number;
  /** Questions to other services. */
  calls: number;
}

export const noCounts = (): Counts => ({
  storeCalls: 0,
  documentsWritten: 0,
  documentsRead: 0,
  messages: 0,
  events: 0,
  calls: 0,
});

export function countedStore(store: Store, counts: Counts): Store {
  const read = async <T>(documents: Promise<T[]>): Promise<T[]> => {
    counts.storeCalls += 1;
    const found = await documents;
    counts.documentsRead += found.length;
    return found;
  };
  const wrote = <T>(documents: number, outcome: Promise<T>): Promise<T> => {
    counts.storeCalls += 1;
    counts.documentsWritten += documents;
    return outcome;
  };
  const counted = <T extends Document>(collection: Collection<T>): Collection<T> => ({
    insert: (document) => wrote(1, collection.insert(document)),
    async get(id) {
      const [found] = await read(collection.get(id).then((document) => (document ? [document] : [])));
      return found;
    },
    getMany: (ids) => read(collection.getMany(ids)),
    find: (query) => read(collection.find(query)),
    rows(query, paths) {
      counts.storeCalls += 1;
      return collection.rows(query, paths);
    },
    count(where) {
      counts.storeCalls += 1;
      return collection.count(where);
    },
    replace: (document, version) => wrote(1, collection.replace(document, version)),
    remove: (id, version) => wrote(1, collection.remove(id, version)),
    bulk: (operations) => wrote(operations.length, collection.bulk(operations)),
  });
  return {
    collection: async <T extends Document>(definition: Parameters<Store['collection']>[0]) =>
      counted(await store.collection<T>(definition)),
    blobs: store.blobs,
    check: () => store.check(),
    close: () => store.close(),
  };
}

/** `onEvent` is called when an event is durable. */
export function countedBus(bus: Bus, counts: Counts, onEvent?: (event: Envelope) => void): Bus {
  return {
    send(parameters) {
      counts.messages += parameters.messages.length;
      return bus.send(parameters);
    },
    publish(events) {
      counts.events += events.length;
      const published = bus.publish(events);
      return onEvent ? published.then(() => events.forEach(onEvent)) : published;
    },
    consume: (...given) => bus.consume(...given),
    request: (parameters) => {
      counts.calls += 1;
      return bus.request(parameters);
    },
    reply: (parameters) => bus.reply(parameters),
    subscribe: (...given) => bus.subscribe(...given),
    hold: (...given) => bus.hold(...given),
    permission: bus.permission,
    queues: bus.queues,
    deadLetters: bus.deadLetters,
    check: () => bus.check(),
    close: () => bus.close(),
  };
}
