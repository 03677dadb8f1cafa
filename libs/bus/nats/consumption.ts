/**
 * One consumer of one durable queue: what was pulled, in lanes, until it is settled.
 *
 * C1 At most `concurrency` offers are open; what is pulled beyond that only waits behind an earlier event of its subject.
 * C2 A queue's lane is one message; a group's lane is a subject, whose next event begins when the one before is settled
 *    for good. A retry in a queue gives the place up (the broker waits); in a group it keeps it (we wait).
 * C3 What is in hand is kept by heartbeats, and is settled at most once; after a loss nothing of it is settled.
 * C4 A dead letter is durable before its message is acknowledged.
 */
import type { Msg } from '@nats-io/transport-node';
import type { BrokerConsumer, Intake, Verdict } from '../broker.ts';
import { ackSubject, deliveryFacts, type DeliveryFacts } from './delivery.ts';
import type { Graveyard } from './graveyard.ts';
import type { Link } from './link.ts';
import type { Address } from './names.ts';
import { Puller } from './puller.ts';
import { attemptOf, historyBefore, type KeptRecord, type Retries } from './retries.ts';
import { filtersOf, type Topology } from './topology.ts';

export const subjectHeader = 'Anneal-Subject';
export const ttlHeader = 'Anneal-Ttl';
const parkedMost = 256;
const touchMs = 3_000;
const againMs = 500;
const stopAckMs = 2_000;
/** Clocks of hosts differ: a question a little over its time is still answered. */
const expirySlackMs = 1_000;
const mostRescued = 5_000;

interface Held {
  readonly facts: DeliveryFacts;
  readonly message: Msg;
  readonly lane: string;
  attempt: number;
  record: Promise<KeptRecord | undefined>;
  touchedAt: number;
  state: 'parked' | 'ready' | 'running' | 'waiting';
  timer?: NodeJS.Timeout | undefined;
}

export interface ConsumptionParts {
  readonly link: Link;
  readonly topology: Topology;
  readonly retries: Retries;
  readonly graveyard: Graveyard;
  readonly now: () => Date;
}

export class Consumption implements BrokerConsumer {
  readonly #parts: ConsumptionParts;
  readonly #address: Address;
  readonly #intake: Intake;
  readonly #byKey: ((message: Msg) => string | undefined) | undefined;
  readonly #wanted: ((message: Msg) => boolean) | undefined;
  readonly #ensure: () => Promise<void>;
  readonly #held = new Set<Held>();
  readonly #lanes = new Map<string, Held[]>();
  #ready: Held[] = [];
  #running = 0;
  /** What belongs to an earlier one was lost. */
  #epoch = 0;
  #gate: Promise<void> | undefined;
  #puller: Puller | undefined;
  #draining = false;

  constructor(
    parameters: ConsumptionParts & {
      address: Address;
      intake: Intake;
      ensure: () => Promise<void>;
      /** Messages of one key are handled one after the other. */
      byKey?: (message: Msg) => string | undefined;
      /** What is not wanted is acknowledged unseen. */
      wanted?: (message: Msg) => boolean;
    },
  ) {
    this.#parts = parameters;
    this.#address = parameters.address;
    this.#intake = parameters.intake;
    this.#ensure = parameters.ensure;
    this.#byKey = parameters.byKey;
    this.#wanted = parameters.wanted;
  }

  /** With `alone`, nobody else has anything in hand: what the broker waits for was in the hands of the dead. */
  async activate({ alone }: { alone: boolean }): Promise<void> {
    if (this.#puller || this.#draining) return;
    if (alone) await this.#rescue();
    // Stopped meanwhile.
    if (this.#draining) return;
    const { link } = this.#parts;
    this.#puller = new Puller({
      link,
      address: this.#address,
      concurrency: this.#intake.concurrency,
      want: () => this.#room(),
      take: (message) => this.#take(message),
      ensure: this.#ensure,
    });
    this.#puller.kick();
  }

