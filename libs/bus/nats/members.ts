/**
 * The processes on this broker: who lives, what each consumes, and who is the one active consumer of a queue.
 *
 * M1 A process is dead when it has not been heard for six seconds, or when nobody answers to its name any more.
 * M2 An owner is changed by compare-and-set on its record, by one that sees no living owner in the record itself.
 * M3 Who has not heard its own heartbeat for five seconds owns nothing: it stops before another begins.
 * M4 What an owner yields it has finished, or given back at the deadline.
 */
import { NoRespondersError, RequestError, type Subscription } from '@nats-io/transport-node';
import type { Link } from './link.ts';
import type { Publisher } from './publisher.ts';
import { wishOf } from './shares.ts';

const beatMs = 1_000;
const suspectMs = 2_500;
const deadMs = 6_000;
const fenceMs = 5_000;
const probeMs = 1_000;

export interface Candidate {
  activate(): void;
  /** Resolves when nothing is in hand any more. */
  yield(): Promise<void>;
  lose(): void;
}

interface State {
  /** Consumers by queue. */
  readonly queues: Readonly<Record<string, number>>;
  /** Queues in which it wants to be the one. */
  readonly single: readonly string[];
}

interface Member {
  state: State;
  heardAt: number;
}

export class Members {
  readonly #link: Link;
  readonly #publisher: Publisher;
  readonly #others = new Map<string, Member>();
  readonly #owners = new Map<string, string>();
  readonly #candidates = new Map<string, Candidate>();
  readonly #owned = new Set<string>();
  readonly #queues = new Map<string, number>();
  readonly #yielding = new Map<string, Promise<void>>();
  readonly #subscriptions: Subscription[] = [];
  #timer: NodeJS.Timeout | undefined;
  #beatAt = performance.now();
  #cut = false;
  #mustSay = false;
  #saying: Promise<void> | undefined;
  #electing = false;
  #electAgain = false;
  #closed = false;

  constructor(link: Link, publisher: Publisher) {
    this.#link = link;
    this.#publisher = publisher;
  }

