/**
 * The document by which this process lives for the others.
 *
 * P1 It is written anew every second, in the version that is known; if somebody removed it, we were taken for dead.
 * P2 Who has not written for four seconds, or was taken for dead, says `lost` before it goes on: it owns nothing.
 * P3 Nothing is written while the broker cannot be reached: who cannot take from a queue must not keep it from others.
 */
import { DuplicateError, type Collection } from '@anneal/store/port.ts';
import type { BusLog } from '../broker.ts';

const beatMs = 1_000;
const lostMs = 4_000;
/** What is told to a store that is away is told later; nobody who stops or starts waits for it longer. */
const patienceMs = 1_000;

export interface MemberDocument {
  readonly id: string;
  readonly version: number;
  /** Those who take now, by queue. */
  readonly consumers: readonly { readonly queue: string; readonly count: number }[];
  /** Queues of which it wants to be the one active consumer. */
  readonly wants: readonly string[];
}

export class Presence {
  readonly consumers = new Map<string, number>();
  readonly wants = new Set<string>();
  readonly #id: string;
  readonly #documents: Collection<MemberDocument>;
  readonly #isConnected: () => boolean;
  readonly #log: BusLog;
  #onLost: () => void = () => undefined;
  #onFound: () => void = () => undefined;
  #version: number | undefined;
  #writtenAt = -Infinity;
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #lost = true;
  #closed = false;

  constructor(parameters: {
    id: string;
    documents: Collection<MemberDocument>;
    isConnected: () => boolean;
    log: BusLog;
  }) {
    this.#id = parameters.id;
    this.#documents = parameters.documents;
    this.#isConnected = parameters.isConnected;
    this.#log = parameters.log;
  }

  listen(listeners: { onLost: () => void; onFound: () => void }): void {
    this.#onLost = listeners.onLost;
    this.#onFound = listeners.onFound;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** Every half a second or so. */
  tick(): void {
    const silentMs = performance.now() - this.#writtenAt;
    if (!this.#lost && silentMs > lostMs) this.#lose('Its document was not written in time.');
    if (silentMs >= beatMs) void this.#say();
  }

  /** Tells the others what changed. Never rejects: what could not be told is told by a later tick. */
  told(): Promise<void> {
    return atMost(patienceMs, this.#say());
  }

  /** Without a document the others know at once; else they find out by the silence. */
  async close(): Promise<void> {
    this.#closed = true;
    const gone = async (): Promise<void> => {
      await this.#writing;
      await this.#documents.remove(this.#id);
    };
    await atMost(patienceMs, gone());
  }

  /** One write for all that changes meanwhile. */
  #say(): Promise<void> {
    if (this.#closed || !this.#isConnected()) return Promise.resolve();
    if (!this.#writing) {
      this.#writing = this.#write()
        .catch((error: unknown) => {
          this.#log.debug({ err: error }, 'The others on the bus could not be told; tried again.');
        })
        .finally(() => {
          this.#writing = undefined;
        });
      return this.#writing;
    }
    this.#next ??= this.#writing.then(() => {
      this.#next = undefined;
      return this.#say();
    });
    return this.#next;
  }

  async #write(): Promise<void> {
    await new Promise((resolve) => void setImmediate(resolve));
    const from = performance.now();
    const draft = {
      id: this.#id,
      consumers: [...this.consumers].map(([queue, count]) => ({ queue, count })),
      wants: [...this.wants],
    };
    let written = this.#version === undefined ? undefined : await this.#documents.replace(draft, this.#version);
    if (!written) {
      // Only we write it. If it is there, an earlier write was done whose answer was lost.
      const there = await this.#documents.get(this.#id);
      if (there) written = await this.#documents.replace(draft, there.version);
    }
    if (!written) {
      if (!this.#lost) this.#lose('The others took it for dead.');
      this.#version = undefined;
      try {
        written = await this.#documents.insert(draft);
      } catch (error) {
        if (!(error instanceof DuplicateError)) throw error;
        return;
      }
    }
    this.#version = written.version;
    this.#writtenAt = from;
    if (!this.#lost) return;
    this.#lost = false;
    this.#onFound();
  }

  #lose(reason: string): void {
    this.#lost = true;
    this.#log.warn(
      { reason },
      'This process may be taken for dead; it gives up the queues of which it is the consumer.',
    );
    this.#onLost();
  }
}

/** Waits for what goes on by itself, but not longer than this. */
export async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => undefined), enough]);
  clearTimeout(timer);
}
