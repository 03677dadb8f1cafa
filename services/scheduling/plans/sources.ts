/** Reads the sources of nested stacks by content hash, and caches the most recently used ones. They never change. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { NestedSources } from '@anneal/hot/tree/sources.ts';
import type { Store } from '@anneal/store/port.ts';

/** The sources by content hash; null for those that are no longer in the store. */
export type KnownSources = Map<string, NestedSources | null>;

/** Thrown when the sources must be read before the step is tried again. */
export class NeedsSources extends Error {
  readonly hashes: readonly string[];

  constructor(hashes: readonly string[]) {
    super(`${hashes.length} sources of nested stacks must be read`);
    this.hashes = hashes;
  }
}

export interface SourceReader {
  /** Adds the sources with these hashes. */
  readInto(known: KnownSources, hashes: Iterable<string>): Promise<void>;
}

export function createSourceReader({ store, size = 32 }: { store: Pick<Store, 'blobs'>; size?: number }): SourceReader {
  const kept: KnownSources = new Map();
  return {
    async readInto(known, hashes) {
      for (const hash of hashes) {
        const before = kept.get(hash);
        const text = before ? undefined : await store.blobs.getText(hash);
        const found = before ?? (text === undefined ? null : (parseExact(text) as unknown as NestedSources));
        known.set(hash, found);
        if (!found) continue;
        kept.delete(hash);
        kept.set(hash, found);
        for (const oldest of kept.keys()) {
          if (kept.size <= size) break;
          kept.delete(oldest);
        }
      }
    },
  };
}
