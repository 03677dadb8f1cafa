/**
 * The plain MongoDB driver, with the write concern of the store. `npm run bench -- store` compares the adapter with it.
 * Documents are plain BSON; one operation is one command, except for the bulk write.
 */
import { MongoClient } from 'mongodb';
import { optionsFor } from '../mongodb/url.ts';

/** The document of the bench. */
export interface RawDocument {
  readonly id: string;
  readonly owner: string;
  readonly state: string;
  readonly text: string;
}

/** The calls of the bench on the plain driver. */
export interface RawStore {
  /** The product and version of the server. */
  readonly server: string;
  insert(document: RawDocument): Promise<unknown>;
  get(id: string): Promise<unknown>;
  findByOwner(owner: string): Promise<unknown>;
  /** True when the document existed in that version. */
  replace(document: RawDocument, version: number): Promise<boolean>;
  insertMany(documents: readonly RawDocument[]): Promise<unknown>;
  close(): Promise<void>;
}

interface Stored extends Omit<RawDocument, 'id'> {
  _id: string;
  version: number;
}

/** Opens the plain driver for the bench, with the write concern of the adapter. */
export async function openRawMongodb({ url, name }: { url: string; name: string }): Promise<RawStore> {
  const client = await new MongoClient(url, optionsFor(url)).connect();
  const collection = client.db().collection<Stored>(name);
  await collection.createIndex({ owner: 1, _id: 1 });
  const info = (await client.db().command({ buildInfo: 1 })) as { version?: string; ferretdbVersion?: string };
  const stored = ({ id, owner, state, text }: RawDocument, version: number): Stored => ({
    _id: id,
    owner,
    state,
    text,
    version,
  });
  return {
    // FerretDB reports the version of MongoDB that it emulates as its own.
    server: info.ferretdbVersion === undefined ? `MongoDB ${info.version ?? ''}`.trim() : 'FerretDB',
    insert: (document) => collection.insertOne(stored(document, 1)),
    get: (id) => collection.findOne({ _id: id }),
    findByOwner: (owner) => collection.find({ owner }).sort({ _id: 1 }).toArray(),
    async replace(document, version) {
      const { matchedCount } = await collection.replaceOne(
        { _id: document.id, version },
        stored(document, version + 1),
      );
      return matchedCount > 0;
    },
    insertMany: (documents) =>
      collection.bulkWrite(
        documents.map((document) => ({ insertOne: { document: stored(document, 1) } })),
        { ordered: false },
      ),
    close: () => client.close(),
  };
}
