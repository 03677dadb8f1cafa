/**
 * One consumer of one durable queue: the messages that it pulled, in lanes, until they are settled.
 *
 * C1 At most `concurrency` offers are open. Further pulled messages only wait behind an earlier event of their subject.
 * C2 In a queue, each message is a lane. In a group, a subject is a lane: its next event begins when the one before is
 *    settled for good. A retry in a queue gives up its place (the broker waits); in a group it keeps it (we wait).
 *    The messages of a group go back when the consumer closes. The server delivers messages again in the order in which
 *    they went back, and does not count a delivery that no client received. So a group first gathers all that were
 *    delivered before, and begins with the oldest; also after a loss of the connection, which may have lost some.
 * C3 Heartbeats keep the messages in hand. Each is settled at most once; after a loss none of them is settled.
 */
import type { Msg } from '@nats-io/transport-node';
import type { BrokerConsumer, BrokerIntake, ConsumerVerdict } from '../../broker.ts';
import { deliveryFacts, givenUpOf, ttlHeader, type DeliveryFacts } from './delivery.ts';
import type { Address } from '../names.ts';
import { Puller } from './puller.ts';
import { rescue, type Rescued } from './redeliver.ts';
import { deliveryAttempt, type StoredRetry } from './retries.ts';
import { Settlement, type ConsumptionParts, type InHand } from './settle.ts';

const parkedMost = 256;
const touchMs = 2_000;
const againMs = 500;
/** Clocks of hosts differ, so a question slightly over its time is still answered. */
const expirySlackMs = 1_000;

interface Held extends InHand {
  readonly lane: string;
  touchedAt: number;
  state: 'parked' | 'ready' | 'running' | 'waiting';
  timer?: NodeJS.Timeout | undefined;
}

/** Takes messages from one queue and settles them. */
export class Consumption implements BrokerConsumer {
  readonly #parts: ConsumptionParts;
  readonly #settlement: Settlement;
  readonly #address: Address;
  readonly #intake: BrokerIntake;
  readonly #byKey: ((message: Msg) => string | undefined) | undefined;
  readonly #wanted: ((message: Msg) => boolean) | undefined;
  readonly #ensure: () => Promise<void>;
  readonly #isAlone: () => Promise<boolean>;
  readonly #held = new Set<Held>();
  readonly #lanes = new Map<string, Held[]>();
  #ready: Held[] = [];
  #running = 0;
  /** Grows at every loss; messages of an earlier epoch were lost. */
  #epoch = 0;
  #gate: Promise<void> | undefined;
  /** Settles when the latest message that was given up may go back. */
  #goneBack: Promise<void> | undefined;
  /**
   * Messages in hand when the connection was lost for too long. Their attempts do not count, because none has ended.
   */
  #uncounted: Held[] = [];
  #puller: Puller | undefined;
  #draining = false;
  /** Returns of the connection whose losses are not known yet. It asks for nothing meanwhile. */
  #returns = 0;
  /** The messages that the server delivers again, until it has delivered all of them. Undefined: none is missing. */
  #gathered: { readonly missing: Rescued; readonly held: Held[] } | undefined;

  constructor(
    parameters: ConsumptionParts & {
      address: Address;
      intake: BrokerIntake;
      ensure: () => Promise<void>;
      /** Asked when the connection is back: whether no other consumer has taken over. */
      isAlone: () => Promise<boolean>;
      /** Messages of one key are handled one after the other. */
      byKey?: (message: Msg) => string | undefined;
      /** Messages for which this is false are acknowledged unseen. */
      wanted?: (message: Msg) => boolean;
    },
  ) {
    this.#parts = parameters;
    this.#address = parameters.address;
    this.#settlement = new Settlement(parameters, parameters.address);
    this.#intake = parameters.intake;
    this.#ensure = parameters.ensure;
    this.#isAlone = parameters.isAlone;
    this.#byKey = parameters.byKey;
    this.#wanted = parameters.wanted;
  }

  /** With `alone`, no other consumer has a message in hand: unsettled messages belonged to consumers that died. */
  async activate({ alone }: { alone: boolean }): Promise<void> {
    if (this.#puller || this.#draining) return;
    if (alone) await this.#rescue();
    // Stopped meanwhile.
    if (this.#draining) return;
    const { connection } = this.#parts;
    this.#puller = new Puller({
      connection,
      address: this.#address,
      concurrency: this.#intake.concurrency,
      want: () => this.#room(),
      take: (message) => this.#take(message),
      ensure: this.#ensure,
    });
    this.#puller.kick();
  }

