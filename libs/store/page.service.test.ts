import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openStore } from './open.ts';
import { findPage, type PagedList } from './page.ts';
import type { Collection, Document, Store } from './port.ts';

interface Thing extends Document {
  readonly kind: string;
  readonly name: string;
  readonly size: number;
}
let folder: string;
let store: Store;
let things: Collection<Thing>;
const list: PagedList<Thing> = {
  where: { kind: 'a' },
  natural: { name: 'name', orderBy: ['name'] },
  paths: ['name', 'size'],
  columns: { size: ({ size }) => size ?? '' },
  textsOf: ({ name, size }) => [String(name), `size ${size}`],
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-page-'));
  store = await openStore({ url: `sqlite:${join(folder, 'db')}` });
  things = await store.collection<Thing>({
    name: 'test_things',
    indexes: [{ fields: ['kind', 'name'] }],
    listed: ['size'],
  });
  const documents = Array.from({ length: 30 }, (_, at) => ({
    id: `t${at}`,
    kind: at < 25 ? 'a' : 'b',
    name: `thing ${String(at).padStart(2, '0')}`,
    size: at % 5,
  }));
  await things.bulk(documents.map((document) => ({ kind: 'insert', document })));
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

const namesOf = (documents: readonly Thing[]) => documents.map(({ name }) => name.slice(6));

it('reads any page in the order of the index, with the count of the list', async () => {
  const page = await findPage(things, list, { offset: 20, limit: 10 });
  expect({ ...page, documents: namesOf(page.documents) }).toEqual({
    documents: ['20', '21', '22', '23', '24'],
    total: 25,
    found: 25,
  });
  const last = await findPage(things, list, { limit: 2, descending: true });
  expect(namesOf(last.documents)).toEqual(['24', '23']);
});

it('finds the rows with all words, in any case, and sorts them by a column with equal ones in order', async () => {
  const page = await findPage(things, list, { find: ' THING size ', sort: 'size', descending: true, limit: 6 });
  expect(namesOf(page.documents)).toEqual(['04', '09', '14', '19', '24', '03']);
  const some = await findPage(things, { ...list, isWanted: ({ size }) => size > 0 }, { find: 'thing 12', limit: 3 });
  expect({ ...some, documents: namesOf(some.documents) }).toEqual({
    documents: ['12'],
    total: 20,
    found: 1,
  });
});

it('reads only the documents of the page, also with words or sorted by a column, and refuses an unknown column by name', async () => {
  const asked: unknown[] = [];
  const watched = {
    find: (query: Parameters<typeof things.find>[0]) => (asked.push(query), things.find(query)),
    count: things.count.bind(things),
    rows: things.rows.bind(things),
    getMany: (ids: readonly string[]) => (asked.push(ids), things.getMany(ids)),
  };
  await findPage(watched, list, { find: ' ', offset: 3, limit: 4 });
  expect(asked).toEqual([{ where: { kind: 'a' }, orderBy: ['name'], descending: false, offset: 3, limit: 4 }]);
  await findPage(watched, list, { find: 'thing', sort: 'size', offset: 3, limit: 2 });
  expect(asked.slice(1)).toEqual([['t15', 't20']]);
  await expect(findPage(things, list, { sort: 'weight', limit: 1 })).rejects.toThrow(
    'there is no column weight: sort by name, size',
  );
});
