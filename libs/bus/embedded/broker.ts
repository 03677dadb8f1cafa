/**
 * The broker inside the process: lanes in memory over rows in SQLite.
 *
 * E1 All work of one tick (sends, settlements, and the offers that they allow) is one transaction.
 * E2 A handler starts after the commit that records the start of its attempt; a sender continues after the commit of
 *    its message.
 * E3 Nothing polls: a send, a settlement, a new consumer or the one alarm for delayed messages wakes its lane.
 * E4 When a commit fails, the senders get the error, the settlements stay for the next commit, and the lanes are filled
 *    from the rows.
 */
import { randomUUID } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type {
  Broker,
  BrokerConsumer,
  BrokerDeadLetters,
  BrokerIntake,
  BrokerQueues,
  Packet,
  ConsumerVerdict,
} from '../broker.ts';
import type { BusLog } from '../bus-log.ts';
import { matcherOf } from '../pattern.ts';
import type { Database } from './database.ts';
import { createDeadLetters } from './dead-letters.ts';
import { Feed } from './feed.ts';
import type { LaneItem, Lane, LaneMember, TakenItem } from './lane.ts';
import { Lanes } from './lanes.ts';
import { createEmbeddedQueues } from './queues.ts';
import type { Tick } from './tick.ts';
import type { BusMarks } from '../port.ts';

interface Work {
  /** Runs within the transaction. */
  readonly run: () => unknown;
  readonly resolve: (value: never) => void;
  /** Absent for work that must not be lost: it runs again. */
  readonly reject?: (error: unknown) => void;
}

const failedCommitWaitMs = 200;

/** The broker inside this process. */
export class EmbeddedBroker implements Broker {
  readonly inbox = `anneal.replies.${randomUUID()}`;
  readonly queues: BrokerQueues;
  readonly deadLetters: BrokerDeadLetters;
  readonly #database: Database;
  readonly #now: () => Date;
  readonly #log: BusLog;
  readonly #lanes: Lanes;
  readonly #feed: Feed;
  #work: Work[] = [];
  #dirty = new Set<Lane>();
  #after: (() => void)[] = [];
  #scheduled: NodeJS.Immediate | NodeJS.Timeout | undefined;
  #seq: number;
  #takeAnswer: (bytes: string | Uint8Array, valid?: boolean) => void = () => undefined;
  #closed = false;

  constructor(parameters: { database: Database; now: () => Date; log: BusLog }) {
    this.#database = parameters.database;
    this.#now = parameters.now;
    this.#log = parameters.log;
    const recovered = this.#database.recover(this.#now());
    this.#database.commit();
    if (recovered > 0) this.#log.info({ messages: recovered }, 'messages in flight at the last stop are offered again');
    this.#seq = this.#database.lastSeq();
    this.#lanes = new Lanes(this.#database);
    this.#feed = new Feed({ database: this.#database, now: this.#now, wake: (lane) => this.#wake(lane) });
    const tick: Tick = {
      database: this.#database,
      lanes: this.#lanes,
      now: this.#now,
      inTick: (run) => this.#inTick(run),
      append: (lane, packets) => this.#append(lane, packets),
    };
    this.queues = createEmbeddedQueues(tick);
    this.deadLetters = createDeadLetters(tick);
  }

  send({ queue, packets }: { queue: string; packets: readonly Packet[] }): Promise<void> {
    return this.#inTick(() => this.#append(this.#lanes.open(queue), packets));
  }

