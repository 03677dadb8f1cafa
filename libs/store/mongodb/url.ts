/** `mongodb://[user:password@]host[,host…]/[database][?options]` and `mongodb+srv://…`: the driver's own URLs. */
import type { MongoClientOptions } from 'mongodb';

/** How long an operation waits for a writable server; `serverSelectionTimeoutMS` in the URL changes it. */
const patienceMs = 15_000;

/** The place of the database, without credentials: for messages. */
export const placeOf = (url: string): string => url.replace(/\/\/[^/?]*@/, '//').split('?', 1)[0] ?? '';

/** The options that S1 needs, and limits for every wait; the URL's own options take precedence. */
export function optionsFor(url: string, connections = 20): MongoClientOptions {
  const given = new Set([...new URLSearchParams(url.split('?')[1] ?? '').keys()].map((name) => name.toLowerCase()));
  const asked: MongoClientOptions = {
    appName: 'anneal',
    readPreference: 'primary',
    w: 'majority',
    journal: true,
    wtimeoutMS: patienceMs,
    serverSelectionTimeoutMS: patienceMs,
    // The driver drops all connections to a server whose heartbeat is later than this. A server that is merely slow
    // must keep them. Less than the patience: a database that starts may leave one connection without an answer, and
    // an operation that waits must live to see the next one.
    connectTimeoutMS: (patienceMs * 2) / 3,
    // For a server that has stopped answering without closing the connection.
    socketTimeoutMS: 2 * patienceMs,
    heartbeatFrequencyMS: 2000,
    // For a connection of the pool: without a limit, an operation waits for ever behind those that get no answer.
    waitQueueTimeoutMS: patienceMs,
    maxPoolSize: connections,
    ignoreUndefined: true,
  };
  return Object.fromEntries(Object.entries(asked).filter(([name]) => !given.has(name.toLowerCase())));
}
