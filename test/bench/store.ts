/** Compares each store with its raw driver, in the same run. */
import type { RawDocument, RawStore } from '@anneal/store/raw/mongodb.ts';
import { cheapId } from './id.ts';
import { closedLoop, type LoadSample, type Window } from './load.ts';
import { pair } from './pair.ts';
import { isChosen, type Bench, type Row } from './report.ts';
import { mongodb, sqlite, type StoreBackend } from './store-sides.ts';

const owners = 100;
const perOwner = 10;
const bulkSize = 100;
const lanes = 16;

const documentOf = (owner: number, state = 'new'): RawDocument => ({
  id: cheapId(),
  owner: `owner-${owner}`,
  state,
  text: 'x'.repeat(300),
});

/** Documents that are read and replaced. Inserted documents match no query. */
interface Seeded {
  readonly store: RawStore;
  readonly documents: readonly RawDocument[];
  readonly versions: number[];
}

async function seed(store: RawStore): Promise<Seeded> {
  const documents = Array.from({ length: owners * perOwner }, (_, n) => documentOf(n % owners));
  for (let from = 0; from < documents.length; from += bulkSize) {
    await store.insertMany(documents.slice(from, from + bulkSize));
  }
  return { store, documents, versions: documents.map(() => 1) };
}

interface Case {
  readonly name: string;
  readonly lanes: number;
  /** Documents per call. */
  readonly batch: number;
  readonly call: (seeded: Seeded, n: number) => Promise<unknown>;
}

const at = <T>(values: readonly T[], n: number): T => {
  const value = values[n % values.length];
  if (value === undefined) throw new Error('There are no documents.');
  return value;
};

/** Inserts run last, because otherwise the faster side would have more documents in the queries. */
const cases: readonly Case[] = [
  { name: 'get', lanes, batch: 1, call: ({ store, documents }, n) => store.get(at(documents, n * 7).id) },
  {
    name: `find ${perOwner} by index`,
    lanes,
    batch: 1,
    call: ({ store }, n) => store.findByOwner(`owner-${n % owners}`),
  },
  {
    name: 'compare and set',
    lanes,
    batch: 1,
    async call({ store, documents, versions }, n) {
      // No two lanes use the same document, because far fewer calls are in flight than there are documents.
      const index = n % documents.length;
      const version = versions[index] ?? 1;
      versions[index] = version + 1;
      const done = await store.replace({ ...at(documents, index), state: `changed-${n}` }, version);
      if (!done) throw new Error(`the replace of version ${version} was refused`);
    },
  },
  { name: 'insert', lanes: 1, batch: 1, call: ({ store }) => store.insert(documentOf(owners)) },
  { name: 'insert', lanes, batch: 1, call: ({ store }) => store.insert(documentOf(owners)) },
  {
    name: `bulk of ${bulkSize}`,
    lanes: 2,
    batch: bulkSize,
    call: ({ store }) => store.insertMany(Array.from({ length: bulkSize }, () => documentOf(owners))),
  },
];

const run = (seeded: Seeded, { call, lanes: width, batch }: Case, window: Window): Promise<LoadSample> => {
  let n = 0;
  return closedLoop({ window, lanes: width, batch, call: () => call(seeded, (n += 1)) });
};

async function measure(backend: StoreBackend, { quick }: { quick: boolean }): Promise<Row[]> {
  const [adapter, raw] = [await seed(backend.adapter), await seed(backend.raw)];
  const window = quick ? { warmMs: 150, measureMs: 350 } : { warmMs: 300, measureMs: 1000 };
  const rows: Row[] = [];
  for (const each of cases) {
    const measured = await pair({
      bench: 'store',
      case: `${each.name}, ${each.lanes} in flight`,
      metric: 'throughput (latency in ms)',
      unit: each.batch > 1 ? 'documents/s' : 'calls/s',
      rounds: quick ? 1 : 3,
      adapter: { backend: backend.name, run: () => run(adapter, each, window) },
      raw: { backend: backend.rawName, run: () => run(raw, each, window) },
    });
    rows.push(...measured);
  }
  return rows;
}

export const storeBench: Bench = {
  name: 'store',
  measures: 'sources',
  notes: [
    'Documents of 0.4 kB with one index; 1,000 are read and replaced, the inserted ones come on top. A write that resolved is durable.',
    'sqlite: WAL; normal survives the death of the process, full the loss of power. Raw commits once for all writes of a tick, as the adapter does.',
    'mongodb: write concern majority with journal on both sides; raw is a command per call and documents in BSON.',
    'FerretDB is a MongoDB-compatible server on SQLite, and not MongoDB: where it says so, only the ratio tells something.',
    'Latency is per call (of a bulk: the whole call), at that many calls in flight (closed loop). A ratio is of two runs right',
    '  after each other; value is the median of the rounds. The warm-up before each window is not counted. cpu is of this process.',
  ],
  backends: ['sqlite', 'mongodb'],
  async run(options) {
    const { quick, say } = options;
    const rows: Row[] = [];
    const sources = [sqlite('normal'), sqlite('full'), mongodb];
    for (const source of sources.filter(({ name }) => isChosen(name, options))) {
      const backend = await source.open();
      if ('missing' in backend) {
        say(`Not measured: ${source.name}. ${backend.missing}`);
        continue;
      }
      try {
        rows.push(...(await measure(backend, { quick })));
      } finally {
        await backend.close();
      }
    }
    return rows;
  },
};
