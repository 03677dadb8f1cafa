/**
 * The store on MongoDB, or on a server that speaks its protocol: replica set, sharded cluster or a single server. It uses
 * no transactions, change streams, TTL or partial indexes, update pipelines or array filters.
 */
import { randomBytes } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { MongoClient, ReadConcern } from 'mongodb';
import type { Store } from '../port.ts';
import type { OpenStoreOptions } from '../open.ts';
import { blobsOn } from './blobs.ts';
import { MongoCollections } from './collections.ts';
import { asAnneal, isRefusedLogin } from './failure.ts';
import { optionsFor, placeOf } from './url.ts';

/** A server that refuses every connection for this long counts as absent. */
const refusedMs = 1_500;

/**
 * Opens the database that the URL names.
 * @throws AnnealError Unavailable when no server answers in time, Unauthorized when it refuses the credentials
 */
export async function openMongoStore({ url, connections }: OpenStoreOptions): Promise<Store> {
  const place = placeOf(url);
  const failure = (error: unknown): unknown => asAnneal(place, error);
  const { client, majority } = await connect({ url, connections }).catch((error: unknown) => {
    if (isRefusedLogin(error)) {
      throw new AnnealError('Unauthorized', `The store at ${place} refused the credentials: ${error.message}.`, {
        cause: error,
        details: { remedy: 'Correct the user, the password or authSource in ANNEAL_STORE_URL.' },
      });
    }
    throw failure(error);
  });
  // A read at the primary then sees acknowledged writes, and never a write that a failover takes back.
  const db = client.db(undefined, { readConcern: new ReadConcern(majority ? 'majority' : 'local') });
  const patienceMs = client.options.serverSelectionTimeoutMS;
  let closed = false;
  const guard = async <R>(run: () => Promise<R>): Promise<R> => {
    if (closed) throw new AnnealError('Unavailable', `The store at ${place} is closed.`);
    try {
      return await run();
    } catch (error) {
      throw failure(error);
    }
  };
  const collections = new MongoCollections({ db, patienceMs, shared: { guard, failure, nextWrite: createWriteIds() } });
  return {
    collection: (definition) => collections.open(definition),
    blobs: blobsOn({ db, guard, patienceMs }),
    check: () =>
      guard(async () => {
        await db
          .collection<{ _id: string; at: Date }>('anneal_checks')
          .updateOne({ _id: 'check' }, { $set: { at: new Date() } }, { upsert: true, timeoutMS: patienceMs });
      }),
    async close() {
      if (closed) return;
      closed = true;
      await collections.settled();
      await client.close();
    },
  };
}

/** Names for writes, none twice, also not in another process. */
function createWriteIds(): () => string {
  const writer = randomBytes(9).toString('base64url');
  let writes = 0;
  return () => `${writer}${(writes += 1).toString(36)}`;
}

async function connect(options: {
  url: string;
  connections: number | undefined;
}): Promise<{ client: MongoClient; majority: boolean }> {
  const client = clientFor(options);
  try {
    await Promise.race([client.connect(), refusal(client)]);
    const hello = await client.db('admin').command({ hello: 1 });
    // A single server has no majority to read from, and some servers refuse such a read.
    return { client, majority: typeof hello['setName'] === 'string' || hello['msg'] === 'isdbgrid' };
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** Rejects with the reason when no server answers at all, long before the driver stops looking for one. */
function refusal(client: MongoClient): Promise<never> {
  const since = performance.now();
  let answered = false;
  client.once('serverHeartbeatSucceeded', () => (answered = true));
  return new Promise((_resolve, reject) => {
    client.on('serverHeartbeatFailed', ({ failure }) => {
      if (!answered && performance.now() - since > refusedMs) reject(failure);
    });
  });
}

/** @throws AnnealError InvalidRequest for a URL that the driver does not understand. */
function clientFor({ url, connections }: { url: string; connections: number | undefined }): MongoClient {
  try {
    return new MongoClient(url, optionsFor(url, connections));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new AnnealError('InvalidRequest', `${placeOf(url)} is not a valid store URL: ${reason}.`);
  }
}
