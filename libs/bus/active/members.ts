/**
 * The processes that share a broker and a store: who lives, what each consumes, and which queues each wants to be the one
 * active consumer of. Each keeps one document; nobody compares clocks of machines.
 *
 * M1 A process lives while its document is there. It writes it anew every second, in the version that it knows.
 * M2 A document is removed in the version that was seen unchanged for six seconds by the clock of the one who looks, or
 *    to whose name nobody answers at the broker: whoever wrote meanwhile is not removed.
 * M3 Who has not written for four seconds, or finds its document gone, says `lost` before it goes on: it owns nothing.
 * M4 Silence only counts while we look ourselves: after a pause of ours or of the store, everybody begins anew.
 */
import { DuplicateError, type Collection, type Store } from '@anneal/store/port.ts';
import type { BusLog } from '../broker.ts';

const tickMs = 500;
const beatMs = 1_000;
const lostMs = 4_000;
const suspectMs = 2_000;
const deadMs = 6_000;
const pauseMs = 3_000;
/** What is told to a store that is away is told later; nobody who stops or starts waits for it longer. */
const patienceMs = 1_000;

interface MemberDocument {
  readonly id: string;
  readonly version: number;
  readonly consumers: readonly { readonly queue: string; readonly count: number }[];
  readonly wants: readonly string[];
}

interface Other {
  readonly document: MemberDocument;
  /** When this version of it was first seen. */
  readonly since: number;
  readonly wants: ReadonlySet<string>;
}

export interface MembersOptions {
  readonly store: Store;
  /** The name of this process among the others. */
  readonly id: string;
  /** True when the broker knows for sure that no process of this name is connected. */
  readonly isGone: (id: string) => Promise<boolean>;
  readonly log: BusLog;
}

export class Members {
  readonly id: string;
  readonly store: Store;
  readonly #documents: Collection<MemberDocument>;
  readonly #isGone: MembersOptions['isGone'];
  readonly #log: BusLog;
  readonly #others = new Map<string, Other>();
  readonly #consumers = new Map<string, number>();
  readonly #wants = new Set<string>();
  readonly #probing = new Map<string, Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #onLost: () => void = () => undefined;
  #onChange: () => void = () => undefined;
  #version: number | undefined;
  #writtenAt = -Infinity;
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #looking: Promise<void> = Promise.resolve();
  #looks = 0;
  #lookedAt = performance.now();
  #lost = true;
  #closed = false;

  private constructor(documents: Collection<MemberDocument>, { id, store, isGone, log }: MembersOptions) {
    this.id = id;
    this.store = store;
    this.#documents = documents;
    this.#isGone = isGone;
    this.#log = log;
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#timer.unref();
  }

