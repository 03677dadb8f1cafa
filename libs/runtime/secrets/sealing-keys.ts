/** The keys that sealed the contents of a store. A start without one of them is refused, on any machine. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { DuplicateError, type Document, type Store } from '@anneal/store/port.ts';
import type { Secrets } from './secrets.ts';

/** The id of the document is the id of the key. */
type SealingKey = Document;

/** @throws AnnealError Conflict that names the missing key and where this process looked for it. */
export async function requireSealingKeys(parameters: {
  store: Store;
  secrets: Pick<Secrets, 'keyIds'>;
  /** The source of this process's keys. */
  source: string;
}): Promise<void> {
  const { store, secrets, source } = parameters;
  const used = await store.collection<SealingKey>({ name: 'sealing_keys', indexes: [] });
  const missing = (await used.find({ where: {} })).filter(({ id }) => !secrets.keyIds.includes(id)).map(({ id }) => id);
  if (missing.length > 0) {
    throw new AnnealError(
      'Conflict',
      `The store contains secrets sealed with key ${missing.join(', ')}, but ${source} contains only ${secrets.keyIds.join(', ')}.`,
      {
        details: {
          remedy: `Add the missing key to ${source} again. It may contain several keys; the first one seals.`,
        },
      },
    );
  }
  const [current] = secrets.keyIds;
  if (current === undefined || (await used.get(current))) return;
  await used.insert({ id: current }).catch((error: unknown) => {
    // Another process, started at the same time, recorded the same key.
    if (!(error instanceof DuplicateError)) throw error;
  });
}
