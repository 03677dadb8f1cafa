/**
 * Blobs: one document, or a head that names how many pieces there are. The pieces are written before the head, so that a
 * head that can be read is whole; pieces without a head are what a writer left behind that died, and its repeat uses them.
 */
import { createHash } from 'node:crypto';
import { Binary, type Db, MongoServerError } from 'mongodb';
import type { Blobs } from '../port.ts';
import { patiently } from './failure.ts';

interface Blob {
  _id: string;
  size: number;
  content?: Binary;
  pieces?: number;
}

interface Piece {
  _id: string;
  content: Binary;
}

const pieceSize = 8 * 1024 * 1024;

export function blobsOn(parameters: {
  db: Db;
  guard: <R>(run: () => Promise<R>) => Promise<R>;
  patienceMs: number;
}): Blobs {
  const { db, guard, patienceMs } = parameters;
  const heads = db.collection<Blob>('blobs');
  const parts = db.collection<Piece>('blob_pieces');

  /** What has this name already has this content. */
  const once = async (insert: () => Promise<unknown>): Promise<void> => {
    try {
      await patiently(insert, patienceMs);
    } catch (error) {
      if (!(error instanceof MongoServerError) || error.code !== 11_000) throw error;
    }
  };
  const read = async (hash: string): Promise<Uint8Array | undefined> => {
    const head = await heads.findOne({ _id: hash });
    if (!head?.pieces) return head?.content?.value();
    const bytes = new Uint8Array(head.size);
    for (let index = 0; index < head.pieces; index += 1) {
      const piece = await parts.findOne({ _id: `${hash}/${index}` });
      bytes.set(piece?.content.value() ?? new Uint8Array(), index * pieceSize);
    }
    return bytes;
  };
  const get = (hash: string): Promise<Uint8Array | undefined> => guard(() => read(hash));
  return {
    async put(content) {
      const bytes = typeof content === 'string' ? Buffer.from(content) : Uint8Array.from(content);
      const hash = createHash('sha256').update(bytes).digest('hex');
      const size = bytes.length;
      await guard(async () => {
        if (size <= pieceSize) return once(() => heads.insertOne({ _id: hash, size, content: new Binary(bytes) }));
        if (await heads.findOne({ _id: hash }, { projection: { _id: 1 } })) return undefined;
        const pieces = Math.ceil(size / pieceSize);
        for (let index = 0; index < pieces; index += 1) {
          const piece = new Binary(bytes.subarray(index * pieceSize, (index + 1) * pieceSize));
          await once(() => parts.insertOne({ _id: `${hash}/${index}`, content: piece }));
        }
        return once(() => heads.insertOne({ _id: hash, size, pieces }));
      });
      return hash;
    },
    get,
    async getText(hash) {
      const bytes = await get(hash);
      return bytes && new TextDecoder().decode(bytes);
    },
  };
}