  static async open(options: MembersOptions): Promise<Members> {
    const documents = await options.store.collection<MemberDocument>({ name: 'bus_members', indexes: [] });
    const members = new Members(documents, options);
    try {
      await members.look();
      // Those who were killed before this process was started again.
      await Promise.all([...members.#others.keys()].map((id) => members.#probe(id)));
    } catch (error) {
      clearInterval(members.#timer);
      throw error;
    }
    return members;
  }

  /** What is told to the one who owns queues by this membership. */
  listen(listeners: { readonly onLost: () => void; readonly onChange: () => void }): void {
    this.#onLost = listeners.onLost;
    this.#onChange = listeners.onChange;
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** All who live, this process too, with the queues that each wants. */
  get wants(): ReadonlyMap<string, ReadonlySet<string>> {
    const wants = new Map<string, ReadonlySet<string>>([[this.id, this.#wants]]);
    for (const [id, other] of this.#others) wants.set(id, other.wants);
    return wants;
  }

  /** Those who take from a queue now, in all processes. */
  consumersOf(queue: string): number {
    let sum = this.#consumers.get(queue) ?? 0;
    for (const { document } of this.#others.values()) {
      for (const consumer of document.consumers) if (consumer.queue === queue) sum += consumer.count;
    }
    return sum;
  }

  joined(queue: string): Promise<void> {
    this.#consumers.set(queue, (this.#consumers.get(queue) ?? 0) + 1);
    return this.#told();
  }

  left(queue: string): Promise<void> {
    const count = (this.#consumers.get(queue) ?? 1) - 1;
    if (count > 0) this.#consumers.set(queue, count);
    else this.#consumers.delete(queue);
    return this.#told();
  }

  want(queue: string): Promise<void> {
    this.#wants.add(queue);
    return this.#told();
  }

  unwant(queue: string): Promise<void> {
    this.#wants.delete(queue);
    return this.#told();
  }

  /** True when nobody else takes from the queue: those who are said to are asked whether they live. */
  async isAlone(queue: string): Promise<boolean> {
    if (this.#consumers.get(queue) !== 1) return false;
    const takes = (): string[] =>
      [...this.#others].flatMap(([id, { document }]) =>
        document.consumers.some((consumer) => consumer.queue === queue) ? [id] : [],
      );
    try {
      await this.look();
    } catch {
      return false;
    }
    await Promise.all(takes().map((id) => this.#probe(id)));
    return takes().length === 0;
  }

  /** Reads all documents anew. @throws what the store throws. */
  look(): Promise<void> {
    this.#looks += 1;
    const turn = this.#looking.then(() => this.#look()).finally(() => (this.#looks -= 1));
    this.#looking = turn.catch(() => undefined);
    return turn;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    const gone = (async (): Promise<void> => {
      await this.#writing;
      await this.#documents.remove(this.id);
    })();
    // Without it the others find out by the silence.
    await atMost(patienceMs, gone);
  }

  #tick(): void {
    const now = performance.now();
    if (!this.#lost && now - this.#writtenAt > lostMs) this.#lose('It has not been written to the store in time.');
    if (now - this.#writtenAt >= beatMs) void this.#say();
    if (now - this.#lookedAt >= beatMs && this.#looks === 0) this.look().catch((error: unknown) => this.#failed(error));
  }

  async #look(): Promise<void> {
    if (this.#closed) return;
    const from = performance.now();
    const documents = await this.#documents.find({ where: { id: { gt: '' } }, orderBy: ['id'] });
    const now = performance.now();
    const paused = now - this.#lookedAt > pauseMs;
    this.#lookedAt = now;
    const gone = new Set(this.#others.keys());
    let changed = false;
    for (const document of documents) {
      const { id, version } = document;
      if (id === this.id) continue;
      gone.delete(id);
      const known = this.#others.get(id);
      if (known?.document.version === version && !paused) {
        // Silent at least until this look began.
        if (from - known.since > deadMs) void this.#bury(known.document);
        else if (from - known.since > suspectMs) void this.#probe(id);
        continue;
      }
      if (known?.document.wants.join(' ') !== document.wants.join(' ')) changed = true;
      this.#others.set(id, { document, since: now, wants: new Set(document.wants) });
    }
    for (const id of gone) this.#others.delete(id);
    if (changed || gone.size > 0) this.#onChange();
  }

  #probe(id: string): Promise<void> {
    const under = this.#probing.get(id);
    if (under) return under;
    const probe = (async (): Promise<void> => {
      const { document } = this.#others.get(id) ?? {};
      if (document && (await this.#isGone(id).catch(() => false))) await this.#bury(document);
    })().finally(() => this.#probing.delete(id));
    this.#probing.set(id, probe);
    return probe;
  }

  async #bury({ id, version }: MemberDocument): Promise<void> {
    try {
      if (!(await this.#documents.remove(id, version))) return;
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#log.info({ member: id }, 'A process on the bus is gone; what it had goes to the others.');
    this.#others.delete(id);
    this.#onChange();
  }

  #told(): Promise<void> {
    return atMost(patienceMs, this.#say());
  }

  /** One write for all that changes meanwhile; never rejects: what could not be said is said again by the next tick. */
  #say(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    if (!this.#writing) {
      this.#writing = this.#write()
        .catch((error: unknown) => this.#failed(error))
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
      id: this.id,
      consumers: [...this.#consumers].map(([queue, count]) => ({ queue, count })),
      wants: [...this.#wants],
    };
    let written = this.#version === undefined ? undefined : await this.#documents.replace(draft, this.#version);
    if (!written) {
      // Only we write it. If it is there, an earlier write was done whose answer was lost.
      const there = await this.#documents.get(this.id);
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
    this.#onChange();
  }

  #lose(reason: string): void {
    this.#lost = true;
    this.#log.warn(
      { reason },
      'This process may be taken for dead; it gives up the queues of which it is the consumer.',
    );
    this.#onLost();
  }

  #failed(error: unknown): void {
    this.#log.debug({ err: error }, 'The processes on the bus cannot be read or written; tried again.');
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