  async open(): Promise<void> {
    const { nc, names, id } = this.#link;
    const listen = (subject: string, hear: (id: string, data: string) => void): void => {
      const callback = (error: Error | null, message: { subject: string; string(): string }): void => {
        if (!error) hear(message.subject.slice(message.subject.lastIndexOf('.') + 1), message.string());
      };
      this.#subscriptions.push(nc.subscribe(subject, { callback }));
    };
    this.#subscriptions.push(
      nc.subscribe(names.alive(id), {
        callback: (error, message) => {
          if (!error) message.respond();
        },
      }),
    );
    listen(names.beat('*'), (who) => this.#heardBeat(who));
    listen(names.member('*'), (who, data) => this.#heardState(who, data));
    listen(names.owner('*'), (queue, data) => this.#heardOwner(queue, data));
    this.#link.onChange((connected) => {
      if (connected && !this.#closed) this.#sayAgain().catch((error: unknown) => this.#unsaid(error));
    });
    await this.#load();
    this.#beat();
    this.#timer = setInterval(() => this.#tick(), beatMs);
  }

  /** Consumers of a queue, of all who live. */
  consumersOf(queue: string): number {
    let count = this.#queues.get(queue) ?? 0;
    for (const { state } of this.#others.values()) count += state.queues[queue] ?? 0;
    return count;
  }

  /** Tells everybody; but whoever comes to empty a full disk need not be able to write that. */
  async joined(queue: string): Promise<void> {
    this.#queues.set(queue, (this.#queues.get(queue) ?? 0) + 1);
    await this.#say().catch((error: unknown) => this.#unsaid(error));
  }

  async left(queue: string): Promise<void> {
    const count = (this.#queues.get(queue) ?? 1) - 1;
    if (count > 0) this.#queues.set(queue, count);
    else this.#queues.delete(queue);
    await this.#say().catch(() => undefined);
  }

  /** Asks those who are listed as consumers whether they live; true when nobody else does. */
  async isAlone(queue: string): Promise<boolean> {
    const listed = [...this.#others].filter(([, { state }]) => (state.queues[queue] ?? 0) > 0);
    await Promise.all(listed.map(([id]) => this.#probe(id)));
    return listed.every(([id]) => !this.#others.has(id)) && this.#queues.get(queue) === 1;
  }

  async stand(queue: string, candidate: Candidate): Promise<void> {
    this.#candidates.set(queue, candidate);
    await this.#say().catch((error: unknown) => this.#unsaid(error));
    this.#elect();
  }

  /** Gives the queue to whoever else wants it. */
  async withdraw(queue: string): Promise<void> {
    this.#candidates.delete(queue);
    await this.#yielding.get(queue);
    const owned = this.#owned.delete(queue);
    await this.#say().catch(() => undefined);
    if (owned) await this.#release(queue);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    if (!this.#link.connected) return;
    const { names, jsm, id } = this.#link;
    try {
      // The word for those who listen; then nothing of us remains.
      await this.#publisher.publish({ subject: names.member(id), bytes: '' });
      await jsm.streams.purge(names.stream.members, { filter: names.member(id) });
    } catch {
      // The others find out by asking.
    }
  }

  async #load(): Promise<void> {
    const { names, id } = this.#link;
    const subjects = await this.#link.subjects(names.stream.members, '>');
    for (const subject of subjects.keys()) {
      const message = await this.#link.last(names.stream.members, subject);
      if (!message) continue;
      const last = subject.slice(subject.lastIndexOf('.') + 1);
      if (subject === names.owner('*').replace('*', last)) this.#heardOwner(last, message.string());
      else if (last !== id) this.#heardState(last, message.string());
    }
    await Promise.all([...this.#others.keys()].map((other) => this.#probe(other)));
  }

  #heardBeat(id: string): void {
    const now = performance.now();
    if (id === this.#link.id) {
      this.#beatAt = now;
      return;
    }
    const member = this.#others.get(id);
    if (member) member.heardAt = now;
    else if (!this.#closed) void this.#meet(id);
  }

  /** One that we thought dead, or whose word we missed. */
  async #meet(id: string): Promise<void> {
    const { names } = this.#link;
    const said = await this.#link.last(names.stream.members, names.member(id)).catch(() => undefined);
    if (said) this.#heardState(id, said.string());
  }

  #heardState(id: string, data: string): void {
    if (id === this.#link.id) return;
    if (data === '') this.#others.delete(id);
    else this.#others.set(id, { state: JSON.parse(data) as State, heardAt: performance.now() });
    this.#elect();
  }

  #heardOwner(token: string, id: string): void {
    if (id !== this.#link.id) {
      // M2 was decided without us: while we were cut off, or the server had forgotten our record.
      for (const queue of this.#owned) if (lastWord(this.#link.names.owner(queue)) === token) this.#lose(queue);
    }
    if (id === '') this.#owners.delete(token);
    else this.#owners.set(token, id);
    this.#elect();
  }

  #beat(): void {
    if (this.#link.connected && !this.#link.closed) this.#link.nc.publish(this.#link.names.beat(this.#link.id));
  }

  #tick(): void {
    this.#beat();
    const now = performance.now();
    const cut = now - this.#beatAt > fenceMs;
    if (cut && !this.#cut) {
      this.#cut = true;
      for (const queue of this.#owned) this.#lose(queue);
    } else if (!cut && this.#cut) {
      this.#cut = false;
      // Others may have declared us dead, and the owners may have changed unheard.
      for (const member of this.#others.values()) member.heardAt = now;
      this.#mustSay = true;
    }
    if (this.#cut) return;
    if (this.#mustSay) {
      this.#mustSay = false;
      this.#sayAgain().catch((error: unknown) => this.#unsaid(error));
    }
    for (const [id, member] of this.#others) {
      if (now - member.heardAt > deadMs) this.#bury(id);
      else if (now - member.heardAt > suspectMs) void this.#probe(id);
    }
    this.#elect();
  }

  async #probe(id: string): Promise<void> {
    const { nc, names } = this.#link;
    try {
      await nc.request(names.alive(id), '', { timeout: probeMs });
      const member = this.#others.get(id);
      if (member) member.heardAt = performance.now();
    } catch (error) {
      const nobody = error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders());
      if (nobody) this.#bury(id);
    }
  }

  #bury(id: string): void {
    if (!this.#others.delete(id)) return;
    const { jsm, names } = this.#link;
    jsm.streams.purge(names.stream.members, { filter: names.member(id) }).catch(() => undefined);
    this.#link.log.info({ member: id }, 'A process on the bus is gone; what it had goes to the others.');
    this.#elect();
  }

  /** Writes what we consume; one write for all that changes in a tick. */
  #say(): Promise<void> {
    this.#saying ??= new Promise<void>((resolve, reject) => {
      setImmediate(() => {
        this.#saying = undefined;
        const state: State = { queues: Object.fromEntries(this.#queues), single: [...this.#candidates.keys()] };
        const { names, id } = this.#link;
        if (this.#closed) resolve();
        else
          this.#publisher
            .publish({ subject: names.member(id), bytes: JSON.stringify(state) })
            .then(() => resolve(), reject);
      });
    });
    return this.#saying;
  }

  #elect(): void {
    if (this.#electing) {
      this.#electAgain = true;
      return;
    }
    this.#electing = true;
    void this.#election()
      .catch((error: unknown) => this.#unsaid(error))
      .finally(() => {
        this.#electing = false;
        if (!this.#electAgain) return;
        this.#electAgain = false;
        this.#elect();
      });
  }

  async #election(): Promise<void> {
    if (this.#closed || this.#cut || this.#candidates.size === 0) return;
    const { id, names } = this.#link;
    const members = new Map<string, ReadonlySet<string>>([[id, new Set(this.#candidates.keys())]]);
    for (const [other, { state }] of this.#others) members.set(other, new Set(state.single));
    const owners = new Map<string, string>();
    for (const queue of this.#candidates.keys()) {
      const owner = this.#owned.has(queue) ? id : this.#owners.get(lastWord(names.owner(queue)));
      if (owner !== undefined && (owner !== id || this.#owned.has(queue))) owners.set(queue, owner);
    }
    const wish = wishOf({ me: id, members, owners });
    await Promise.all(wish.claim.map((queue) => this.#claim(queue)));
    for (const queue of wish.yield) void this.#give(queue);
  }

  /** Said again until it is written; until then the others see what was. */
  #unsaid(error: unknown): void {
    this.#mustSay = true;
    this.#link.log.debug({ err: error }, 'What this process consumes could not be told to the others.');
  }

  #lose(queue: string): void {
    this.#owned.delete(queue);
    this.#candidates.get(queue)?.lose();
  }

  /** After a loss of the connection: others may have buried us, and the server may have lost its last writes. */
  async #sayAgain(): Promise<void> {
    await this.#say();
    const { names, id } = this.#link;
    for (const queue of this.#owned) {
      const subject = names.owner(queue);
      const said = await this.#link.last(names.stream.members, subject);
      if (said?.string() === id) continue;
      const taken =
        said !== undefined ||
        (await this.#publisher.publish({ subject, bytes: id, expectedLast: 0 }).then(
          () => false,
          () => true,
        ));
      if (taken) this.#lose(queue);
    }
  }

  async #claim(queue: string): Promise<void> {
    if (this.#yielding.has(queue)) return;
    const { names, id } = this.#link;
    const subject = names.owner(queue);
    const said = await this.#link.last(names.stream.members, subject);
    const owner = said?.string() ?? '';
    // Its own word counts, not what we heard of it.
    if (owner !== '' && owner !== id && this.#others.get(owner)?.state.single.includes(queue)) {
      this.#owners.set(lastWord(subject), owner);
      return;
    }
    try {
      await this.#publisher.publish({ subject, bytes: id, expectedLast: said?.seq ?? 0 });
    } catch {
      // Another was first; its word is on the way.
      return;
    }
    this.#owners.set(lastWord(subject), id);
    const candidate = this.#candidates.get(queue);
    if (!candidate || this.#cut || this.#closed) {
      await this.#release(queue);
      return;
    }
    this.#owned.add(queue);
    candidate.activate();
  }

  #give(queue: string): Promise<void> {
    const under = this.#yielding.get(queue);
    if (under) return under;
    const candidate = this.#candidates.get(queue);
    const yielding = (async (): Promise<void> => {
      await candidate?.yield();
      if (this.#owned.delete(queue)) await this.#release(queue);
    })().finally(() => {
      this.#yielding.delete(queue);
      this.#elect();
    });
    this.#yielding.set(queue, yielding);
    return yielding;
  }

  async #release(queue: string): Promise<void> {
    const { names, id } = this.#link;
    const subject = names.owner(queue);
    try {
      const said = await this.#link.last(names.stream.members, subject);
      if (said?.string() !== id) return;
      await this.#publisher.publish({ subject, bytes: '', expectedLast: said.seq });
    } catch (error) {
      // Without it the others see that we do not want it any more.
      this.#link.log.debug({ err: error, queue }, 'A queue was given up without a word.');
    }
  }
}

const lastWord = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);
