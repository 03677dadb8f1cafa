/**
 * The JSON of documents in MongoDB: plain up to a megabyte, compressed above, and in pieces where even that does not
 * fit into one document.
 *
 * L1 Pieces belong to one write. They exist before the document that names them. They are removed after a later write
 *    of the same document succeeded, or after their own write was refused. A reader that finds them removed reads the
 *    document again.
 * L2 A writer that dies between the two leaves pieces that no document names. They only cost space.
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { Binary, type Db } from 'mongodb';
import type { Document } from '../port.ts';
import type { Operation, OperationResult } from './operation.ts';
import { MissingPieces, Pieces, pieceSize } from './pieces.ts';
import type { Stored } from './stored.ts';

/** The body of a document: its text, or the names of its pieces. */
export type StoredBody = Pick<Stored, 'body' | 'pieces'>;

interface InPieces {
  readonly write: string;
  readonly pieces: number;
}

const compressFrom = 1024 * 1024;
/** Readers and writers hold a whole document in memory. */
const largest = 64 * 1024 * 1024;
const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** True for a body that is written in another form than its text, perhaps as many pieces. */
export const isLarge = ({ text }: Operation): boolean => text.length >= compressFrom;

/** Writes and reads the bodies of documents: in the document, or in pieces when they are too large for MongoDB. */
export class StoredBodies {
  readonly #pieces: Pieces;
  /** Documents that were in pieces at this process's last read or write. */
  readonly #known = new Map<string, InPieces>();

  constructor(parameters: { db: Db; patienceMs: number }) {
    this.#pieces = new Pieces({ ...parameters, collection: 'document_pieces' });
  }

  /** @throws AnnealError TooLarge */
  async of({ kind, text, id, write }: Operation): Promise<StoredBody> {
    if (kind === 'remove') return { body: '' };
    const size = Buffer.byteLength(text);
    if (size < compressFrom) return { body: text };
    const packed = await zip(text, { level: constants.Z_BEST_SPEED });
    if (packed.length <= pieceSize) return { body: new Binary(packed) };
    if (packed.length > largest) {
      throw new AnnealError(
        'TooLarge',
        `Cannot store ${id}: it has ${size} bytes, ${packed.length} compressed; the limit is ${largest} compressed bytes.`,
      );
    }
    return { body: '', pieces: await this.#pieces.put(write, packed) };
  }

  /** @throws AnnealError Unavailable when the document was written again meanwhile. */
  async documentOf<T extends Document>(stored: Stored): Promise<T> {
    return Object.assign(parseExact(await this.#textOf(stored)) as unknown as T, { version: stored.version });
  }

  async #textOf({ _id, body, write, pieces }: Stored): Promise<string> {
    // A put keeps the count of pieces from an earlier version; an empty body shows that the count is current.
    if (body === '' && pieces !== undefined) {
      this.#known.set(_id, { write, pieces });
      const packed = await this.#pieces.get(write, pieces);
      if (!packed) throw new MissingPieces(`the document ${_id}`);
      return (await unzip(packed)).toString();
    }
    return typeof body === 'string' ? body : (await unzip(body.value())).toString();
  }

  /** L1: the pieces that have no document after a write with this result. */
  obsolete({ id, write }: Operation, { pieces }: StoredBody, result: OperationResult): InPieces[] {
    const own = pieces === undefined ? [] : [{ write, pieces }];
    // The write may have been done.
    if ('error' in result) return [];
    if (result.outcome !== 'done') return own;
    const before = this.#known.get(id);
    if (own[0]) this.#known.set(id, own[0]);
    else this.#known.delete(id);
    return before && before.write !== write ? [before] : [];
  }

  async remove(some: readonly InPieces[]): Promise<void> {
    // L2: a failure here is harmless.
    await Promise.allSettled(some.map(({ write, pieces }) => this.#pieces.remove(write, pieces)));
  }
}
