/**
 * One queue in memory: the items that wait, the items in hand, and the members that take them. It decides and does no
 * I/O; `feed.ts` reads the rows behind it.
 *
 * L1 First deliveries come in the order of `seq`. Items that are offered again come before them, also in the order of
 *    `seq`.
 * L2 An ordered lane has at most one message per subject in hand, retries included; the next waits behind it. A member
 *    that keeps the order by itself gets the next ones too, in order, but none behind one that waits for another attempt.
 * L3 An item in hand is never offered a second time, however often the lane is filled again from its rows.
 */
import type { BrokerIntake, BrokerOffer } from '../broker.ts';
import { Fifo } from './fifo.ts';

/** A message in the order of its queue. Only the numbers stay in memory when the queue is long. */
export interface LaneItem {
  readonly seq: number;
  readonly subject: string | undefined;
  /** Undefined when the bytes are to be read again at the offer. */
  bytes: string | Uint8Array | undefined;
  /** See `Packet`: only for bytes that have not left the memory of this process. */
  valid: boolean;
  /** Attempts that have ended. */
  attempts: number;
  readonly sentAt: number;
  /** A row holds it. Questions, and events for listeners without a group, are in memory only. */
  readonly kept: boolean;
  readonly expiresAt: number;
  /** True until its first offer. */
  fresh: boolean;
  /** It leads its subject: later items of the subject wait for it (L2). */
  leads?: boolean;
}

/** A consumer of the queue, and the number of messages that it has in hand. */
export interface LaneMember {
  readonly intake: BrokerIntake;
  inHand: number;
  draining: boolean;
}

/** A message that a consumer has in hand until it is settled. */
export interface TakenItem {
  readonly lane: Lane;
  readonly item: LaneItem;
  readonly member: LaneMember;
  offer?: BrokerOffer;
}

const memoryLimit = 10_000;

/** One queue in memory: who gets which item next. It holds each item until it is settled. */
export class Lane {
  readonly name: string;
  /** The id of its row. Undefined for a listener without a group, which has no row. */
  readonly id: number | undefined;
  readonly ordered: boolean;
  readonly inHand = new Map<number, TakenItem>();
  readonly delayed = new Map<number, LaneItem>();
  members: LaneMember[] = [];
  /** True when memory holds everything that waits in rows. */
  complete: boolean;
  /** Rows up to here were read. */
  readTo = 0;
  /** True when the rows that wait for another attempt were read. */
  delayedRead: boolean;
  readonly #ready = new Fifo<LaneItem>();
  readonly #questions = new Fifo<LaneItem>();
  #again: LaneItem[] = [];
  readonly #subjects = new Map<string, LaneItem[]>();
  #heldBack = 0;
  #turn = 0;

  constructor(parameters: { name: string; id: number | undefined; ordered: boolean }) {
    this.name = parameters.name;
    this.id = parameters.id;
    this.ordered = parameters.ordered;
    this.complete = this.id === undefined;
    this.delayedRead = this.complete;
  }

  /** True when memory holds as many items from the rows as it may while no member has room. */
  get isFull(): boolean {
    return this.#ready.size + this.#heldBack > memoryLimit;
  }

  /** The number of items without a row whose requester or listener still waits. */
  waitingInMemory(now: number): number {
    if (this.id === undefined) return this.#ready.size + this.#again.length + this.#heldBack;
    this.#questions.filter(({ expiresAt }) => expiresAt > now);
    return this.#questions.size;
  }

  /** True while items that were not offered yet wait for their subject, so that the offers are not in the order of `seq`. */
  get holdsBack(): boolean {
    return this.#heldBack > 0;
  }

  /** True when rows must be read before the next offer. A subject that is stuck must not fill the memory. */
  get hungry(): boolean {
    return !this.complete && this.#ready.size === 0 && this.#heldBack < memoryLimit && this.hasRoom;
  }

  get hasRoom(): boolean {
    return this.#freeMember() !== undefined;
  }

  push(item: LaneItem): void {
    if (item.kept || this.id === undefined) this.#ready.push(item);
    else {
      // Without a consumer that answers, questions must not pile up.
      for (let old = this.#questions.peek(); old && old.expiresAt <= item.sentAt; old = this.#questions.peek()) {
        this.#questions.take();
      }
      this.#questions.push(item);
    }
  }

