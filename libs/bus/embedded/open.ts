/** `sqlite:<file>[?synchronous=normal|full]` or `sqlite::memory:`. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { OpenBrokerOptions } from '../open.ts';
import { EmbeddedBroker } from './broker.ts';
import { Database } from './database.ts';

/** @throws AnnealError InvalidRequest for a wrong URL, Unavailable when another process has the file open. */
export async function openEmbeddedBroker({ url, newId, now, log }: OpenBrokerOptions): Promise<EmbeddedBroker> {
  const [file = '', parameters = ''] = url.slice('sqlite:'.length).split('?', 2);
  if (file === '') throw new AnnealError('InvalidRequest', `${url}: the file is missing; write sqlite:<file>.`);
  let synchronous: 'normal' | 'full' = 'normal';
  for (const [name, value] of new URLSearchParams(parameters)) {
    if (name !== 'synchronous' || (value !== 'normal' && value !== 'full')) {
      throw new AnnealError(
        'InvalidRequest',
        `${url}: ${name}=${value} is not known; there is synchronous=normal and synchronous=full.`,
      );
    }
    synchronous = value;
  }
  return new EmbeddedBroker({ database: new Database({ file, synchronous }), newId, now, log });
}
