/** The scheme of the URL chooses the adapter. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Store } from './port.ts';

/** An adapter is loaded only when its scheme is asked for: who runs on SQLite needs no driver of another store. */
const adapters: Readonly<Record<string, (url: string) => Promise<Store>>> = {
  mongodb: async (url) => (await import('./mongodb/store.ts')).openMongoStore(url),
  'mongodb+srv': async (url) => (await import('./mongodb/store.ts')).openMongoStore(url),
  sqlite: async (url) => (await import('./sqlite/store.ts')).openSqliteStore(url),
};

/** @throws AnnealError InvalidRequest for a scheme that no adapter knows; Unavailable when the store cannot be opened. */
export async function openStore({ url }: { url: string }): Promise<Store> {
  const scheme = url.slice(0, Math.max(0, url.indexOf(':')));
  const open = Object.hasOwn(adapters, scheme) ? adapters[scheme] : undefined;
  if (!open) {
    const known = Object.keys(adapters).map((name) => `${name}:`);
    throw new AnnealError(
      'InvalidRequest',
      `No store has the scheme of ${scheme === '' ? 'this URL' : `${scheme}:`}; known are ${known.join(', ')}.`,
    );
  }
  return open(url);
}
