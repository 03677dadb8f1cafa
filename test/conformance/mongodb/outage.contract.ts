import { randomBytes } from 'node:crypto';
import { openStore } from '@anneal/store/open.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { setImmediate as turn } from 'node:timers/promises';
import type { BackendServer } from '../../backends/backend.ts';
import { databaseUrl, findMongodb } from '../../backends/mongodb.ts';
import { startSlowProxy } from '../../backends/slow-proxy.ts';

interface Counter extends Document {
  readonly n: number;
  /** How often each writer has counted. */
  readonly by?: Readonly<Record<string, number>>;
}

const server = await findMongodb();
const mayBeKilled = !('missing' in server) && server.mayBeKilled;

it.skipIf(!mayBeKilled)('has a MongoDB of its own to kill', () => expect(mayBeKilled).toBe(true));
if (mayBeKilled) runOn(server);

function runOn(started: BackendServer): void {
  const opened: Store[] = [];
  const open = async (query = ''): Promise<Collection<Counter>> => {
    const store = await openStore({ url: databaseUrl(started.url, database) + query });
    opened.push(store);
    return store.collection<Counter>({ name: 'test_counters', indexes: [{ fields: ['n'] }] });
  };
  const database = `anneal_test_${randomBytes(6).toString('hex')}`;
  afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())));
  afterAll(() => started.stop());

  describe('a store on MongoDB whose server is killed', () => {
    it('makes every write exactly once, over kill -9 and restart, and goes on by itself', async () => {
      const [one, two] = [await open(), await open()];
      await one.insert({ id: 'shared', n: 0, by: {} });
      let rounds = 0;
      const enough = new AbortController();
      const shared = async (collection: Collection<Counter>) => {
        const { n, version, by = {} } = (await collection.get('shared')) ?? { n: -1, version: -1 };
        return { n, version, by };
      };
      const count = async (collection: Collection<Counter>, name: string): Promise<number> => {
        let confirmed = 0;
        while (!enough.signal.aborted) {
          const { n, version, by } = await shared(collection);
          const next = { id: 'shared', n: n + 1, by: { ...by, [name]: confirmed + 1 } };
          // W3 of the store: a write whose answer was lost, and that another writer overwrote, counts as stale.
          if ((await collection.replace(next, version)) || (await shared(collection)).by[name] === confirmed + 1) {
            await collection.bulk(
              [0, 1, 2].map((index) => ({
                kind: 'insert',
                document: { id: `${name}${confirmed}-${index}`, n: confirmed },
              })),
            );
            confirmed += 1;
          }
          rounds += 1;
        }
        return confirmed;
      };
      const counting = Promise.all([count(one, 'a'), count(one, 'b'), count(two, 'c')]);
      const after = async (more: number): Promise<void> => {
        const goal = rounds + more;
        await expect.poll(() => rounds).toBeGreaterThan(goal);
      };
      for (let kill = 0; kill < 3; kill += 1) {
        await after(60);
        await started.kill();
        await started.start();
      }
      await after(60);
      enough.abort();
      const [a, b, c] = await counting;
      const total = a + b + c;
      expect(await shared(one)).toEqual({ n: total, version: total + 1, by: { a, b, c } });
      expect(await one.count({ id: { gte: '' } })).toBe(1 + 3 * total);
    });

    it('fails writes, reads and its check within the time limit', async () => {
      const collection = await open('?serverSelectionTimeoutMS=1000');
      const store = opened.at(-1);
      await started.kill();
      const began = performance.now();
      const unavailable = { code: 'Unavailable' };
      await Promise.all([
        expect(collection.insert({ id: 'x', n: 1 })).rejects.toMatchObject(unavailable),
        expect(collection.bulk([{ kind: 'put', document: { id: 'y', n: 1 } }])).rejects.toMatchObject(unavailable),
        expect(collection.get('x')).rejects.toMatchObject(unavailable),
        expect(store?.blobs.put('z')).rejects.toMatchObject(unavailable),
        expect(store?.check()).rejects.toMatchObject(unavailable),
      ]);
      // 30 s is the driver's default wait, without a setting in the URL.
      expect(performance.now() - began).toBeLessThan(30_000);
      await started.start();
      await store?.check();
      await collection.bulk([{ kind: 'put', document: { id: 'y', n: 2 } }]);
      expect((await collection.get('y'))?.n).toBe(2);
    });
  });

  describe('a store on MongoDB whose server accepts connections and stops answering', () => {
    const unavailable = { code: 'Unavailable' };

    it('ends every operation at its deadline, and its writes continue when the server answers again', async () => {
      const { store, counters, proxy } = await openBehindProxy();
      await counters.insert({ id: 'quiet', n: 0 });
      const began = performance.now();
      proxy.lateMs = Infinity;
      await Promise.all([
        expect(counters.get('quiet')).rejects.toMatchObject(unavailable),
        // The second waits behind the first, which gets no answer.
        expect(counters.replace({ id: 'quiet', n: 1 }, 1)).rejects.toMatchObject(unavailable),
        expect(later(() => counters.insert({ id: 'quieter', n: 1 }))).rejects.toMatchObject(unavailable),
        expect(store.check()).rejects.toMatchObject(unavailable),
      ]);
      // The patience in the URL is 1 s, and the default of the driver 30 s.
      expect(performance.now() - began).toBeLessThan(25_000);
      proxy.lateMs = 0;
      const put = () => counters.bulk([{ kind: 'put', document: { id: 'loud', n: 1 } }]).then(() => true);
      await expect.poll(put).toBe(true);
      expect((await counters.get('loud'))?.n).toBe(1);
      await store.close();
      await proxy.close();
    });

    it('is reached by the next connection when it leaves one without an answer', async () => {
      // The patience of the product: 15 s.
      const { store, counters, proxy } = await openBehindProxy('');
      proxy.lateMs = Infinity;
      proxy.cut();
      const written = counters.insert({ id: 'next', n: 1 });
      await expect.poll(() => proxy.withheld).toBeGreaterThan(0);
      proxy.lateMs = 0;
      expect((await written).n).toBe(1);
      await store.close();
      await proxy.close();
    });

    it('ends every operation that is sent while its server closes the connections', async () => {
      const { counters, proxy } = await openBehindProxy('');
      const ended = (work: Promise<unknown>) => work.catch(() => undefined);
      // A connection closes over several turns of the event loop. A command is sent in each of them.
      for (let turns = 0; turns < 40; turns += 1) {
        await Promise.all(Array.from({ length: 5 }, () => ended(counters.get('warm'))));
        proxy.cut();
        for (let passed = 0; passed < turns % 8; passed += 1) await turn();
        await Promise.all([
          ended(counters.bulk([{ kind: 'put', document: { id: `cut${turns}`, n: turns } }])),
          ended(counters.get('warm')),
        ]);
      }
      await proxy.close();
    });

    it('closes, and ends the operations in progress with Unavailable', async () => {
      const { store, counters, proxy } = await openBehindProxy('serverSelectionTimeoutMS=30000');
      proxy.lateMs = Infinity;
      const writes = Promise.all([
        expect(counters.insert({ id: 'lost', n: 1 })).rejects.toMatchObject(unavailable),
        expect(later(() => counters.insert({ id: 'waiting', n: 1 }))).rejects.toMatchObject(unavailable),
        expect(counters.get('lost')).rejects.toMatchObject(unavailable),
      ]);
      const began = performance.now();
      await later(() => store.close());
      await writes;
      // Before the time of the URL is over.
      expect(performance.now() - began).toBeLessThan(25_000);
      await expect(counters.get('lost')).rejects.toMatchObject({ message: expect.stringContaining('is closed') });
      await proxy.close();
    });
  });

  async function openBehindProxy(options = 'serverSelectionTimeoutMS=1000&connectTimeoutMS=12000') {
    const { hostname, port } = new URL(started.url);
    const proxy = await startSlowProxy({ host: hostname, port: Number(port) });
    const store = await openStore({ url: `${databaseUrl(`mongodb://127.0.0.1:${proxy.port}/`, database)}?${options}` });
    opened.push(store);
    const counters = await store.collection<Counter>({ name: 'test_counters', indexes: [{ fields: ['n'] }] });
    return { store, counters, proxy };
  }
}

/** Runs in a later turn of the event loop, so that a write is not sent together with those before. */
async function later<R>(run: () => Promise<R>): Promise<R> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setImmediate(() => setImmediate(resolve));
  await promise;
  return run();
}
