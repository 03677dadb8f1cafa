/**
 * The store on MongoDB, or on a server that speaks its protocol: replica set, sharded cluster or a single server. It uses
 * no transactions, change streams, TTL or partial indexes, update pipelines or array filters.
 */
import { randomBytes } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { MongoClient, ReadConcern } from 'mongodb';
import type { OpenStoreOptions, Store } from '../port.ts';
import { blobsOn } from './blobs.ts';
import { endCommandsOfClosedConnections } from './closed-connections.ts';
import { MongoCollections } from './collections.ts';
import { asAnneal, isRefusedLogin } from './failure.ts';
import { Guard } from './guard.ts';
import { watchOutage } from './outage.ts';
import { optionsFor, placeOf } from './url.ts';

endCommandsOfClosedConnections();

/** A server that refuses every connection for this long counts as absent. */
const refusedMs = 1_500;
/** How long `close` waits for the writes in progress. */
const settleMs = 10_000;
/** How long `close` and a failed opening wait for the driver, whose connections say goodbye to the server. */
const disconnectMs = 2_000;

/**
 * Opens the database that the URL names.
 * @throws AnnealError Unavailable when no server answers in time, Unauthorized when it refuses the credentials
 */
export async function openMongoStore({ url, connections }: OpenStoreOptions): Promise<Store> {
  const place = placeOf(url);
  const failure = (error: unknown): unknown => asAnneal(place, error);
  const { client, majority, outage } = await connect({ url, connections }).catch((error: unknown) => {
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
  const guard = new Guard({ place, patienceMs });
  const collections = new MongoCollections({ db, patienceMs, shared: { guard, failure, nextWrite: createWriteIds() } });
  let closing: Promise<void> | undefined;
  return {
    collection: (definition) => collections.open(definition),
    blobs: blobsOn({ db, guard, patienceMs }),
    outage,
    check: () =>
      guard.run(async () => {
        await db
          .collection<{ _id: string; at: Date }>('anneal_checks')
          .updateOne({ _id: 'check' }, { $set: { at: new Date() } }, { upsert: true });
      }),
    close() {
      guard.close();
      closing ??= end({ guard, collections, client });
      return closing;
    },
  };
}

/** Closes within `settleMs` and `disconnectMs`. Ends the operations that the server has not answered until then. */
async function end(parameters: { guard: Guard; collections: MongoCollections; client: MongoClient }): Promise<void> {
  const { guard, collections, client } = parameters;
  await endsWithin(collections.settled(), settleMs);
  guard.abandon();
  await disconnect(client);
}

/** Past its limit, the driver still closes its connections: in 15 s, when it stops to wait for a new one. */
async function disconnect(client: MongoClient): Promise<void> {
  await endsWithin(client.close(), disconnectMs);
}

async function endsWithin(work: Promise<void>, limitMs: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
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
}): Promise<{ client: MongoClient; majority: boolean; outage: ReturnType<typeof watchOutage> }> {
  const client = clientFor(options);
  const outage = watchOutage(client, placeOf(options.url));
  try {
    await Promise.race([client.connect(), refusal(client)]);
    const hello = await client.db('admin').command({ hello: 1 });
    // A single server has no majority to read from, and some servers refuse such a read.
    return { client, outage, majority: typeof hello['setName'] === 'string' || hello['msg'] === 'isdbgrid' };
  } catch (error) {
    await disconnect(client);
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