  /** The offers in hand are no longer ours. */
  lose(): void {
    if (this.#held.size === 0) return;
    for (const held of this.#held) clearTimeout(held.timer);
    this.#epoch += 1;
    this.#held.clear();
    this.#lanes.clear();
    this.#ready = [];
    this.#running = 0;
    this.#intake.onLost?.();
  }

  drain(): void {
    this.#draining = true;
    void this.#puller?.stop();
    for (const held of this.#ready.splice(0)) void this.#settle(held, { kind: 'back' }, this.#epoch);
  }

  async close(): Promise<void> {
    this.#draining = true;
    await this.#puller?.stop();
    await this.#gate;
    await Promise.all([...this.#held].map((held) => this.#settle(held, { kind: 'back' }, this.#epoch)));
  }

  reset(): void {
    this.#puller?.reset();
  }

  /** Every second or so. */
  tick(): void {
    const now = performance.now();
    const { link } = this.#parts;
    if (link.connected) {
      for (const held of this.#held) {
        if (now - held.touchedAt < touchMs) continue;
        held.touchedAt = now;
        link.nc.publish(held.facts.ack, '+WPI');
      }
    }
    this.#puller?.watch();
  }

  #room(): number {
    const { concurrency } = this.#intake;
    if (this.#draining) return 0;
    const free = this.#byKey ? concurrency - this.#running - this.#ready.length : concurrency - this.#held.size;
    return Math.min(free, concurrency + parkedMost - this.#held.size);
  }

  #take(message: Msg): void {
    const facts = deliveryFacts(message);
    if (!facts) return;
    if (this.#isOver(message, facts) || this.#wanted?.(message) === false) {
      this.#parts.link.nc.publish(facts.ack, '+ACK');
      this.#puller?.kick();
      return;
    }
    const { deliveries, seq } = facts;
    const lane = this.#byKey?.(message) ?? `#${seq}`;
    const record = Promise.resolve<KeptRecord | undefined>(undefined);
    const touchedAt = performance.now();
    const held: Held = { facts, message, lane, attempt: deliveries, record, touchedAt, state: 'parked' };
    this.#held.add(held);
    if (!this.#gate && deliveries === 1) {
      this.#place(held);
      return;
    }
    const found = deliveries > 1 ? this.#parts.retries.find(this.#address, seq) : undefined;
    const before = this.#gate;
    const epoch = this.#epoch;
    const turn = async (): Promise<void> => {
      const [outcome] = await Promise.allSettled([found, before]);
      if (this.#gate === gate) this.#gate = undefined;
      if (epoch !== this.#epoch) return;
      if (outcome.status === 'rejected') {
        // Without its record it must not begin: it might be one attempt too many.
        this.#nak(held, againMs);
        this.#held.delete(held);
        return;
      }
      held.record = Promise.resolve(outcome.value);
      held.attempt = attemptOf(deliveries, outcome.value);
      this.#place(held);
    };
    const gate = turn();
    this.#gate = gate;
  }

  #isOver(message: Msg, facts: DeliveryFacts): boolean {
    const ttl = message.headers?.get(ttlHeader) ?? '';
    return ttl !== '' && this.#parts.now().getTime() > facts.storedAtMs + Number(ttl) + expirySlackMs;
  }

  #place(held: Held): void {
    if (this.#draining) {
      void this.#settle(held, { kind: 'back' }, this.#epoch);
      return;
    }
    const lane = this.#lanes.get(held.lane);
    if (lane) {
      lane.push(held);
      return;
    }
    this.#lanes.set(held.lane, [held]);
    this.#queue(held);
    this.#pump();
  }

  #queue(held: Held): void {
    held.state = 'ready';
    this.#ready.push(held);
  }

  #pump(): void {
    while (this.#running < this.#intake.concurrency) {
      const held = this.#ready.shift();
      if (!held) return;
      this.#begin(held);
    }
  }

  #begin(held: Held): void {
    this.#running += 1;
    held.state = 'running';
    const epoch = this.#epoch;
    const { attempt } = held;
    // Only what has a record already needs another: the broker counts first attempts by itself.
    held.record = held.record.then((before) =>
      before ? this.#keep(held, { attempts: attempt, due: 0, before }) : undefined,
    );
    let settled: Promise<void> | undefined;
    this.#intake.offer({
      queue: this.#address.queue,
      bytes: held.message.data,
      attempt,
      settle: (verdict) => (settled ??= this.#settle(held, verdict, epoch)),
    });
  }

  async #settle(held: Held, verdict: Verdict, epoch: number): Promise<void> {
    if (epoch !== this.#epoch || !this.#held.has(held)) return;
    const { link } = this.#parts;
    switch (verdict.kind) {
      case 'done':
        return this.#finish(held);
      case 'dead': {
        const at = this.#parts.now();
        const record = await held.record;
        const history = [...historyBefore(held.attempt, record, at), { at: at.toISOString(), error: verdict.error }];
        const letter = {
          queue: this.#address.queue,
          diedAt: at.toISOString(),
          attempts: held.attempt,
          failure: verdict.failure,
          history,
        };
        for (;;) {
          if (epoch !== this.#epoch || link.closed) return;
          try {
            await this.#parts.graveyard.bury({
              letter,
              bytes: held.message.data,
              subject: held.message.headers?.get(subjectHeader),
              origin: `${this.#address.stream}:${this.#address.durable}:${held.facts.seq}:${held.facts.storedAtMs}`,
            });
            break;
          } catch (error) {
            link.log.warn({ err: error, queue: this.#address.queue }, 'A dead letter cannot be kept; tried again.');
            await new Promise((resolve) => setTimeout(resolve, againMs));
          }
        }
        return this.#finish(held);
      }
      case 'retry': {
        const at = this.#parts.now();
        const delayMs = Math.max(1, verdict.delayMs);
        const before = await held.record;
        const history = [...historyBefore(held.attempt, before, at), { at: at.toISOString(), error: verdict.error }];
        const due = at.getTime() + delayMs;
        const kept = this.#keep(held, { attempts: held.attempt, due, before, history });
        if (!this.#byKey || this.#draining) {
          await kept;
          if (epoch !== this.#epoch) return;
          this.#nak(held, Math.max(1, due - this.#parts.now().getTime()));
          this.#release(held);
          return this.#written();
        }
        held.record = kept;
        held.attempt += 1;
        this.#running -= 1;
        held.state = 'waiting';
        held.timer = setTimeout(() => {
          if (epoch !== this.#epoch || !this.#held.has(held) || this.#draining) return;
          this.#queue(held);
          this.#pump();
        }, delayMs);
        this.#pump();
        this.#puller?.kick();
        await kept;
        return;
      }
      case 'back': {
        clearTimeout(held.timer);
        const before = await held.record;
        await this.#keep(held, { attempts: held.attempt - 1, due: 0, before });
        // Not while our own pull stands: it would come straight back to us, behind what it was before.
        if (this.#draining) await this.#puller?.stop();
        if (epoch !== this.#epoch || !this.#held.has(held)) return;
        this.#nak(held, 1);
        this.#release(held);
        return this.#written();
      }
    }
  }

  /** A record that cannot be written costs an entry of the history; the broker's own count goes on. */
  async #keep(
    held: Held,
    options: { attempts: number; due: number; before: KeptRecord | undefined; history?: KeptRecord['history'] },
  ): Promise<KeptRecord | undefined> {
    const { attempts, due, before } = options;
    const history = options.history ?? before?.history ?? [];
    const { deliveries, seq } = held.facts;
    try {
      return await this.#parts.retries.keep(this.#address, seq, { deliveries, attempts, history }, { due, before });
    } catch (error) {
      this.#parts.link.log.warn({ err: error, queue: this.#address.queue }, 'The history of a retry was not written.');
      return before;
    }
  }

  async #finish(held: Held): Promise<void> {
    const { link, retries } = this.#parts;
    const { ack } = held.facts;
    const draining = this.#draining;
    if (!draining) link.nc.publish(ack, '+ACK');
    // Who stops a consumer counts what is in flight next: then the acknowledgement is itself acknowledged.
    const acknowledged = draining ? link.nc.request(ack, '+ACK', { timeout: stopAckMs }) : undefined;
    this.#release(held);
    void held.record.then((record) => record && retries.drop(record));
    if (!acknowledged) return this.#written();
    try {
      await acknowledged;
    } catch {
      // Not acknowledged in time: it comes again.
    }
  }

  #release(held: Held): void {
    this.#held.delete(held);
    if (held.state === 'running') this.#running -= 1;
    const lane = this.#lanes.get(held.lane);
    const place = lane?.indexOf(held) ?? -1;
    if (lane && place !== -1) {
      lane.splice(place, 1);
      const next = lane[0];
      if (!next) this.#lanes.delete(held.lane);
      else if (place === 0 && !this.#draining) this.#queue(next);
    }
    this.#pump();
    this.#puller?.kick();
  }

  /** Never at once: a failure that comes back in the same instant would spin. */
  #nak(held: Held, delayMs: number): void {
    this.#parts.link.nc.publish(held.facts.ack, `-NAK {"delay": ${Math.round(delayMs * 1e6)}}`);
  }

  async #written(): Promise<void> {
    try {
      await this.#parts.link.written();
    } catch {
      // The connection is lost: it comes again.
    }
  }

  /**
   * Offers again, first and in order, what the dead had in hand, instead of waiting for the broker to miss them. These
   * refusals have no delay: there is nothing to spin, they are made once, before the first pull.
   */
  async #rescue(): Promise<void> {
    const { link, topology, retries } = this.#parts;
    const { stream, durable } = this.#address;
    const info = await topology.info(this.#address);
    if (!info || info.num_ack_pending === 0) return;
    const waiting = await retries.waiting(this.#address);
    const found = new Set<number>();
    for (const filter of filtersOf(info)) {
      let seq = info.ack_floor.stream_seq + 1;
      while (seq <= info.delivered.stream_seq && found.size < mostRescued) {
        const message = await link.next(stream, filter, seq);
        if (!message || message.seq > info.delivered.stream_seq) break;
        if (!waiting.has(message.seq)) found.add(message.seq);
        seq = message.seq + 1;
      }
    }
    const consumerSeq = info.delivered.consumer_seq;
    const again = [...found].sort((a, b) => a - b);
    await Promise.all(
      again.map((seq) =>
        link.nc.request(ackSubject({ stream, durable, seq, consumerSeq }), '-NAK', { timeout: 2_000 }),
      ),
    );
    link.log.info({ queue: this.#address.queue, messages: again.length }, 'Offering again what the dead had in hand.');
  }
}
