/** The conformance of every store, whichever database is behind the port. An adapter's `*.contract.ts` runs it. */
import { oddJson } from './odd-value.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../open.ts';
import { DuplicateError, type BulkOperation, type Collection, type Document, type Draft, type Store } from '../port.ts';

/** How the suite opens stores of an adapter. */
export interface StoreHarness {
  /** The URL of an empty store, which exists until it is disposed of. */
  fresh(): Promise<{ url: string; dispose(): Promise<void> }>;
  /** Skips the tests of many and of large documents. */
  readonly quick?: boolean;
}

interface Sample extends Document {
  readonly group?: string | null;
  readonly rank?: number | string | boolean | null;
  readonly owner?: { readonly name: string };
}

const definition = {
  name: 'test_samples',
  indexes: [{ fields: ['group', 'rank'] }, { fields: ['owner.name'] }],
};
const unique = { name: 'test_unique', indexes: [{ fields: ['group', 'owner.name'], unique: true }] };

/** Registers the tests of S1 to S4 for an adapter. */
export function storeConformance(name: string, harness: StoreHarness): void {
  const { quick = false } = harness;
  describe(`a store on ${name}`, () => {
    let url: string;
    let dispose: () => Promise<void>;
    let store: Store;
    let samples: Collection<Sample>;
    const opened: Store[] = [];
    const open = async (): Promise<Store> => {
      const another = await openStore({ url });
      opened.push(another);
      return another;
    };

    beforeEach(async () => {
      const fresh = await harness.fresh();
      url = fresh.url;
      dispose = () => fresh.dispose();
      store = await open();
      samples = await store.collection<Sample>(definition);
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((each) => each.close()));
      await dispose();
    });

    const fill = (ranks: readonly Sample['rank'][], group = 'g'): Promise<unknown> =>
      samples.bulk(
        ranks.map((rank, index): BulkOperation<Sample> => ({
          kind: 'insert',
          document: { id: `${group}${index}`, group, ...(rank !== undefined && { rank }) },
        })),
      );
    const ids = (documents: readonly Document[]): string[] => documents.map(({ id }) => id);

    it('reads an inserted document, at version 1', async () => {
      const given = await samples.insert({ id: 'a', group: 'x', owner: { name: 'Ada' } });
      expect(given).toEqual({ id: 'a', version: 1, group: 'x', owner: { name: 'Ada' } });
      expect(await samples.get('a')).toEqual(given);
      expect(await samples.get('b')).toBeUndefined();
    });

    it('reads documents by ids, in the order asked, each once, without missing ones', async () => {
      await fill([1, 2, 3]);
      expect(ids(await samples.getMany(['g2', 'none', 'g0', 'g2']))).toEqual(['g2', 'g0']);
    });

    it.skipIf(quick)(
      'reads some values of all documents of a query in its order, and no path that it has not beside the document',
      async () => {
        const listed = { ...definition, listed: ['tags', 'done', 'owner.age'] };
        // Written before the collection lists these paths, and long enough to be read in several turns.
        const documents = Array.from({ length: 2500 }, (_, at) => ({
          id: `d${at}`,
          group: 'g',
          rank: 2500 - at,
          ...(at === 7 && { tags: ['a', 'b'], done: true, owner: { name: 'Ada', age: 36 } }),
        }));
        await samples.bulk(documents.map((document) => ({ kind: 'insert', document })));
        const wide = await (await open()).collection<Sample>(listed);
        await samples.insert({ id: 'late', group: 'g', rank: 0, owner: { name: 'Bo' }, done: false } as Draft<Sample>);
        const paths = ['rank', 'tags', 'done', 'owner.age', 'owner.name'];
        const rows = await wide.rows({ where: { group: 'g' }, orderBy: ['rank'] }, paths);
        expect(rows.map(({ values }) => values['rank'])).toEqual(Array.from({ length: 2501 }, (_, at) => at));
        expect(rows.find(({ id }) => id === 'd7')?.values).toEqual({
          rank: 2493,
          tags: '["a","b"]',
          done: 1,
          'owner.age': 36,
          'owner.name': 'Ada',
        });
        expect(rows[0]).toEqual({
          id: 'late',
          values: { rank: 0, tags: null, done: 0, 'owner.age': null, 'owner.name': 'Bo' },
        });
        const byId = await wide.rows({ where: {} }, ['rank']);
        expect(byId.map(({ id }) => id)).toEqual(byId.map(({ id }) => id).toSorted());
        await expect(samples.rows({ where: {} }, ['tags'])).rejects.toMatchObject({ code: 'Defect' });
        await expect(wide.rows({ where: { tags: 'a' } }, ['tags'])).rejects.toMatchObject({ code: 'Defect' });
      },
    );

    it('ignores a version that the caller spread into its draft', async () => {
      const first = await samples.insert({ id: 'a' });
      await samples.replace({ ...first, group: 'x' }, first.version);
      expect(await samples.get('a')).toEqual({ id: 'a', version: 2, group: 'x' });
    });

    it('S1: a resolved write survives closing and opening', async () => {
      await fill([1, 2, 3]);
      const hash = await store.blobs.put('content');
      await store.close();
      const again = await open();
      const found = await (await again.collection<Sample>(definition)).find({ where: { group: 'g' } });
      expect(ids(found)).toEqual(['g0', 'g1', 'g2']);
      expect(await again.blobs.getText(hash)).toBe('content');
    });

    it('S1: a write that a process confirmed survives its kill -9', async () => {
      const writer = spawn(process.execPath, [new URL('./writer.ts', import.meta.url).pathname, url], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const said: string[] = [];
      const lines = createInterface({ input: writer.stdout });
      lines.on('line', (line) => {
        said.push(line);
        if (said.length === 200) writer.kill('SIGKILL');
      });
      await Promise.all([once(writer, 'exit'), once(lines, 'close')]);
      const collection = await store.collection({ name: 'test_kill', indexes: [] });
      expect(said.length).toBeGreaterThanOrEqual(200);
      expect(ids(await collection.getMany(said))).toEqual(said);
    });

    it('S1: reads see all writes issued before them, resolved or not', async () => {
      const insert = samples.insert({ id: 'a', group: 'x' });
      expect(await samples.get('a')).toBeDefined();
      expect(await samples.count({ group: 'x' })).toBe(1);
      await insert;
    });

    it('S2: replace and remove change only the version that they name', async () => {
      await samples.insert({ id: 'a', group: 'x' });
      expect(await samples.replace({ id: 'a', group: 'y' }, 1)).toEqual({ id: 'a', version: 2, group: 'y' });
      expect(await samples.replace({ id: 'a', group: 'z' }, 1)).toBeUndefined();
      expect(await samples.replace({ id: 'none' }, 1)).toBeUndefined();
      expect(await samples.remove('a', 1)).toBe(false);
      expect(await samples.remove('a', 2)).toBe(true);
      expect(await samples.remove('a')).toBe(false);
    });

    it('S2: many writers in two stores on one database make every increment exactly once', async () => {
      const other = await (await open()).collection<Sample>(definition);
      await samples.insert({ id: 'a', rank: 0 });
      let lost = 0;
      const increment = async (collection: Collection<Sample>): Promise<void> => {
        for (;;) {
          const found = await collection.get('a');
          const next = { id: 'a', rank: Number(found?.rank) + 1 };
          if (await collection.replace(next, found?.version ?? 0)) return;
          lost += 1;
        }
      };
      await Promise.all(Array.from({ length: 60 }, (_, index) => increment(index % 2 ? samples : other)));
      expect(await samples.get('a')).toEqual({ id: 'a', rank: 60, version: 61 });
      expect(lost).toBeGreaterThan(0);
    });

    it('S2: when two stores replace the same documents in bulk, each document reports exactly one winner', async () => {
      const other = await (await open()).collection<Sample>(definition);
      await fill(Array.from({ length: 300 }, () => 0));
      const take = (collection: Collection<Sample>, group: string) =>
        collection.bulk(
          Array.from({ length: 300 }, (_, index) => ({
            kind: 'replace' as const,
            document: { id: `g${index}`, group },
            version: 1,
          })),
        );
      const [mine, theirs] = await Promise.all([take(samples, 'mine'), take(other, 'theirs')]);
      const found = new Map((await samples.find({ where: {} })).map((document) => [document.id, document]));
      const won = mine.map((outcome, index) => [found.get(`g${index}`)?.group, outcome, theirs[index]].join(' '));
      expect([...new Set(won)].filter((each) => !['mine done stale', 'theirs stale done'].includes(each))).toEqual([]);
      expect([...found.values()].every(({ version }) => version === 2)).toBe(true);
    });

    it('S3: a duplicate id or unique index is refused with the names of the fields, and the other documents are written', async () => {
      const collection = await store.collection<Sample>(unique);
      const outcomes = await Promise.allSettled([
        collection.insert({ id: 'a', group: 'x', owner: { name: 'Ada' } }),
        collection.insert({ id: 'b', group: 'x', owner: { name: 'Ada' } }),
        collection.insert({ id: 'a', group: 'z' }),
        collection.insert({ id: 'c', group: 'y', owner: { name: 'Ada' } }),
      ]);
      const fields = outcomes.map((outcome) =>
        outcome.status === 'rejected' && outcome.reason instanceof DuplicateError ? outcome.reason.fields : 'written',
      );
      expect(fields).toEqual(['written', ['group', 'owner.name'], ['id'], 'written']);
      await expect(collection.replace({ id: 'c', group: 'x', owner: { name: 'Ada' } }, 1)).rejects.toBeInstanceOf(
        DuplicateError,
      );
    });

    it('S3: null and an absent field count as values in a unique index', async () => {
      const collection = await store.collection<Sample>(unique);
      await collection.insert({ id: 'a', group: 'x' });
      await expect(collection.insert({ id: 'b', group: 'x' })).rejects.toBeInstanceOf(DuplicateError);
      await collection.insert({ id: 'c', group: null });
      await expect(collection.insert({ id: 'd' })).rejects.toBeInstanceOf(DuplicateError);
    });

    it('S3: an index can be added to a collection with documents; a unique one only if it holds', async () => {
      await fill([1, 1, 2]);
      const byRank = await store.collection<Sample>({ ...definition, indexes: [{ fields: ['rank'] }] });
      expect(ids(await byRank.find({ where: { rank: 1 } }))).toEqual(['g0', 'g1']);
      await expect(
        store.collection({ ...definition, indexes: [{ fields: ['rank'], unique: true }] }),
      ).rejects.toMatchObject({ code: 'Conflict' });
    });

    it('S3: a collection that refused a unique index accepts it after its documents are corrected', async () => {
      const wanted = { ...unique, indexes: [...unique.indexes, { fields: ['rank'], unique: true }] };
      const plain = await store.collection<Sample>({ name: unique.name, indexes: [] });
      for (const id of ['a', 'b']) await plain.insert({ id, group: id });
      await expect(store.collection(wanted)).rejects.toMatchObject({ code: 'Conflict' });
      const some = await store.collection<Sample>({ name: unique.name, indexes: [{ fields: ['group'] }] });
      await some.replace({ id: 'b', group: 'b', rank: 2 }, 1);
      const all = await store.collection<Sample>(wanted);
      await expect(all.insert({ id: 'c', group: 'c', rank: 2 })).rejects.toMatchObject({ fields: ['rank'] });
    });

    it('S4: a query without a declared index is a defect that lists the indexes', async () => {
      const refused = { code: 'Defect', message: expect.stringContaining('(group, rank)') as string };
      await expect(samples.find({ where: { rank: 1 } })).rejects.toMatchObject(refused);
      await expect(samples.find({ where: { group: { gt: 'a' }, rank: 1 } })).rejects.toMatchObject(refused);
      await expect(samples.find({ where: { group: 'g' }, orderBy: ['owner.name'] })).rejects.toMatchObject(refused);
      await expect(samples.find({ where: {}, orderBy: ['rank'] })).rejects.toMatchObject(refused);
      await expect(samples.count({ rank: 1 })).rejects.toMatchObject(refused);
    });

    it('S4: an index of some documents finds those, as they come and go, and serves no other query', async () => {
      const collection = await store.collection<Sample>({
        name: 'test_some',
        indexes: [
          { fields: ['group', 'rank'], only: { field: 'rank' } },
          { fields: ['owner.name'], only: { field: 'owner.name', is: 'Ada' } },
        ],
      });
      await collection.insert({ id: 'a', group: 'g', rank: 1, owner: { name: 'Ada' } });
      await collection.insert({ id: 'b', group: 'g', owner: { name: 'Bob' } });
      await collection.insert({ id: 'c', group: 'g', rank: null });
      const [ranked, ofAda] = [{ where: { group: 'g', rank: { gt: 0 } } }, { where: { 'owner.name': 'Ada' } }];
      expect(ids(await collection.find(ranked))).toEqual(['a']);
      expect(ids(await collection.find(ofAda))).toEqual(['a']);
      await collection.replace({ id: 'a', group: 'g', owner: { name: 'Eve' } }, 1);
      await collection.replace({ id: 'b', group: 'g', rank: 2, owner: { name: 'Ada' } }, 1);
      expect(ids(await collection.find(ranked))).toEqual(['b']);
      expect(ids(await collection.find(ofAda))).toEqual(['b']);
      expect(await collection.count({ group: 'g', rank: { in: [1, 2] } })).toBe(1);
      for (const where of [
        { group: 'g' },
        { group: 'g', rank: null },
        { group: 'g', rank: { in: [2, null] } },
        { group: 'g', rank: { gte: null } },
        { 'owner.name': 'Bob' },
        { 'owner.name': { in: ['Ada'] } },
      ]) {
        await expect(collection.find({ where }), JSON.stringify(where)).rejects.toMatchObject({ code: 'Defect' });
      }
      await expect(
        store.collection({ name: 'test_some', indexes: [{ fields: ['rank'], only: { field: 'group' } }] }),
      ).rejects.toMatchObject({ code: 'Defect' });
    });

    it('S4: an index for counts counts documents, as they come and go, and finds none', async () => {
      const collection = await store.collection<Sample>({
        name: 'test_counted',
        indexes: [{ fields: ['group'], only: { field: 'group', is: 'busy' }, counts: true }],
      });
      const busy = { where: { group: 'busy' } };
      for (const id of ['a', 'b', 'c']) await collection.insert({ id, group: 'busy' });
      expect(await collection.count(busy.where)).toBe(3);
      await collection.replace({ id: 'b', group: 'idle' }, 1);
      await collection.remove('c');
      expect(await collection.count(busy.where)).toBe(1);
      await expect(collection.find(busy)).rejects.toMatchObject({ code: 'Defect' });
      await expect(collection.rows(busy, ['group'])).rejects.toMatchObject({ code: 'Defect' });
    });

    it('finds documents by equality, list, range and path, and without a filter', async () => {
      await fill([3, 1, 2]);
      await samples.insert({ id: 'z', group: 'h', owner: { name: 'Ada' } });
      expect(ids(await samples.find({ where: { group: 'g', rank: 1 } }))).toEqual(['g1']);
      expect(ids(await samples.find({ where: { group: 'g', rank: { in: [3, 2, 9] } } }))).toEqual(['g0', 'g2']);
      expect(ids(await samples.find({ where: { group: { in: [] } } }))).toEqual([]);
      expect(ids(await samples.find({ where: { group: 'g', rank: { gte: 2, lt: 3 } } }))).toEqual(['g2']);
      expect(ids(await samples.find({ where: { 'owner.name': 'Ada' } }))).toEqual(['z']);
      expect(ids(await samples.find({ where: {} }))).toEqual(['g0', 'g1', 'g2', 'z']);
      expect(await samples.count({ group: { in: ['g', 'h'] } })).toBe(4);
    });

    it('orders by the index and then by id, in both directions', async () => {
      await fill([2, 1, 2, null]);
      const query = { where: { group: 'g' }, orderBy: ['rank'] };
      expect(ids(await samples.find(query))).toEqual(['g3', 'g1', 'g0', 'g2']);
      expect(ids(await samples.find({ ...query, descending: true }))).toEqual(['g2', 'g0', 'g1', 'g3']);
      expect(ids(await samples.find({ ...query, limit: 2 }))).toEqual(['g3', 'g1']);
      expect(ids(await samples.find({ ...query, limit: 2, offset: 1 }))).toEqual(['g1', 'g0']);
      expect(ids(await samples.find({ ...query, limit: 2, offset: 9 }))).toEqual([]);
    });

    it('treats null and absent as one value, which only a range from null contains', async () => {
      await fill([null, undefined, 5, 'text', true]);
      const find = async (rank: NonNullable<Parameters<typeof samples.find>[0]['where'][string]> | null) =>
        ids(await samples.find({ where: { group: 'g', rank } }));
      expect(await find(null)).toEqual(['g0', 'g1']);
      expect(await find({ in: [null, 5] })).toEqual(['g0', 'g1', 'g2']);
      expect(await find({ lt: 6 })).not.toContain('g0');
      expect(await find({ gt: 4 })).toEqual(['g2']);
      expect(await find({ lt: 'u' })).toEqual(['g3']);
      expect(await find({ gt: null })).toHaveLength(3);
      expect(await find(true)).toEqual(['g4']);
    });

    it('pages after the last value and after the last id', async () => {
      await fill(Array.from({ length: 25 }, (_, index) => index));
      const byRank: string[] = [];
      for (let last = -1; ;) {
        const page = await samples.find({ where: { group: 'g', rank: { gt: last } }, orderBy: ['rank'], limit: 10 });
        if (page.length === 0) break;
        byRank.push(...ids(page));
        last = Number(page.at(-1)?.rank);
      }
      expect(byRank).toEqual(Array.from({ length: 25 }, (_, index) => `g${index}`));
      const rest = await samples.find({ where: { 'owner.name': null, id: { gt: 'g7' } }, orderBy: ['id'], limit: 5 });
      expect(ids(rest)).toEqual(['g8', 'g9']);
    });

    it('reports the outcome of each bulk operation, in order', async () => {
      await fill([1, 2]);
      const outcomes = await samples.bulk([
        { kind: 'insert', document: { id: 'g0' } },
        { kind: 'put', document: { id: 'g0', group: 'p' } },
        { kind: 'put', document: { id: 'new', group: 'p' } },
        { kind: 'replace', document: { id: 'g1', group: 'p' }, version: 1 },
        { kind: 'replace', document: { id: 'g1', group: 'q' }, version: 1 },
        { kind: 'replace', document: { id: 'none' }, version: 1 },
        { kind: 'remove', id: 'g0', version: 1 },
        { kind: 'remove', id: 'new' },
        { kind: 'remove', id: 'new' },
      ]);
      expect(outcomes).toEqual(['duplicate', 'done', 'done', 'done', 'stale', 'absent', 'stale', 'done', 'absent']);
      expect((await samples.find({ where: { group: 'p' } })).map(({ id, version }) => [id, version])).toEqual([
        ['g0', 2],
        ['g1', 2],
      ]);
    });

    it.skipIf(quick)('finds a few of ten thousand documents without reading them all', async () => {
      await samples.bulk(
        Array.from({ length: 10_000 }, (_, index): BulkOperation<Sample> => ({
          kind: 'insert',
          document: { id: `d${index}`, group: `g${index % 1000}`, rank: index },
        })),
      );
      const began = performance.now();
      expect(await samples.find({ where: {} })).toHaveLength(10_000);
      const all = performance.now() - began;
      for (let group = 0; group < 200; group += 1) {
        expect(await samples.find({ where: { group: `g${group}` }, orderBy: ['rank'] })).toHaveLength(10);
      }
      // Two hundred scans of all documents would take longer than this.
      expect(performance.now() - began - all).toBeLessThan(100 * all);
    });

    it('keeps text with quotes and control characters unchanged', async () => {
      const text = `a'b"c\\d\u0000e\n☃ \u{1F600} {"$ne":1}`;
      await samples.insert({ id: text, group: text });
      expect(ids(await samples.find({ where: { group: text } }))).toEqual([text]);
      expect((await samples.get(text))?.group).toBe(text);
    });

    it('keeps keys that have a meaning in a database', async () => {
      const document = JSON.parse(
        '{"id":"a","$set":{"a.b":1,"$inc":{"":[{"__proto__":1}]}},"_id":"x","b\\u0000c":null,"by_group":1,"body":{"write":2}}',
      ) as Sample;
      await samples.insert(document);
      await samples.bulk([{ kind: 'put', document: { ...document, id: 'b' } }]);
      const { version, ...found } = (await samples.get('a')) ?? { version: 0 };
      expect([version, JSON.stringify(found)]).toEqual([1, JSON.stringify(document)]);
      expect(await samples.get('b')).toEqual({ ...found, id: 'b', version: 1 });
    });

    it.each([
      ['small', ''],
      ['large', 'x'.repeat(2 * 1024 * 1024)],
    ])('keeps numbers as they were written and the order of keys in a %s document', async (_size, text) => {
      const owner = { name: text, value: parseExact(oddJson) };
      await samples.insert({ id: 'a', group: 'x', owner });
      await samples.bulk([{ kind: 'put', document: { id: 'b', group: 'x', owner } }]);
      const first = await samples.get('a');
      if (first) await samples.replace(first, first.version);
      const all = [await samples.get('a'), await samples.get('b'), ...(await samples.find({ where: { group: 'x' } }))];
      const stored = all.map((each) => JSON.stringify(each?.owner).replace(text, ''));
      expect(stored).toEqual(Array(4).fill(`{"name":"","value":${oddJson}}`));
    });

    it('stores a document of ten megabytes', async () => {
      const text = Array.from({ length: 100_000 }, (_, index) => `${index}: ${'-'.repeat(90)}`).join();
      const owner = { name: 'Ada', text };
      await samples.insert({ id: 'a', group: 'x', owner });
      const [found] = await samples.find({ where: { 'owner.name': 'Ada' } });
      expect(JSON.stringify(found).includes(text)).toBe(true);
    });

    it.skipIf(quick)(
      'stores and overwrites a document that exceeds the limit of the database even when compressed',
      async () => {
        const large = (): { name: string; text: string } => ({
          name: 'Ada',
          text: randomBytes(9 * 1024 * 1024).toString('base64'),
        });
        const [first, second, third] = [large(), large(), large()];
        const other = await (await open()).collection<Sample>(definition);
        const given = await samples.insert({ id: 'a', group: 'x', owner: first });
        expect(isDeepStrictEqual(await other.get('a'), given)).toBe(true);
        expect(await samples.replace({ id: 'a', group: 'x', owner: second }, 7)).toBeUndefined();
        expect(isDeepStrictEqual(await other.get('a'), given)).toBe(true);
        await other.replace({ id: 'a', group: 'x', owner: second }, 1);
        await samples.bulk([{ kind: 'put', document: { id: 'a', group: 'x', owner: third } }]);
        const [found] = await other.find({ where: { group: 'x' } });
        expect(isDeepStrictEqual(found, { id: 'a', version: 3, group: 'x', owner: third })).toBe(true);
        await other.bulk([{ kind: 'put', document: { id: 'a', group: 'y' } }]);
        expect(await samples.get('a')).toEqual({ id: 'a', version: 4, group: 'y' });
        expect(await samples.remove('a', 4)).toBe(true);
      },
    );

    it('removes many documents at once and reports the outcome of each', async () => {
      await fill(Array.from({ length: 3000 }, (_, index) => index));
      const outcomes = await samples.bulk(
        Array.from({ length: 4000 }, (_, index) => ({
          kind: 'remove' as const,
          id: `g${index}`,
          ...(index % 3 === 0 && { version: index % 2 === 0 ? 1 : 2 }),
        })),
      );
      const wrong = outcomes.filter((outcome, index) => {
        const stale = index % 3 === 0 && index % 2 === 1;
        return outcome !== (index >= 3000 ? 'absent' : stale ? 'stale' : 'done');
      });
      expect(wrong).toEqual([]);
      expect(await samples.count({ group: 'g' })).toBe(500);
    });

    it('stores a blob larger than one database document', async () => {
      const bytes = randomBytes(20 * 1024 * 1024);
      const hash = await store.blobs.put(bytes);
      expect(await store.blobs.put(bytes)).toBe(hash);
      const found = await (await open()).blobs.get(hash);
      expect(Buffer.compare(found ?? new Uint8Array(), bytes)).toBe(0);
    });

    it('names blobs by their content and stores equal ones once', async () => {
      const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
      const [one, two] = await Promise.all([store.blobs.put(bytes), store.blobs.put(bytes)]);
      expect(one).toBe(two);
      expect(one).toMatch(/^[0-9a-f]{64}$/);
      expect(Buffer.compare((await store.blobs.get(one)) ?? new Uint8Array(), bytes)).toBe(0);
      expect(await store.blobs.get('0'.repeat(64))).toBeUndefined();
      expect(await store.blobs.getText(await store.blobs.put(''))).toBe('');
    });

    it('removes blobs that were not put again, also those larger than one database document', async () => {
      const [small, large] = [await store.blobs.put('small'), await store.blobs.put(randomBytes(9 * 1024 * 1024))];
      expect(await store.blobs.remove([small, large], Date.now() - 600_000)).toBe(0);
      expect(await store.blobs.remove([small, large, '0'.repeat(64)], Date.now() + 600_000)).toBe(2);
      expect([await store.blobs.get(small), await store.blobs.get(large)]).toEqual([undefined, undefined]);
      expect(await store.blobs.put('small')).toBe(small);
      expect(await store.blobs.getText(small)).toBe('small');
    });

    it('reports that it is available, and after closing that it is not', async () => {
      await store.check();
      await store.close();
      await expect(store.check()).rejects.toMatchObject({ code: 'Unavailable' });
      await expect(samples.insert({ id: 'a' })).rejects.toMatchObject({ code: 'Unavailable' });
    });
  });
}
