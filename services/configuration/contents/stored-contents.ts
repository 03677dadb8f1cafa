/**
 * Long texts, maps and lists of configs and inputs: one blob for each content, however many deployments and requests
 * have it.
 *
 * K1 A content is put before the document that names it is written, and put again when ten minutes have passed since
 *    this process put it. A content that was put within the last hour is never removed. So no content disappears
 *    between its writing and the document that names it.
 * K2 A content is removed when no deployment, config or message names it. All that name one are in an index.
 * K3 The blobs of this service differ from those of others by their first line, so no other service removes them.
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { createHash } from 'node:crypto';
import type { ConfigReference } from '@anneal/contracts/calls/host-messages.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import type { Blobs, Collection, Document, Store } from '@anneal/store/port.ts';

/** Longer texts, maps and lists are stored apart. In characters of JSON. */
export const storedApartCharacters = 4 * 1024;
/** A host that asks for references gets one in place of a longer config. In characters. */
export const inlineCharacters = 64 * 1024;
/** The same for the value of an input, in characters of JSON. All members of a context get the same values. */
export const inlineInputCharacters = 16 * 1024;
const firstLine = 'anneal config\n';
const putAgainMs = 600_000;
const keptMs = 3_600_000;
/** The contents in memory, in characters of JSON together. */
const mostInMemory = 64 * 1024 * 1024;
const referencesInMemory = 100;
const sweptAtOnce = 500;
const page = 200;

interface ContentDocument extends Document {
  /** When it was last put, in milliseconds. */
  readonly at: number;
}

/** The place of a value that a document has in a blob. */
export interface StoredValue {
  readonly path: readonly string[];
  readonly blob: string;
}

/** A document that may have its long values in blobs. */
export interface WithContents extends Document {
  readonly contents?: readonly StoredValue[];
  /** True when it has contents; the index by which a sweep finds it. */
  readonly has_contents?: boolean;
}

/** The contents of one store. All calls may overlap. */
export class StoredContents {
  readonly #blobs: Blobs;
  readonly #known: Collection<ContentDocument>;
  readonly #values = new Map<string, { readonly value: Json; readonly text: string }>();
  readonly #put = new Map<string, { readonly blob: string; readonly at: number }>();
  readonly #references = new Recent<ConfigReference>(referencesInMemory);
  #characters = 0;

  private constructor(blobs: Blobs, known: Collection<ContentDocument>) {
    this.#blobs = blobs;
    this.#known = known;
  }

  static async open(store: Store): Promise<StoredContents> {
    const known = await store.collection<ContentDocument>({
      name: 'configuration_contents',
      indexes: [{ fields: ['at'] }],
    });
    return new StoredContents(store.blobs, known);
  }

  /** K1. Durable on return. */
  async put(value: Json): Promise<string> {
    const now = Date.now();
    const text = JSON.stringify(value);
    const before = this.#put.get(text);
    if (before && now - before.at < putAgainMs) return before.blob;
    const blob = await this.#blobs.put(`${firstLine}${text}`);
    await this.#known.bulk([{ kind: 'put', document: { id: blob, at: now } }]);
    this.#remember(blob, { value, text });
    this.#put.set(text, { blob, at: now });
    return blob;
  }

  /** The reference by which a host fetches a text. */
  referenceTo(text: string): ConfigReference {
    const known = this.#references.get(text);
    if (known) return known;
    const bytes = Buffer.from(text);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const reference = { sha256, size: bytes.byteLength, url: '/agent/v1/config' };
    this.#references.set(text, reference);
    return reference;
  }

  /**
   * All documents that name a content share its value, so nothing may change it.
   * @throws AnnealError Unavailable when the store does not have it
   */
  async get(blob: string): Promise<Json> {
    const known = this.#values.get(blob);
    if (known !== undefined) return known.value;
    const stored = await this.#blobs.getText(blob);
    if (stored === undefined) {
      throw new AnnealError('Unavailable', `The store does not have content ${blob} of a config; restore its blobs.`);
    }
    const text = stored.slice(firstLine.length);
    const value = parseExact(text);
    this.#remember(blob, { value, text });
    return value;
  }

  /** Removes the contents that no document of these collections names (K2). Returns their number. */
  async sweep(collections: readonly Collection<WithContents>[], now: number): Promise<number> {
    const before = now - keptMs;
    const due = await this.#known.find({ where: { at: { lt: before } }, orderBy: ['at'], limit: sweptAtOnce });
    if (due.length === 0) return 0;
    const used = new Set<string>();
    for (const collection of collections) for await (const blob of blobsIn(collection)) used.add(blob);
    const unused = due.filter(({ id }) => !used.has(id));
    const removed = await this.#blobs.remove(
      unused.map(({ id }) => id),
      before,
    );
    for (const { id } of unused) this.#forget(id);
    await this.#known.bulk([
      ...unused.map(({ id, version }) => ({ kind: 'remove' as const, id, version })),
      // The used ones are looked at again later, so that they do not hide the others.
      ...due.flatMap(({ id, version }) =>
        used.has(id) ? [{ kind: 'replace' as const, document: { id, at: now }, version }] : [],
      ),
    ]);
    return removed;
  }

  #remember(blob: string, content: { readonly value: Json; readonly text: string }): void {
    this.#forget(blob);
    this.#values.set(blob, content);
    this.#characters += content.text.length;
    for (const oldest of this.#values.keys()) {
      if (this.#characters <= mostInMemory || oldest === blob) return;
      this.#forget(oldest);
    }
  }

  #forget(blob: string): void {
    const content = this.#values.get(blob);
    if (content === undefined) return;
    this.#values.delete(blob);
    this.#put.delete(content.text);
    this.#characters -= content.text.length;
  }
}

/** The blobs that the documents of a collection name. Reads the documents without their contents. */
async function* blobsIn(collection: Collection<WithContents>): AsyncGenerator<string> {
  for (let after = ''; ;) {
    const found = await collection.find({
      where: { has_contents: true, id: { gt: after } },
      orderBy: ['id'],
      limit: page,
    });
    for (const { contents = [] } of found) for (const { blob } of contents) yield blob;
    const last = found.at(-1);
    if (!last || found.length < page) return;
    after = last.id;
  }
}
