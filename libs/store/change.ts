/**
 * Compare-and-set on one document. Every writer of a document that others write too uses these verbs.
 *
 * C1 A change is written over the version that `decide` received. A writer that loses reads and decides again, so no
 *    change is lost.
 * C2 `decide` runs once for each attempt. So it has no effect outside its document.
 * C3 One of the writers succeeds at every attempt, so the attempts end.
 */
import { DuplicateError, type Collection, type Document, type Draft } from './port.ts';

/**
 * The document to change: its id; the document as last read, which saves the first read; or a function that reads it.
 * The function runs once for each attempt.
 */
export type Source<T extends Document> = string | T | (() => Promise<T | undefined>);

/** The outcome of a change. */
export interface Changed<T extends Document> {
  /** The document as stored then. Undefined when it does not exist. */
  readonly document: T | undefined;
  /** False when the document does not exist, or `decide` left it as it is. */
  readonly changed: boolean;
}

type Decide<Before, T extends Document> = (current: Before) => Draft<T> | undefined | Promise<Draft<T> | undefined>;

/**
 * Changes a document that exists. `decide` returns undefined, or the same object, to leave it as it is.
 * @throws DuplicateError when a unique index refuses the change; whatever `decide` throws
 */
export async function change<T extends Document>(
  collection: Collection<T>,
  source: Source<T>,
  decide: Decide<NoInfer<T>, NoInfer<T>>,
): Promise<Changed<T>> {
  const read = readerOf(collection, source);
  for (;;) {
    const current = await read();
    const draft = current && (await decide(current));
    if (!draft || draft === current) return { document: current, changed: false };
    const document = await collection.replace(draft, current.version);
    if (document) return { document, changed: true };
  }
}

/**
 * Changes a document, or inserts it: then `decide` receives undefined. The draft has the id that was read.
 * @throws whatever `decide` throws
 */
export async function changeOrInsert<T extends Document>(
  collection: Collection<T>,
  id: string,
  decide: Decide<NoInfer<T> | undefined, NoInfer<T>>,
): Promise<Changed<T>> {
  for (;;) {
    const current = await collection.get(id);
    const draft = await decide(current);
    if (!draft || draft === current) return { document: current, changed: false };
    const document = await writeOver(collection, draft, current);
    if (document) return { document, changed: true };
  }
}

/**
 * Writes once over what was read: replaces `before`, or inserts when nothing was read. Undefined when another writer
 * was first.
 */
export async function writeOver<T extends Document>(
  collection: Pick<Collection<T>, 'insert' | 'replace'>,
  draft: Draft<T>,
  before: T | undefined,
): Promise<T | undefined> {
  return before ? collection.replace(draft, before.version) : insertOnce(collection, draft);
}

/** Inserts a document. Undefined when its id or a value of a unique index exists, so a repeat has no second effect. */
export async function insertOnce<T extends Document>(
  collection: Pick<Collection<T>, 'insert'>,
  draft: Draft<T>,
): Promise<T | undefined> {
  try {
    return await collection.insert(draft);
  } catch (error) {
    if (error instanceof DuplicateError) return undefined;
    throw error;
  }
}

function readerOf<T extends Document>(collection: Collection<T>, source: Source<T>): () => Promise<T | undefined> {
  if (typeof source === 'function') return source;
  if (typeof source === 'string') return () => collection.get(source);
  let inHand: T | undefined = source;
  return async () => {
    const found = inHand ?? (await collection.get(source.id));
    inHand = undefined;
    return found;
  };
}