  /** Offers the item again as soon as a member has room. */
  pushAgain(item: LaneItem): void {
    const before = this.#again.findLastIndex(({ seq }) => seq < item.seq);
    this.#again.splice(before + 1, 0, item);
  }

  /** A delayed item keeps its subject: the items behind it wait as long as it does. */
  delay(item: LaneItem): void {
    if (this.ordered && item.subject !== undefined) {
      if (!item.leads && this.#putBehind(item)) return;
      item.leads = true;
      if (!this.#subjects.has(item.subject)) this.#subjects.set(item.subject, []);
    }
    this.delayed.set(item.seq, item);
  }

  /** Takes the next item and picks the member that gets it; the item is in hand from now on. */
  take(now: number): TakenItem | undefined {
    const member = this.#freeMember();
    if (!member) return undefined;
    for (;;) {
      const item = this.#next();
      if (!item) return undefined;
      if (item.expiresAt <= now || this.inHand.has(item.seq)) continue;
      if (this.#mustWait(item, member)) continue;
      const taken: TakenItem = { lane: this, item, member };
      this.inHand.set(item.seq, taken);
      member.inHand += 1;
      this.#turn += 1;
      return taken;
    }
  }

  /** Takes the item out of the member's hand; its subject goes to the next item, unless this one comes again. */
  release({ item, member }: TakenItem, comesAgain: boolean): void {
    this.inHand.delete(item.seq);
    member.inHand -= 1;
    if (!item.leads || item.subject === undefined || comesAgain) return;
    const behind = this.#subjects.get(item.subject) ?? [];
    const keepsOrder = member.intake.keepsOrder === true;
    const next = behind.splice(0, keepsOrder ? behind.length : 1);
    if (keepsOrder || next.length === 0) this.#subjects.delete(item.subject);
    this.#heldBack -= next.length;
    for (const each of next) {
      each.leads = !keepsOrder;
      this.pushAgain(each);
    }
  }

  /** Forgets the items that can be read from the rows again. */
  reset(): void {
    if (this.id === undefined) return;
    this.#ready.filter(() => false);
    this.#again = this.#again.filter(({ kept }) => !kept);
    this.delayed.clear();
    this.#subjects.clear();
    this.#heldBack = 0;
    for (const { item } of this.inHand.values()) {
      if (item.leads && item.subject !== undefined) this.#subjects.set(item.subject, []);
    }
    this.complete = false;
    this.delayedRead = false;
    this.readTo = 0;
  }

  /** Drops all waiting items; those in hand stay. */
  clear(): void {
    this.reset();
    this.#ready.filter(() => false);
    this.#questions.filter(() => false);
    this.#again = [];
    this.delayed.clear();
  }

  #next(): LaneItem | undefined {
    const again = this.#again[0];
    if (again) return this.#again.shift();
    const question = this.#questions.peek();
    const row = this.#ready.peek();
    if (!question) return this.#ready.take();
    // Unread rows may be older than the question, so they are read first (`hungry`).
    if (!row && !this.complete) return undefined;
    return row && row.seq < question.seq ? this.#ready.take() : this.#questions.take();
  }

  /** L2: true when it put the item behind another of its subject that is in hand or delayed. */
  #mustWait(item: LaneItem, { intake }: LaneMember): boolean {
    if (!this.ordered || item.subject === undefined || item.leads) return false;
    if (this.#putBehind(item)) return true;
    if (intake.keepsOrder === true) return false;
    item.leads = true;
    this.#subjects.set(item.subject, []);
    return false;
  }

  /** Puts the item behind the one that leads its subject, by `seq`. False when none does. */
  #putBehind(item: LaneItem): boolean {
    const behind = this.#subjects.get(item.subject ?? '');
    if (!behind) return false;
    const before = behind.findLastIndex(({ seq }) => seq < item.seq);
    behind.splice(before + 1, 0, item);
    this.#heldBack += 1;
    return true;
  }

  #freeMember(): LaneMember | undefined {
    const hasRoom = (member: LaneMember): boolean => !member.draining && member.inHand < member.intake.concurrency;
    for (let step = 0; step < this.members.length; step += 1) {
      const member = this.members[(this.#turn + step) % this.members.length];
      if (member && hasRoom(member)) return member;
    }
    return undefined;
  }
}
