/**
 * Blobs: one document, or a head with the number of its pieces. A repeated put uses the pieces of a writer that died.
 */
import { Binary, type Db } from 'mongodb';
import { contentHash } from '../content-hash.ts';
import type { Blobs } from '../port.ts';
import type { Guard } from './guard.ts';
import { MissingPieces, once, Pieces, pieceSize } from './pieces.ts';

interface Blob {
  _id: string;
  size: number;
  content?: Binary;
  pieces?: number;
  put_at?: number;
}

/**
 * The blobs in a database. `patienceMs` limits the wait for the pieces of another writer.
 * @throws MissingPieces while a piece of a blob is absent
 */
export function blobsOn(parameters: { db: Db; guard: Guard; patienceMs: number }): Blobs {
  const { db, guard, patienceMs } = parameters;
  const heads = db.collection<Blob>('blobs');
  const pieces = new Pieces({ db, collection: 'blob_pieces', patienceMs });

  const read = async (hash: string): Promise<Uint8Array | undefined> => {
    const head = await heads.findOne({ _id: hash });
    if (!head?.pieces) return head?.content?.value();
    const bytes = await pieces.get(hash, head.pieces);
    if (!bytes) throw new MissingPieces(`the blob ${hash}`);
    return bytes;
  };
  const get = (hash: string): Promise<Uint8Array | undefined> => guard.run(() => read(hash), 'long');
  return {
    async put(content) {
      const bytes = typeof content === 'string' ? Buffer.from(content) : new Uint8Array(content);
      const hash = await contentHash(bytes);
      const size = bytes.length;
      await guard.run(async () => {
        const put_at = Date.now();
        // A repeated put shows that the blob is needed.
        const { matchedCount } = await heads.updateOne({ _id: hash }, { $set: { put_at } });
        if (matchedCount > 0) return undefined;
        if (size <= pieceSize) {
          return once(() => heads.insertOne({ _id: hash, size, put_at, content: new Binary(bytes) }), patienceMs);
        }
        const count = await pieces.put(hash, bytes);
        return once(() => heads.insertOne({ _id: hash, size, put_at, pieces: count }), patienceMs);
      }, 'long');
      return hash;
    },
    get,
    remove: (hashes, putBefore) =>
      guard.run(async () => {
        let removed = 0;
        for (const hash of hashes) {
          const old = { _id: hash, $or: [{ put_at: { $lt: putBefore } }, { put_at: { $exists: false } }] };
          // In two steps, because a server such as FerretDB cannot leave out the content when it finds and deletes in one.
          const head = await heads.findOne(old, { projection: { pieces: 1 } });
          const { deletedCount } = await heads.deleteOne(old);
          if (!head || deletedCount === 0) continue;
          if (head.pieces !== undefined) await pieces.remove(hash, head.pieces);
          removed += 1;
        }
        return removed;
      }, 'long'),
    async getText(hash) {
      const bytes = await get(hash);
      return bytes && new TextDecoder().decode(bytes);
    },
  };
}