  publish(packets: readonly Packet[]): Promise<void> {
    return this.#inTick(() => {
      for (const packet of packets) for (const lane of this.#lanes.listening(packet.type)) this.#append(lane, [packet]);
    });
  }

  async declareGroup({ patterns, group }: { patterns: readonly string[]; group: string }): Promise<void> {
    matcherOf(patterns);
    await this.#inTick(() => this.#lanes.openGroup(group, patterns));
  }

  consume(queue: string, intake: BrokerIntake): Promise<BrokerConsumer> {
    return this.#inTick(() => this.#join(this.#lanes.open(queue), intake));
  }

  subscribe(
    { patterns, group }: { patterns: readonly string[]; group: string | undefined },
    intake: BrokerIntake,
  ): Promise<BrokerConsumer> {
    return this.#inTick(() => {
      matcherOf(patterns);
      const lane = group === undefined ? this.#lanes.openListener(patterns) : this.#lanes.openGroup(group, patterns);
      return this.#join(lane, intake);
    });
  }

  isInbox = (address: string): boolean => address.startsWith('anneal.replies.');

  onAnswer(take: (bytes: string | Uint8Array, valid?: boolean) => void): void {
    this.#takeAnswer = take;
  }

  /** In memory only, because the requester is in this process and dies with it. */
  ask({ queue, packet, ttlMs }: { queue: string; packet: Packet; ttlMs: number }): Promise<void> {
    return this.#inTick(() => {
      const lane = this.#lanes.open(queue);
      const sentAt = this.#now().getTime();
      lane.push(this.#item(packet, { sentAt, kept: false, expiresAt: sentAt + ttlMs }));
      this.#dirty.add(lane);
    });
  }

  answer({ inbox, packet }: { inbox: string; packet: Packet }): Promise<void> {
    if (inbox === this.inbox) this.#takeAnswer(packet.bytes, packet.valid);
    return Promise.resolve();
  }

  check(): Promise<void> {
    return this.#inTick(() => {
      const at = this.#now().toISOString();
      this.#database.write(
        'INSERT INTO checks (id, at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET at = excluded.at',
        at,
      );
    });
  }

  readonly marks: BusMarks = {
    last: () => this.#inTick(() => Number(this.#database.get('SELECT count FROM mark')?.['count'] ?? 0)),
    put: (count) =>
      this.#inTick(() => {
        this.#database.write(
          'INSERT INTO mark (id, count) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET count = excluded.count',
          count,
        );
      }),
    commits: () => this.#database.commits,
  };

  copyTo = (file: string): void => {
    if (this.#closed) throw new AnnealError('Unavailable', 'The bus is closed.');
    this.#database.copyTo(file);
  };

  async close(): Promise<void> {
    if (this.#closed) return;
    await this.#inTick(() => undefined);
    this.#closed = true;
    this.#feed.stop();
    this.#database.close();
  }

  #inTick<T>(run: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new AnnealError('Unavailable', 'The bus is closed.'));
    return new Promise<T>((resolve, reject) => {
      this.#work.push({ run, resolve, reject });
      this.#schedule();
    });
  }

  /** Runs again when the commit fails, until it succeeds. */
  #certainly(run: () => void): Promise<void> {
    return new Promise((resolve) => {
      this.#work.push({ run, resolve });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (!this.#scheduled) this.#scheduled = setImmediate(() => this.#flush());
  }

  #wake(lane: Lane): void {
    this.#dirty.add(lane);
    this.#schedule();
  }

  #item(packet: Packet, rest: Pick<LaneItem, 'sentAt' | 'kept' | 'expiresAt'>): LaneItem {
    this.#seq += 1;
    const { subject, bytes, valid = false } = packet;
    return { seq: this.#seq, subject, bytes, valid, attempts: 0, fresh: true, ...rest };
  }

  #append(lane: Lane, packets: readonly Packet[]): void {
    const sentAt = this.#now().getTime();
    for (const packet of packets) {
      const item = this.#item(packet, { sentAt, kept: lane.id !== undefined, expiresAt: Infinity });
      if (lane.id !== undefined) {
        const { seq, subject } = item;
        this.#database.insert({ seq, queue: lane.id, subject, sentAt, bytes: packet.bytes });
      }
      // Goes straight into memory when no unread row precedes it; else it is read when its turn comes.
      if (lane.complete && lane.members.length > 0 && !(item.kept && lane.isFull)) {
        lane.push(item);
        lane.readTo = item.seq;
      } else if (item.kept) {
        lane.complete = false;
      }
    }
    this.#dirty.add(lane);
  }

  #join(lane: Lane, intake: BrokerIntake): BrokerConsumer {
    const member: LaneMember = { intake, inHand: 0, draining: false };
    // Not before the commit: a member that could not join must not get an offer.
    this.#after.push(() => {
      lane.members.push(member);
      this.#wake(lane);
    });
    return {
      drain: () => {
        member.draining = true;
      },
      close: () => (this.#closed ? Promise.resolve() : this.#certainly(() => this.#leave(lane, member))),
    };
  }

  #leave(lane: Lane, member: LaneMember): void {
    const place = lane.members.indexOf(member);
    if (place === -1) return;
    for (const taken of lane.inHand.values()) if (taken.member === member) this.#apply(taken, { kind: 'back' });
    lane.members.splice(place, 1);
    if (lane.members.length === 0) this.#lanes.rest(lane);
    this.#dirty.add(lane);
  }

  #flush(): void {
    this.#scheduled = undefined;
    const work = this.#work;
    const dirty = this.#dirty;
    this.#work = [];
    this.#dirty = new Set();
    const outcomes: ({ readonly value: unknown } | { readonly error: unknown })[] = [];
    const offered: TakenItem[] = [];
    try {
      for (const { run, reject } of work) {
        try {
          outcomes.push({ value: run() });
        } catch (error) {
          // A refusal concerns its caller only; a fault of the file concerns all.
          if (!(error instanceof AnnealError) || !reject) throw error;
          outcomes.push({ error });
        }
      }
      for (const lane of this.#dirty) dirty.add(lane);
      this.#dirty = new Set();
      for (const lane of dirty) this.#feed.offerFrom(lane, offered);
      this.#database.commit();
    } catch (cause) {
      this.#failed(work, offered, cause);
      return;
    }
    const after = this.#after;
    this.#after = [];
    work.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index];
      if (outcome && 'value' in outcome) resolve(outcome.value as never);
      else reject?.(outcome?.error);
    });
    for (const then of after) then();
    for (const taken of offered) this.#offer(taken);
  }

  #failed(work: readonly Work[], offered: readonly TakenItem[], cause: unknown): void {
    this.#database.rollback();
    this.#after = [];
    for (const taken of offered) {
      taken.lane.release(taken, true);
      if (!taken.item.kept) taken.lane.pushAgain(taken.item);
    }
    this.#lanes.restore();
    for (const lane of this.#lanes.all()) {
      lane.reset();
      this.#dirty.add(lane);
    }
    this.#work = [...work.filter(({ reject }) => !reject), ...this.#work];
    const reason = cause instanceof Error ? cause.message : String(cause);
    const error = new AnnealError('Unavailable', `Cannot write to the bus: ${reason}.`, { cause });
    this.#log.error({ err: cause }, 'bus not written; senders receive the error, settlements are retried');
    for (const { reject } of work) reject?.(error);
    if (!this.#scheduled) this.#scheduled = setTimeout(() => this.#flush(), failedCommitWaitMs);
  }

  #offer(taken: TakenItem): void {
    const { lane, item, member } = taken;
    member.intake.offer({
      queue: lane.name,
      bytes: item.bytes ?? '',
      valid: item.valid,
      attempt: item.attempts + 1,
      settle: (verdict) => this.#settle(taken, verdict),
    });
  }

  #settle(taken: TakenItem, verdict: ConsumerVerdict): Promise<void> {
    if (this.#closed || taken.lane.inHand.get(taken.item.seq) !== taken) return Promise.resolve();
    return this.#certainly(() => this.#apply(taken, verdict));
  }

  /** May run a second time after a failed commit: then the rows are as before, and no item is in hand. */
  #apply(taken: TakenItem, verdict: ConsumerVerdict): void {
    const { lane, item } = taken;
    const now = this.#now();
    const held = lane.inHand.get(item.seq) === taken;
    this.#dirty.add(lane);
    switch (verdict.kind) {
      case 'done':
        if (item.kept) this.#database.remove(item.seq);
        if (held) lane.release(taken, false);
        return;
      case 'dead':
        this.#bury(taken, verdict, now);
        if (held) lane.release(taken, false);
        return;
      case 'back':
        if (item.kept) this.#database.again({ seq: item.seq, attempts: item.attempts, due: 1 });
        if (held) {
          lane.release(taken, true);
          lane.pushAgain(item);
        }
        return;
      case 'retry': {
        const due = now.getTime() + Math.max(1, verdict.delayMs);
        const attempts = item.attempts + 1;
        const entry = { at: now.toISOString(), error: verdict.error };
        if (item.kept) this.#database.again({ seq: item.seq, attempts, due, entry });
        if (!held) return;
        lane.release(taken, true);
        // Many failures must not keep their bytes in memory while they wait.
        this.#feed.delay(lane, { ...item, attempts, bytes: item.kept ? undefined : item.bytes }, due);
      }
    }
  }

  #bury({ lane, item }: TakenItem, verdict: ConsumerVerdict & { kind: 'dead' }, now: Date): void {
    // A listener without a group has no queue for a replay; the log has the error.
    if (lane.id === undefined) return;
    const at = now.toISOString();
    const bytes = item.bytes ?? '';
    this.#database.bury({
      id: verdict.id,
      queue: lane.name,
      grouped: lane.ordered,
      subject: item.subject,
      diedAt: at,
      attempts: item.attempts + 1,
      failure: verdict.failure,
      history: [...(item.kept ? this.#database.historyOf(item.seq) : []), { at, error: verdict.error }],
      bytes,
    });
    if (item.kept) this.#database.remove(item.seq);
  }
}
