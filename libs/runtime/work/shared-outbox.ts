/**
 * The outbox of documents that change again soon after their messages are sent. It sends at once, and empties the
 * documents later: many with one write, and those that their next change has emptied without one.
 *
 * S1 No message is sent before the state that it reports is durable, as in `outbox.ts`.
 * S2 A document keeps its messages until this process has sent them. A crash before it is emptied sends them again, with
 *    the same ids.
 * S3 A stop empties all documents, so that the next start sends nothing twice.
 */
import { change } from '@anneal/store/change.ts';
import type { Collection, Draft } from '@anneal/store/port.ts';
import { faultPoint } from '../fault.ts';
import { sendAll, type Outgoing, type Sender, type WithOutbox } from './outbox.ts';

interface Sent<T> {
  /** The newest version whose messages were sent. */
  document: T;
  readonly ids: Set<string>;
}

interface SharedOutboxOptions<T extends WithOutbox> {
  readonly service: Sender & { readonly log: { warn(facts: object, text: string): void } };
  readonly collection: Collection<T>;
  /** How long sent messages stay in their documents. */
  readonly emptyAfterMs?: number;
}

const lookMs = 5_000;
const atOnce = 200;

/** Sends the messages of documents. All calls may overlap. The collection has an index on `unsent`. */
export class SharedOutbox<T extends WithOutbox> {
  readonly #options: SharedOutboxOptions<T>;
  readonly #sent = new Map<string, Sent<T>>();
  #emptying = Promise.resolve();
  #emptyTimer: NodeJS.Timeout | undefined;
  #looking = Promise.resolve();
  #lookTimer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: SharedOutboxOptions<T>) {
    this.#options = options;
  }

  /**
   * Sends the messages of a document in their order, without those that this process has sent before.
   * @throws AnnealError Unavailable when the broker does not accept them; they stay in the document
   */
  flush(document: T): Promise<void> {
    return this.flushEach([document]);
  }

  /** Sends the messages of several documents together, those of each document in their order. @throws as `flush` does */
  async flushEach(documents: readonly T[]): Promise<void> {
    const unsent = documents.filter((document) => document.unsent);
    if (unsent.length === 0) return;
    await sendAll(
      this.#options.service.bus,
      unsent.flatMap((document) => this.rest(document)),
    );
    for (const document of unsent) {
      const sent = this.#sent.get(document.id) ?? { document, ids: new Set() };
      for (const { message } of document.outbox) sent.ids.add(message.id);
      if (document.version > sent.document.version) sent.document = document;
      this.#sent.set(document.id, sent);
    }
    this.#emptyLater();
    await faultPoint('outbox.sent');
  }

  /** The messages that are still to be sent. A writer of the document keeps only these. */
  rest({ id, outbox }: Pick<T, 'id' | 'outbox'>): Outgoing[] {
    const sent = this.#sent.get(id);
    return outbox.filter(({ message }) => !sent?.ids.has(message.id));
  }

  /** Sends what an absent broker did not accept, and what a process that died has left, until the stop. */
  keepSending(): void {
    this.#lookTimer = setTimeout(() => {
      this.#looking = this.#look();
    }, lookMs);
  }

  /** S3 */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#lookTimer);
    await this.#looking;
    clearTimeout(this.#lookTimer);
    clearTimeout(this.#emptyTimer);
    await this.#emptying;
    await this.#empty();
  }

  async #look(): Promise<void> {
    const { collection, service } = this.#options;
    try {
      const found = await collection.find({ where: { unsent: true }, limit: atOnce });
      for (const document of found) await this.flush(document);
    } catch (error) {
      service.log.warn({ err: error }, 'outbox not flushed; retrying in 5 s');
    } finally {
      this.#lookTimer?.refresh();
    }
  }

  #emptyLater(): void {
    if (this.#stopped) return;
    this.#emptyTimer ??= setTimeout(() => {
      this.#emptying = this.#empty().finally(() => {
        this.#emptyTimer = undefined;
        if (this.#sent.size > 0) this.#emptyLater();
      });
    }, this.#options.emptyAfterMs ?? 250);
  }

  async #empty(): Promise<void> {
    try {
      const all = [...this.#sent.values()];
      for (let first = 0; first < all.length; first += atOnce) await this.#emptyThese(all.slice(first, first + atOnce));
    } catch (error) {
      this.#options.service.log.warn({ err: error }, 'sent messages not removed from their documents; retrying');
    }
  }

  async #emptyThese(batch: readonly Sent<T>[]): Promise<void> {
    const { collection } = this.#options;
    const written = batch.map(({ document }) => document);
    const outcomes = await collection.bulk(
      written.map((document) => ({ kind: 'replace', document: this.#emptied(document), version: document.version })),
    );
    for (const [index, document] of written.entries()) {
      // Another writer was first, and may have added messages.
      if (outcomes[index] === 'stale') {
        await change(collection, document.id, (current) =>
          this.rest(current).length < current.outbox.length ? this.#emptied(current) : undefined,
        );
      }
      if (this.#sent.get(document.id)?.document === document) this.#sent.delete(document.id);
    }
  }

  #emptied(document: T): Draft<T> {
    const outbox = this.rest(document);
    return { ...document, outbox, unsent: outbox.length > 0 };
  }
}
