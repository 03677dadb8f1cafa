/**
 * The indexes of a collection. Every process that opens the collection creates and removes them, also at the same time.
 *
 * I1 The record of a collection in `anneal_schema` names the paths whose values are in all its documents. Before a path
 *    gets an index, its values are filled into the documents that were written without it; then the path is recorded.
 * I2 Every step may be done twice, and by two processes at once. Filling names the version that it read, the record is
 *    replaced only in the version that was read, and creating an existing index does nothing.
 * I3 A collection with a newer layout than this program knows is refused instead of misread.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { type Collection as Driver, type Db, MongoServerError } from 'mongodb';
import type { IndexDefinition } from '../port.ts';
import { duplicateIn } from './failure.ts';
import type { StoredBodies } from './bodies.ts';
import { keyOf, storedKeys, type Stored } from './stored.ts';

/** The layout of documents in the collections. It grows when an older program cannot read them. */
const layout = 1;

interface Schema {
  _id: string;
  layout: number;
  version: number;
  fields: string[];
}

/**
 * Creates the declared indexes and removes others (I1 to I3). Repeats are harmless.
 * @throws AnnealError Unavailable for a newer layout, Conflict when documents contradict a unique index
 */
export async function makeIndexes(parameters: {
  db: Db;
  name: string;
  indexes: readonly IndexDefinition[];
  /** The paths whose values all documents must have (I1). */
  fields: readonly string[];
  bodies: StoredBodies;
}): Promise<void> {
  const { db, name, indexes, fields } = parameters;
  await fillFields(parameters, fields);
  const driver = db.collection<Stored>(name);
  const wanted = new Map(indexes.map((index) => [indexName(index), index]));
  const present = await presentIndexes(driver);
  for (const each of present) {
    if (!wanted.has(each)) await forgiving(() => driver.dropIndex(each), [26, 27]);
  }
  for (const [each, index] of wanted) if (!present.includes(each)) await makeIndex(driver, each, index);
}

const indexName = ({ fields, unique }: IndexDefinition): string => `${unique ? 'u' : 'i'}:${fields.join(',')}`;

async function presentIndexes(driver: Driver<Stored>): Promise<string[]> {
  // 26: the collection does not exist yet.
  const indexes = (await forgiving(() => driver.listIndexes().toArray(), [26])) ?? [];
  return indexes.map((index) => String(index['name'])).filter((each) => /^[iu]:/.test(each));
}

async function makeIndex(driver: Driver<Stored>, name: string, index: IndexDefinition): Promise<void> {
  const fields = index.unique || index.fields.includes('id') ? index.fields : [...index.fields, 'id'];
  const key = Object.fromEntries(fields.map((field) => [keyOf(field), 1 as const]));
  for (let attempt = 1; ; attempt += 1) {
    try {
      await driver.createIndex(key, { name, ...(index.unique && { unique: true }) });
      return;
    } catch (error) {
      if (duplicateIn(error) !== undefined) {
        throw new AnnealError(
          'Conflict',
          `Cannot create a unique index on ${driver.collectionName}: it contains documents with equal ${index.fields.join(', ')}.`,
          { cause: error },
        );
      }
      // Some servers refuse one of two processes that create the same index at once: the next look finds the index.
      if (attempt === 5 || !(error instanceof MongoServerError)) throw error;
      await pause(50 * attempt);
      if ((await presentIndexes(driver)).includes(name)) return;
    }
  }
}

/** I1. */
async function fillFields(
  { db, name, bodies }: { db: Db; name: string; bodies: StoredBodies },
  fields: readonly string[],
): Promise<void> {
  const schemas = db.collection<Schema>('anneal_schema');
  for (;;) {
    const schema = await schemas.findOne({ _id: name });
    if (schema && schema.layout > layout) {
      throw new AnnealError(
        'Unavailable',
        `The collection ${name} has layout version ${schema.layout}; this build supports up to ${layout}. Start a newer build.`,
      );
    }
    const missing = fields.filter((field) => !schema?.fields.includes(field));
    if (schema && missing.length === 0) return;
    if (missing.length > 0) await fill(db.collection<Stored>(name), bodies, missing);
    const next = { layout, fields: [...(schema?.fields ?? []), ...missing] };
    if (schema) {
      const { version } = schema;
      const replaced = await schemas.replaceOne({ _id: name, version }, { ...next, version: version + 1 });
      if (replaced.matchedCount > 0) return;
    } else {
      const inserted = await forgiving(() => schemas.insertOne({ _id: name, version: 1, ...next }), [11_000]);
      if (inserted) return;
    }
  }
}

/** I2: a document that changes meanwhile is read again. */
async function fill(driver: Driver<Stored>, bodies: StoredBodies, fields: readonly string[]): Promise<void> {
  const lacking = { $or: fields.map((field) => ({ [keyOf(field)]: { $exists: false } })) };
  for (;;) {
    const some = await driver.find(lacking).limit(500).toArray();
    if (some.length === 0) return;
    const changes = await Promise.all(
      some.map(async (stored) => ({
        updateOne: {
          filter: { _id: stored._id, version: stored.version },
          update: { $set: storedKeys(await bodies.documentOf(stored), fields) },
        },
      })),
    );
    await driver.bulkWrite(changes, { ordered: false });
  }
}

async function forgiving<R>(run: () => Promise<R>, codes: readonly number[]): Promise<R | undefined> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof MongoServerError && codes.includes(Number(error.code))) return undefined;
    throw error;
  }
}
