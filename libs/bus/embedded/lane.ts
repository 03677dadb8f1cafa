/**
 * One queue in memory: what waits, what is in hand, and who takes it. It decides, and does no I/O; the rows behind it are
 * read by `feed.ts`.
 *
 * L1 First deliveries come in the order of `seq`; what is offered again comes before them, in the order of `seq` too.
 * L2 In an ordered lane one subject has one message out, retries included; the next waits behind it.
 * L3 What is in hand is never offered a second time, however often the lane is filled again from its rows.
 */
import type { Intake, Offer } from '../broker.ts';
import { Fifo } from './fifo.ts';

export interface Item {
  readonly seq: number;
  readonly subject: string | undefined;
  /** Undefined where they are to be read again when it is offered. */
  bytes: string | Uint8Array | undefined;
  /** Attempts that have ended. */
  attempts: number;
  readonly sentAt: number;
  /** A row stands behind it. Questions, and events for listeners without a group, are in memory only. */
  readonly kept: boolean;
  readonly expiresAt: number;
  /** It has never been offered. */
  fresh: boolean;
  /** Its subject waits for it (L2). */
  leads?: boolean;
}

export interface Member {
  readonly intake: Intake;
  inHand: number;
  draining: boolean;
}

export interface Taken {
  readonly lane: Lane;
  readonly item: Item;
  readonly member: Member;
  offer?: Offer;
}

const memoryLimit = 10_000;

export class Lane {
  readonly name: string;
  /** Of its row; undefined for listeners without a group, who have none. */
  readonly id: number | undefined;
  readonly ordered: boolean;
  readonly inHand = new Map<number, Taken>();
  readonly delayed = new Map<number, Item>();
  members: Member[] = [];
  /** Everything that waits in rows is in memory too. */
  complete: boolean;
  /** Rows up to here were read. */
  readTo = 0;
  /** Those that wait for another attempt were read. */
  delayedRead: boolean;
  readonly #ready = new Fifo<Item>();
  readonly #questions = new Fifo<Item>();
  #again: Item[] = [];
  readonly #subjects = new Map<string, Item[]>();
  #heldBack = 0;
  #turn = 0;

  constructor(parameters: { name: string; id: number | undefined; ordered: boolean }) {
    this.name = parameters.name;
    this.id = parameters.id;
    this.ordered = parameters.ordered;
    this.complete = this.id === undefined;
    this.delayedRead = this.complete;
  }

  /** Of what is read from the rows, as much as stays in memory while nobody has room for it. */
  get isFull(): boolean {
    return this.#ready.size + this.#heldBack > memoryLimit;
  }

  /** Of those that no row stands behind, as many as somebody still waits for. */
  waitingInMemory(now: number): number {
    if (this.id === undefined) return this.#ready.size + this.#again.length + this.#heldBack;
    this.#questions.filter(({ expiresAt }) => expiresAt > now);
    return this.#questions.size;
  }

  /** Rows have to be read before the next one can be given. A subject that is stuck must not fill the memory. */
  get hungry(): boolean {
    return !this.complete && this.#ready.size === 0 && this.#heldBack < memoryLimit && this.hasRoom;
  }

  get hasRoom(): boolean {
    return this.#freeMember() !== undefined;
  }

  push(item: Item): void {
    if (item.kept || this.id === undefined) this.#ready.push(item);
    else {
      // Where nobody answers, questions must not pile up.
      for (let old = this.#questions.peek(); old && old.expiresAt <= item.sentAt; old = this.#questions.peek()) {
        this.#questions.take();
      }
      this.#questions.push(item);
    }
  }

  /** Offered again as soon as somebody has room. */
  pushAgain(item: Item): void {
    const before = this.#again.findLastIndex(({ seq }) => seq < item.seq);
    this.#again.splice(before + 1, 0, item);
  }

  /** The delayed one keeps its subject: those behind it wait as long as it does. */
  delay(item: Item): void {
    if (this.ordered && item.subject !== undefined) {
      item.leads = true;
      if (!this.#subjects.has(item.subject)) this.#subjects.set(item.subject, []);
    }
    this.delayed.set(item.seq, item);
  }

  /** The next one, and who gets it; it is in hand from now on. */
  take(now: number): Taken | undefined {
    const member = this.#freeMember();
    if (!member) return undefined;
    for (;;) {
      const item = this.#next();
      if (!item) return undefined;
      if (item.expiresAt <= now || this.inHand.has(item.seq)) continue;
      if (this.#mustWait(item)) continue;
      const taken: Taken = { lane: this, item, member };
      this.inHand.set(item.seq, taken);
      member.inHand += 1;
      this.#turn += 1;
      return taken;
    }
  }

  /** It has left the hand; gives its subject to the next unless it comes again. */
  release({ item, member }: Taken, comesAgain: boolean): void {
    this.inHand.delete(item.seq);
    member.inHand -= 1;
    if (!this.ordered || item.subject === undefined || comesAgain) return;
    const next = this.#subjects.get(item.subject)?.shift();
    if (!next) {
      this.#subjects.delete(item.subject);
      return;
    }
    this.#heldBack -= 1;
    next.leads = true;
    this.pushAgain(next);
  }

  /** Forgets what can be read from the rows again. */
  reset(): void {
    if (this.id === undefined) return;
    this.#ready.filter(() => false);
    this.#again = this.#again.filter(({ kept }) => !kept);
    this.delayed.clear();
    this.#subjects.clear();
    this.#heldBack = 0;
    for (const { item } of this.inHand.values()) {
      if (this.ordered && item.subject !== undefined) this.#subjects.set(item.subject, []);
    }
    this.complete = false;
    this.delayedRead = false;
    this.readTo = 0;
  }

  /** Drops all that waits in memory; what is in hand stays there. */
  clear(): void {
    this.reset();
    this.#ready.filter(() => false);
    this.#questions.filter(() => false);
    this.#again = [];
    this.delayed.clear();
  }

  #next(): Item | undefined {
    const again = this.#again[0];
    if (again) return this.#again.shift();
    const question = this.#questions.peek();
    const row = this.#ready.peek();
    if (!question) return this.#ready.take();
    // Rows that were not read yet may be older than the question; they are read first (`hungry`).
    if (!row && !this.complete) return undefined;
    return row && row.seq < question.seq ? this.#ready.take() : this.#questions.take();
  }

  /** L2: behind the one of its subject that is out. */
  #mustWait(item: Item): boolean {
    if (!this.ordered || item.subject === undefined || item.leads) return false;
    const behind = this.#subjects.get(item.subject);
    if (behind) {
      behind.push(item);
      this.#heldBack += 1;
      return true;
    }
    item.leads = true;
    this.#subjects.set(item.subject, []);
    return false;
  }

  #freeMember(): Member | undefined {
    const hasRoom = (member: Member): boolean => !member.draining && member.inHand < member.intake.concurrency;
    for (let step = 0; step < this.members.length; step += 1) {
      const member = this.members[(this.#turn + step) % this.members.length];
      if (member && hasRoom(member)) return member;
    }
    return undefined;
  }
}
