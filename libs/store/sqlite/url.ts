/** `sqlite:<file>[?synchronous=normal|full]` or `sqlite::memory:`. */
import { AnnealError } from '@anneal/contracts/errors.ts';

/** The file, and whether each commit survives a loss of power (`full`). */
export interface SqliteLocation {
  readonly file: string;
  readonly synchronous: 'normal' | 'full';
}

/** @throws AnnealError InvalidRequest that names what is wrong. */
export function readSqliteUrl(url: string): SqliteLocation {
  const [path = '', parameters = ''] = url.slice('sqlite:'.length).split('?', 2);
  if (path === '') throw new AnnealError('InvalidRequest', `${url} does not name a file; write sqlite:<file>.`);
  let synchronous: SqliteLocation['synchronous'] = 'normal';
  for (const [name, value] of new URLSearchParams(parameters)) {
    if (name !== 'synchronous' || (value !== 'normal' && value !== 'full')) {
      throw new AnnealError(
        'InvalidRequest',
        `${url}: ${name}=${value} is not an option; the options are synchronous=normal and synchronous=full.`,
      );
    }
    synchronous = value;
  }
  return { file: path, synchronous };
}
