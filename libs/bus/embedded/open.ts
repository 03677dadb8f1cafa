/** `sqlite:<file>[?synchronous=normal|full]` or `sqlite::memory:`. */
import { readSqliteUrl } from '@anneal/store/sqlite/url.ts';
import type { OpenBrokerOptions } from '../open-options.ts';
import { EmbeddedBroker } from './broker.ts';
import { Database } from './database.ts';

/** @throws AnnealError InvalidRequest for a wrong URL, Unavailable when another process has the file open. */
export async function openEmbeddedBroker({ url, now, log }: OpenBrokerOptions): Promise<EmbeddedBroker> {
  return new EmbeddedBroker({ database: new Database(readSqliteUrl(url)), now, log });
}
