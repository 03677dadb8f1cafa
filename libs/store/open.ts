/** The scheme of the URL chooses the adapter. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { OpenStoreOptions, Store } from './port.ts';

/** An adapter is loaded only when its scheme is used: a program on SQLite needs no driver of another store. */
const adapters: Readonly<Record<string, (options: OpenStoreOptions) => Promise<Store>>> = {
  mongodb: async (options) => (await import('./mongodb/store.ts')).openMongoStore(options),
  'mongodb+srv': async (options) => (await import('./mongodb/store.ts')).openMongoStore(options),
  sqlite: async ({ url }) => (await import('./sqlite/store.ts')).openSqliteStore(url),
};

/** @throws AnnealError InvalidRequest for a scheme that no adapter knows; Unavailable when the store cannot be opened. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { url } = options;
  const scheme = url.slice(0, Math.max(0, url.indexOf(':')));
  const open = Object.hasOwn(adapters, scheme) ? adapters[scheme] : undefined;
  if (!open) {
    const known = Object.keys(adapters).map((name) => `${name}:`);
    throw new AnnealError(
      'InvalidRequest',
      `Cannot open a store with ${scheme === '' ? 'a URL without a scheme' : `the scheme ${scheme}:`}; the schemes are ${known.join(', ')}.`,
    );
  }
  return open(options);
}
