/**
 * Content that does not fit into one MongoDB document (16 MiB) is stored beside it in pieces. The pieces are written
 * before the document that names them, so a readable document is complete. They never change, and their name shows
 * their owner. A writer that died may leave pieces without a document.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { Binary, type Collection as Driver, type Db, MongoServerError } from 'mongodb';
import { withRetries } from './failure.ts';

interface Piece {
  _id: string;
  content: Binary;
}

/** The size of a piece, in bytes. With its id it is below MongoDB's limit of 16 MiB. */
export const pieceSize = 8 * 1024 * 1024;

/** Writes, reads and removes the pieces of large contents. */
export class Pieces {
  readonly #driver: Driver<Piece>;
  readonly #patienceMs: number;

  constructor(parameters: { db: Db; collection: string; patienceMs: number }) {
    this.#driver = parameters.db.collection<Piece>(parameters.collection);
    this.#patienceMs = parameters.patienceMs;
  }

  /** Returns the number of pieces. */
  async put(name: string, bytes: Uint8Array): Promise<number> {
    const count = Math.ceil(bytes.length / pieceSize);
    for (let index = 0; index < count; index += 1) {
      const content = new Binary(bytes.subarray(index * pieceSize, (index + 1) * pieceSize));
      await once(() => this.#driver.insertOne({ _id: idOf(name, index), content }), this.#patienceMs);
    }
    return count;
  }

  /** Undefined when a piece is missing. */
  async get(name: string, count: number): Promise<Uint8Array | undefined> {
    const parts: Uint8Array[] = [];
    for (let index = 0; index < count; index += 1) {
      const piece = await this.#driver.findOne({ _id: idOf(name, index) });
      if (!piece) return undefined;
      parts.push(piece.content.value());
    }
    return Buffer.concat(parts);
  }

  async remove(name: string, count: number): Promise<void> {
    await this.#driver.deleteMany({ _id: { $in: Array.from({ length: count }, (_, index) => idOf(name, index)) } });
  }
}

const idOf = (name: string, index: number): string => `${name}/${index}`;

/** Inserts once: an existing document of this name already has this content. */
export async function once(insert: () => Promise<unknown>, patienceMs: number): Promise<void> {
  try {
    await withRetries(insert, patienceMs);
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== 11_000) throw error;
  }
}

/** A document names pieces that the store does not have (yet). A retry may find them. */
export class MissingPieces extends AnnealError {
  constructor(what: string) {
    super('Unavailable', `A part of ${what} is missing in the store.`);
  }
}