  /** Gives up the messages in hand: they may be offered elsewhere. */
  lose(): void {
    if (this.#held.size === 0) return;
    for (const held of this.#held) clearTimeout(held.timer);
    this.#uncounted.push(...this.#held);
    this.#epoch += 1;
    this.#held.clear();
    this.#lanes.clear();
    this.#ready = [];
    this.#running = 0;
    this.#gathered = undefined;
    this.#intake.onLost?.();
  }

  drain(): void {
    this.#draining = true;
    void this.#puller?.stop();
    if (this.#byKey) return;
    for (const held of this.#ready.splice(0)) void this.#giveBack(held, this.#epoch);
  }

  async close(): Promise<void> {
    this.#draining = true;
    await this.#puller?.stop();
    await this.#gate;
    await Promise.all([...this.#held].map((held) => this.#giveBack(held, this.#epoch)));
  }

  /** Starts again when the connection is back. */
  reset(): void {
    this.#returns += 1;
    const uncounted = this.#uncounted.splice(0);
    const resume = async (): Promise<void> => {
      // Each delivery counts unless a record says otherwise, so the records are written first.
      await Promise.all(uncounted.map((held) => this.#settlement.untried(held)));
      if (this.#puller && !this.#draining && (await this.#isAlone())) {
        await this.#parts.connection.asked(`Cannot continue with ${this.#address.queue}`, () => this.#rescue());
      }
    };
    void resume()
      .catch((error: unknown) => {
        const { queue } = this.#address;
        this.#parts.connection.log.warn(
          { err: error, queue },
          'messages in flight not looked for; they come again later',
        );
      })
      .finally(() => {
        this.#returns -= 1;
        if (this.#returns === 0) this.#puller?.reset();
      });
  }

  /** C2 */
  async #rescue(): Promise<void> {
    const isGroup = this.#byKey !== undefined;
    const inHand = (): ReadonlySet<number> => new Set([...this.#held].map(({ facts }) => facts.seq));
    const missing = await rescue(this.#parts, this.#address, { isGroup, inHand });
    if (!isGroup || (missing.count === 0 && !this.#gathered)) return;
    const held = this.#gathered?.held ?? [];
    const count = missing.count + this.#held.size - this.#placed;
    this.#gathered = { missing: { ...missing, count }, held };
    if (held.length >= count) this.#placeGathered();
  }

  /** To be called about every second. */
  tick(): void {
    const now = performance.now();
    const { connection } = this.#parts;
    if (connection.connected) {
      for (const held of this.#held) {
        if (now - held.touchedAt < touchMs) continue;
        held.touchedAt = now;
        connection.nc.publish(held.facts.ack, '+WPI');
      }
    }
    this.#puller?.watch();
    if (this.#gathered) void this.#lookForMissing();
  }

  #room(): number {
    const { concurrency } = this.#intake;
    if (this.#draining || this.#returns > 0) return 0;
    if (this.#gathered) return this.#gathered.missing.count - (this.#held.size - this.#placed);
    const free = this.#byKey ? concurrency - this.#running - this.#ready.length : concurrency - this.#held.size;
    return Math.min(free, concurrency + parkedMost - this.#held.size);
  }

  #take(message: Msg): void {
    const facts = deliveryFacts(message);
    if (!facts) return;
    if (this.#isOver(message, facts) || this.#wanted?.(message) === false) {
      this.#parts.connection.nc.publish(facts.ack, '+ACK');
      this.#puller?.kick();
      return;
    }
    const { deliveries, seq } = facts;
    const lane = this.#byKey?.(message) ?? `#${seq}`;
    const record = Promise.resolve<StoredRetry | undefined>(undefined);
    const touchedAt = performance.now();
    const held: Held = { facts, message, lane, attempt: deliveries, record, touchedAt, state: 'parked' };
    this.#held.add(held);
    if (!this.#gate && deliveries === 1) {
      this.#place(held);
      return;
    }
    const found = deliveries > 1 ? this.#recordOf(seq) : undefined;
    const before = this.#gate;
    const epoch = this.#epoch;
    const turn = async (): Promise<void> => {
      const [outcome] = await Promise.allSettled([found, before]);
      if (this.#gate === gate) this.#gate = undefined;
      if (epoch !== this.#epoch) return;
      if (outcome.status === 'rejected') {
        // Without its record the message must not begin, because it may be one attempt too many.
        void this.#settlement.refuse(held, againMs);
        this.#held.delete(held);
        return;
      }
      held.record = Promise.resolve(outcome.value);
      held.attempt = deliveryAttempt(deliveries, outcome.value);
      this.#place(held);
    };
    const gate = turn();
    this.#gate = gate;
  }

  /** A message of a group keeps its place while the server does not answer. */
  #recordOf(seq: number): Promise<StoredRetry | undefined> {
    const { connection, retries } = this.#parts;
    const find = (): Promise<StoredRetry | undefined> => retries.find(this.#address, seq);
    return this.#byKey ? connection.asked(`Cannot read the attempts of message ${seq}`, find) : find();
  }

  #isOver(message: Msg, facts: DeliveryFacts): boolean {
    const ttl = message.headers?.get(ttlHeader) ?? '';
    return ttl !== '' && this.#parts.now().getTime() > facts.storedAtMs + Number(ttl) + expirySlackMs;
  }

  #place(held: Held): void {
    if (this.#draining) {
      if (!this.#byKey) void this.#giveBack(held, this.#epoch);
      return;
    }
    if (this.#gathered) {
      this.#gather(this.#gathered, held);
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

  /** The server delivers no new message before it has delivered the missing ones. */
  #gather({ missing, held }: { readonly missing: Rescued; readonly held: Held[] }, next: Held): void {
    held.push(next);
    if (held.length >= missing.count || next.facts.seq > missing.upTo) this.#placeGathered();
    else this.#puller?.kick();
  }

  #placeGathered(): void {
    const held = this.#gathered?.held ?? [];
    this.#gathered = undefined;
    for (const each of held.toSorted((a, b) => a.facts.seq - b.facts.seq)) this.#place(each);
  }

  /** A message that was acknowledged after it was counted does not come again. */
  async #lookForMissing(): Promise<void> {
    const gathered = this.#gathered;
    const info = await this.#parts.topology.info(this.#address).catch(() => undefined);
    if (!info || !gathered || this.#gathered !== gathered) return;
    // Not all in hand: some may still wait for their record.
    if (info.num_ack_pending <= gathered.held.length + this.#placed) this.#placeGathered();
  }

  /** Messages in hand that have their place in a lane. */
  get #placed(): number {
    return [...this.#lanes.values()].reduce((sum, lane) => sum + lane.length, 0);
  }

  #queue(held: Held): void {
    held.state = 'ready';
    this.#ready.push(held);
  }

  #pump(): void {
    while (!this.#draining && this.#running < this.#intake.concurrency) {
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
    this.#settlement.begun(held);
    let settled: Promise<void> | undefined;
    this.#intake.offer({
      queue: this.#address.queue,
      bytes: held.message.data,
      attempt,
      givenUp: givenUpOf(held.message)?.reason,
      settle: (verdict) => (settled ??= this.#settle(held, verdict, epoch)),
    });
  }

  async #settle(held: Held, verdict: ConsumerVerdict, epoch: number): Promise<void> {
    const isOurs = (): boolean => epoch === this.#epoch && this.#held.has(held);
    if (!isOurs()) return;
    switch (verdict.kind) {
      case 'done':
        return this.#finish(held);
      case 'dead':
        if (await this.#settlement.bury(held, verdict, isOurs)) await this.#finish(held);
        return;
      case 'retry': {
        const { due, kept } = await this.#settlement.failed(held, verdict);
        if (!this.#byKey) {
          await kept;
          return isOurs() ? this.#refuse(held, due - this.#parts.now().getTime()) : undefined;
        }
        held.record = kept;
        held.attempt += 1;
        this.#wait(held, verdict.delayMs);
        await kept;
        return;
      }
      case 'back':
        if (!this.#byKey) return this.#giveBack(held, epoch);
        this.#wait(held, againMs);
    }
  }

  async #giveBack(held: Held, epoch: number): Promise<void> {
    clearTimeout(held.timer);
    const ready = this.#readyToGoBack(held);
    this.#goneBack = ready;
    await ready;
    if (epoch === this.#epoch && this.#held.has(held)) await this.#refuse(held, 0);
  }

  /** Messages go back in the order in which they were given up, because the server offers them in that order. */
  async #readyToGoBack(held: Held): Promise<void> {
    await Promise.all([this.#settlement.untried(held), this.#goneBack]);
    // Not while our own pull is open: the message would come straight back, and later than its old place.
    if (this.#draining) await this.#puller?.stop();
  }

  /** C2: waits in its place for the next attempt; later events of the subject wait behind it. */
  #wait(held: Held, delayMs: number): void {
    const epoch = this.#epoch;
    held.state = 'waiting';
    this.#running -= 1;
    held.timer = setTimeout(
      () => {
        if (epoch !== this.#epoch || !this.#held.has(held) || this.#draining) return;
        this.#queue(held);
        this.#pump();
      },
      Math.max(1, delayMs),
    );
    this.#pump();
    this.#puller?.kick();
  }

  #finish(held: Held): Promise<void> {
    // The caller that stops a consumer counts the messages in flight next, so the server confirms this acknowledgement.
    const done = this.#settlement.done(held, { confirmed: this.#draining });
    this.#release(held);
    return done;
  }

  #refuse(held: Held, delayMs: number): Promise<void> {
    const refused = this.#settlement.refuse(held, delayMs);
    this.#release(held);
    return refused;
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
}
