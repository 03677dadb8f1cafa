/**
 * Ends the waits of clients when the database is away for longer than a second. A person or a program wants to know at
 * once; what works in the background waits for its return, as long as the store allows.
 */
import { Outages } from '@anneal/bus/connect/outage.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { CollectionDefinition, Document, Store } from '@anneal/store/port.ts';
import { collectionCalls, wrapCalls } from '@anneal/store/wrap.ts';

const remedy =
  'Start the database, or correct ANNEAL_STORE_URL. The services continue by themselves when it answers; then try again.';

/** The outages of the database, for requests of clients. */
const outagesOfStore = ({ store, now }: ServiceContext): Outages =>
  new Outages({
    source: store,
    now,
    error: (message, since) =>
      new AnnealError('Unavailable', message, { details: { store_away_since: since, remedy } }),
  });

/** The context of the gateway with a prompt store. */
export function promptContext(context: ServiceContext): { context: ServiceContext; storeOutages: Outages } {
  const storeOutages = outagesOfStore(context);
  return { context: { ...context, store: promptStore(context.store, storeOutages) }, storeOutages };
}

/** Whether a call ended because the database is away. */
export const isStoreAway = (error: unknown): error is AnnealError =>
  hasCode(error, 'Unavailable') && error.details?.['store_away_since'] !== undefined;

/** The store, with calls that fail in a long outage. A write that was sent before may still be done. */
function promptStore(store: Store, outages: Outages): Store {
  if (!store.outage) return store;
  const prompt = <T extends object>(target: T, names: readonly (keyof T)[]): T =>
    wrapCalls(
      target,
      names,
      (method) =>
        (...given) =>
          outages.during(() => method(...given)),
    );
  return {
    ...store,
    blobs: prompt(store.blobs, ['put', 'get', 'getText', 'remove']),
    collection: async <T extends Document>(definition: CollectionDefinition) =>
      prompt(await store.collection<T>(definition), collectionCalls),
  };
}
