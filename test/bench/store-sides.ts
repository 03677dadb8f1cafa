/** The available stores, each with its raw driver. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropDatabase } from '@anneal/store/mongodb/drop.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Document, Draft } from '@anneal/store/port.ts';
import { openRawMongodb, type RawDocument, type RawStore } from '@anneal/store/raw/mongodb.ts';
import { databaseUrl, findMongodb } from '../backends/mongodb.ts';
import { openRawSqlite } from './store-raw.ts';

interface Stored extends RawDocument, Document {}

export interface StoreBackend {
  readonly name: string;
  readonly rawName: string;
  readonly adapter: RawStore;
  readonly raw: RawStore;
  close(): Promise<void>;
}

export interface StoreSource {
  readonly name: string;
  open(): Promise<StoreBackend | { readonly missing: string }>;
}

async function adapterOf(url: string): Promise<RawStore> {
  const store = await openStore({ url });
  const collection = await store.collection<Stored>({ name: 'bench_documents', indexes: [{ fields: ['owner'] }] });
  return {
    server: url,
    insert: (document) => collection.insert(document),
    get: (id) => collection.get(id),
    findByOwner: (owner) => collection.find({ where: { owner }, orderBy: ['id'] }),
    replace: async (document, version) => (await collection.replace(document, version)) !== undefined,
    insertMany: (documents) =>
      collection.bulk(documents.map((document: Draft<Stored>) => ({ kind: 'insert' as const, document }))),
    close: () => store.close(),
  };
}

export const sqlite = (synchronous: 'normal' | 'full'): StoreSource => ({
  name: `sqlite, ${synchronous}`,
  async open() {
    const folder = await mkdtemp(join(tmpdir(), 'anneal-bench-'));
    const adapter = await adapterOf(`sqlite:${folder}/store.db?synchronous=${synchronous}`);
    const raw = openRawSqlite({ file: join(folder, 'raw.db'), synchronous });
    return {
      name: this.name,
      rawName: 'raw node:sqlite',
      adapter,
      raw,
      async close() {
        await adapter.close();
        await raw.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
});

export const mongodb: StoreSource = {
  name: 'mongodb',
  async open() {
    const server = await findMongodb();
    if ('missing' in server) return server;
    const url = databaseUrl(server.url, `anneal_bench_${randomBytes(6).toString('hex')}`);
    const adapter = await adapterOf(url);
    const raw = await openRawMongodb({ url, name: 'raw_documents' });
    return {
      name: `mongodb (${raw.server})`,
      rawName: 'raw mongodb driver',
      adapter,
      raw,
      async close() {
        await adapter.close();
        await raw.close();
        await dropDatabase(url);
        await server.stop();
      },
    };
  },
};
