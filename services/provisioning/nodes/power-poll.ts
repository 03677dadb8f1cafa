/**
 * Reads the power of every node at rest, each by its own timer.
 *
 * L0 One replica reads a node: the nodes are divided into slots by their ids, and each slot has one holder. When a replica
 *    dies, the others take its slots over. Two replicas may read a node for a moment, which does no harm.
 * L1 A change counts when two successive readings agree, because controllers misread. The second reading comes soon.
 * L2 Three failed readings mark the node with a fault. A successful reading clears it.
 * L3 A reading is one short attempt. A controller that failed one is read in a separate lane, so that hanging
 *    controllers never take the places of those that answer. No reading waits for all others.
 * L4 A controller that shows another machine causes a fault at once, until the right machine is back or an operator
 *    acts.
 * L5 An event of a controller makes its nodes read at once. A reading that runs meanwhile is repeated, because it may have
 *    been too early.
 * L6 A controller that refuses the credentials is read rarely. When an operator has corrected them, it is read at once.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { on, routeMessages } from '@anneal/bus/consume/route.ts';
import type { Consumer } from '@anneal/bus/port.ts';
import { AnnealError, toFailure, type Failure } from '@anneal/contracts/errors.ts';
import { bmcReported } from '@anneal/contracts/events.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { Bmcs } from '../bmcs.ts';
import { TaskLane } from './states/lane.ts';
import { failedStates } from '../documents/states.ts';
import type { NodeDocument, Power, NodeChange } from '../documents/node.ts';
import { identityChange } from '../documents/faults.ts';
import { identityFault } from '../documents/identity.ts';
import { EventStreams, nodesAbout, originsOf } from './event-streams.ts';
import { bmcHealth, contactMs, readingIntervalMs, strikes } from '../bmc/health.ts';
import { SensorMetrics } from '../bmc/sensor-metrics.ts';
import { hasMachine } from '../fake/machine.ts';
import type { NodeRecords } from '../documents/records.ts';

/** Concurrent readings: of controllers that answer, of controllers that failed a reading, and of sensors. */
const lanes = { well: 64, suspect: 64, sensors: 16 } as const;
/** Enough to divide evenly over a few replicas. */
const slots = 16;
const shortestTryMs = 2_000;
const longestTryMs = 10_000;
const longestConfirmMs = 1_000;
const longestBeatMs = 1_000;
/** The most time for the sensors of a node, for which other requests to its BMC wait. */
const sensorsTurnMs = 20_000;
/** The least time from one reading to another that an event causes, so that a flood of events costs little. */
const leastGapMs = 250;

const unlisted = 'nodes to poll not listed; retrying at the next interval';
/**
 * The pause until a reading that is due in `ms`: it begins at a beat that many nodes share, because a process that wakes
 * for each reading needs three times the CPU time of one that does several in a row. Never later than `ms`. Pure.
 */
export function pauseUntilBeat(ms: number, { now, everyMs }: { now: number; everyMs: number }): number {
  const beat = Math.min(longestBeatMs, everyMs / 20);
  return Math.max(0, Math.floor((now + ms) / beat) * beat - now);
}

export const slotOf = (nodeId: string): number => (createHash('sha256').update(nodeId).digest()[0] ?? 0) % slots;

/** True when the stored time of the last contact is to be renewed, for the other replicas. */
const isContactOld = ({ poll }: NodeDocument, at: Date): boolean =>
  at.getTime() - Date.parse(poll.answered_at ?? '1970-01-01T00:00:00Z') >= contactMs;

/** Pure. Undefined where nothing is to be written. */
export function afterReading(node: NodeDocument, reading: Power | null, at: Date): NodeChange | undefined {
  const healed = node.fault === 'power failure' || (node.fault === identityFault && node.foreign !== null);
  const calm = node.poll.failures === 0 && !healed && !isContactOld(node, at);
  if (calm && reading === node.power && node.poll.reading === reading) return undefined;
  const believed = reading !== null && (reading === node.poll.reading || node.power === null);
  return {
    poll: { failures: 0, reading, answered_at: at.toISOString(), tried_at: at.toISOString() },
    ...(believed && { power: reading }),
    ...(healed && { fault: null, fault_since: null, foreign: null, ...errorAfterReading(node, null) }),
  };
}

/** The error of a state after a failure stays. That of the reading is in `poll`. */
const errorAfterReading = ({ state }: NodeDocument, error: Failure | null): NodeChange =>
  failedStates.includes(state) ? {} : { last_error: error };

/** Pure. Undefined where nothing is to be written. @param answeredAt the last answer that this replica has seen. */
export function afterMiss(
  node: NodeDocument,
  error: unknown,
  { at, answeredAt }: { at: Date; answeredAt?: string | null },
): NodeChange | undefined {
  const tried = { tried_at: at.toISOString(), error: toFailure(error) };
  const other = identityChange(node, error, at);
  if (other) {
    const known = node.fault === identityFault && node.last_error?.message === other.last_error?.message;
    if (known && !isContactOld(node, at)) return undefined;
    return { ...other, poll: { failures: 0, reading: null, answered_at: at.toISOString(), ...tried } };
  }
  const failures = node.poll.failures + 1;
  const struck = failures >= strikes && node.fault === null;
  return {
    poll: { failures, reading: null, answered_at: answeredAt ?? node.poll.answered_at ?? null, ...tried },
    // The last power state may be outdated, so show it as unknown.
    ...(failures >= strikes && { power: null, ...errorAfterReading(node, toFailure(error)) }),
    ...(struck && { fault: 'power failure', fault_since: at.toISOString() }),
  };
}

/**
 * The parts of a node that readings need. Thousands are watched, and the user data of a server may have many KiB. What a
 * reading decides is applied to the whole node of the store.
 */
export function watchedPart(node: NodeDocument): NodeDocument {
  const { history: _history, declared: _declared, extra: _extra, plan: _plan, warnings: _warnings, ...kept } = node;
  const { capabilities } = node.properties;
  return {
    ...kept,
    properties: capabilities === undefined ? {} : { capabilities },
    instance_info: {},
    facts: {},
    origin: null,
    boot: null,
    outbox: [],
  };
}

export interface PowerPollOptions {
  readonly context: ServiceContext;
  readonly records: NodeRecords;
  readonly bmcs: Bmcs;
  readonly everyMs: number;
  /** Whether to follow the events of controllers. */
  readonly events: boolean;
  /** Interval between readings of the sensors. 0: none. */
  readonly sensorsMs: number;
  readonly onHealed: () => void;
}

interface Watched {
  /** The node at the last sweep, reading or change of state. */
  node: NodeDocument;
  /** Undefined during a reading. */
  timer: NodeJS.Timeout | undefined;
  /** An event came during a reading. */
  again: boolean;
  /** The start of the last reading, of a clock that never goes back. */
  begun: number;
}

export class PowerPoll {
  readonly #options: PowerPollOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #lanes = {
    well: new TaskLane(lanes.well),
    suspect: new TaskLane(lanes.suspect),
    sensors: new TaskLane(lanes.sensors),
  };
  readonly #inHand = new Set<Promise<void>>();
  /** The slots that this replica holds. */
  readonly #slots = new Set<number>();
  readonly #streams: EventStreams;
  readonly #sensors: SensorMetrics;
  readonly #holds: Consumer[] = [];
  #sweeping: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: PowerPollOptions) {
    this.#options = options;
    this.#sensors = new SensorMetrics({ metrics: options.context.metrics, everyMs: options.sensorsMs });
    this.#streams = new EventStreams({
      bmcs: options.bmcs,
      log: options.context.log,
      now: () => performance.now(),
      onEvents: (address, origins) => this.#readSoon(address, origins),
    });
  }

  async start(): Promise<void> {
    const { context, records, bmcs, events } = this.#options;
    records.onStateChange((after) => this.#see(after));
    bmcs.onAnswer((node) => {
      // Not the node of the turn, which may be large: a stream keeps it for days.
      const watched = this.#watched.get(node.id);
      if (events && watched) this.#streams.keep(watched.node);
    });
    if (events) {
      // Without a group: each replica reads the nodes that it polls.
      const reported = on(bmcReported, async ({ data: { address, event } }) =>
        this.#readSoon(address, originsOf(event)),
      );
      this.#holds.push(await context.bus.subscribe([bmcReported.type], routeMessages([reported])));
    }
    this.#sweepIn();
    const held = Array.from({ length: slots }, (_, slot) =>
      context.bus.hold(`provisioning.power-poll.${slot}`, (has) => (has ? this.#gain(slot) : this.#lose(slot))),
    );
    this.#holds.push(...(await Promise.all(held)));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#sensors.stop();
    clearTimeout(this.#sweeping);
    clearTimeout(this.#soon);
    for (const { timer } of this.#watched.values()) clearTimeout(timer);
    await Promise.all([this.#streams.stop(), ...this.#inHand, ...this.#holds.map((hold) => hold.stop())]);
  }

  #gain(slot: number): void {
    this.#slots.add(slot);
    // One sweep for all slots that are gained together.
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      if (!this.#stopped) this.#run(this.#sweep(), unlisted);
    });
  }

  #lose(slot: number): void {
    this.#slots.delete(slot);
    for (const [id, { timer }] of this.#watched) {
      if (slotOf(id) !== slot) continue;
      clearTimeout(timer);
      this.#watched.delete(id);
      this.#sensors.forget(id);
    }
  }

  #sweepIn(): void {
    if (this.#stopped) return;
    this.#sweeping = setTimeout(() => {
      this.#run(
        this.#sweep().finally(() => this.#sweepIn()),
        unlisted,
      );
    }, this.#options.everyMs);
    this.#sweeping.unref();
  }

  /** Updates the list of nodes, including changes by other replicas. */
  async #sweep(): Promise<void> {
    if (this.#slots.size === 0) return;
    const present = new Set<string>();
    const addresses = new Set<string>();
    for await (const page of this.#options.records.pages()) {
      for (const node of page) {
        present.add(node.id);
        addresses.add(node.address);
        this.#see(node);
      }
    }
    for (const [id, { timer }] of this.#watched) {
      if (present.has(id)) continue;
      clearTimeout(timer);
      this.#watched.delete(id);
      this.#options.bmcs.forget(id);
      this.#sensors.forget(id);
    }
    this.#streams.retain(new Set([...this.#watched.values()].map(({ node }) => node.address)), addresses);
  }

  /** L5 */
  #readSoon(address: string, origins: readonly string[]): void {
    const there = [...this.#watched.values()].map(({ node }) => node).filter((node) => node.address === address);
    for (const { id } of nodesAbout(there, origins)) {
      const watched = this.#watched.get(id);
      if (!watched) continue;
      clearTimeout(watched.timer);
      if (watched.timer === undefined) watched.again = true;
      else this.#readAgain(watched);
    }
  }

  #readAgain(watched: Watched): void {
    this.#readIn(watched, Math.max(0, watched.begun + leastGapMs - performance.now()));
  }

  #see(node: NodeDocument): void {
    // A node without a machine has no power outside its document.
    if (!hasMachine(node)) return;
    const known = this.#watched.get(node.id);
    if (known) {
      if (node.version <= known.node.version) return;
      const isCorrected = known.node.poll.failures > 0 && !isSameAccess(known.node, node);
      known.node = watchedPart(node);
      // L6
      if (isCorrected && known.timer) {
        clearTimeout(known.timer);
        this.#readAgain(known);
      }
      return;
    }
    if (!this.#slots.has(slotOf(node.id))) return;
    const watched: Watched = { node: watchedPart(node), timer: undefined, again: false, begun: -Infinity };
    this.#watched.set(node.id, watched);
    // Spread the readings of nodes that were found together.
    this.#readAtBeat(watched, Math.random() * this.#options.everyMs);
  }

  #readAtBeat(watched: Watched, ms: number): void {
    const { everyMs } = this.#options;
    this.#readIn(watched, pauseUntilBeat(ms, { now: performance.now(), everyMs }));
  }

  #readIn(watched: Watched, ms: number): void {
    if (this.#stopped || this.#watched.get(watched.node.id) !== watched) return;
    watched.timer = setTimeout(() => {
      watched.timer = undefined;
      this.#run(this.#turn(watched), 'power reading not recorded; retrying at the next interval');
    }, ms);
    watched.timer.unref();
  }

  #run(work: Promise<void>, failed: string): void {
    const inHand = work
      .catch((error: unknown) => this.#options.context.log.error({ err: error }, failed))
      .finally(() => this.#inHand.delete(inHand));
    this.#inHand.add(inHand);
  }

  async #turn(watched: Watched): Promise<void> {
    const { everyMs } = this.#options;
    // At most the interval, so that a change is noticed within it. The spread keeps nodes from one common round.
    const spread = 0.92 + Math.random() * 0.08;
    watched.begun = performance.now();
    watched.again = false;
    let confirm = false;
    try {
      const { node } = watched;
      const lane = isSuspect(node) ? this.#lanes.suspect : this.#lanes.well;
      if (isAtRest(node)) {
        confirm = await lane.run(() => this.#read(watched));
        this.#readSensors(watched);
      }
    } finally {
      if (watched.again) this.#readAgain(watched);
      else if (confirm) this.#readIn(watched, Math.min(longestConfirmMs, everyMs / 4));
      else {
        const pause = readingIntervalMs(watched.node, everyMs) * spread;
        this.#readAtBeat(watched, Math.max(pause - (performance.now() - watched.begun), everyMs / 10));
      }
    }
  }

  /** Reads the sensors when they are due, beside the readings of power. The sensors of a BMC that does not answer are unknown. */
  #readSensors({ node }: Watched): void {
    const { bmcs } = this.#options;
    if (this.#stopped || !this.#sensors.isDue(node.id, performance.now())) return;
    const read = async (): Promise<void> => {
      if (bmcs.isBusy(node)) return;
      const options = { withinMs: sensorsTurnMs, tries: 1 };
      const found = isSuspect(node)
        ? undefined
        : await bmcs.with(node, (machine) => machine.sensors(), options).catch(unlessDefect);
      if (this.#watched.has(node.id)) this.#sensors.keep(node.id, { node: node.name, sensors: found });
    };
    this.#run(this.#lanes.sensors.run(read), 'sensors not read; retrying at the next interval');
  }

  /** True when a second reading must confirm this one soon. */
  async #read(watched: Watched): Promise<boolean> {
    const { records, bmcs, context, onHealed, everyMs } = this.#options;
    const { node } = watched;
    if (this.#stopped || bmcs.isBusy(node)) return false;
    const withinMs = Math.min(longestTryMs, Math.max(shortestTryMs, everyMs / 2));
    let decide: (current: NodeDocument) => NodeChange | undefined;
    try {
      const reading = await bmcs.with(node, (machine) => machine.power(), { withinMs, tries: 1 });
      decide = (current) => afterReading(current, reading, context.now());
    } catch (error) {
      // Interrupted by the stop of this service, or by work that began meanwhile.
      if (this.#stopped || !(error instanceof AnnealError)) return false;
      decide = (current) => {
        const { last_contact: answeredAt } = bmcHealth(current, bmcs.contactOf(node.id));
        return afterMiss(current, error, { at: context.now(), answeredAt });
      };
    }
    if (decide(watched.node) === undefined) return false;
    // Skip a node whose work began meanwhile, because that work knows the power better.
    const changed = await records.change(node.id, (current) => (isAtRest(current) ? decide(current) : undefined));
    if (!changed) return false;
    watched.node = watchedPart(changed);
    if (node.fault !== null && changed.fault === null) onHealed();
    return changed.poll.reading !== null && changed.poll.reading !== changed.power;
  }
}

function unlessDefect(error: unknown): undefined {
  if (!(error instanceof AnnealError)) throw error;
}

const isAtRest = (node: NodeDocument): boolean => node.state !== 'enroll' && !node.work && !node.maintenance;

/** Whether both reach the same controller in the same way. */
const isSameAccess = (one: NodeDocument, other: NodeDocument): boolean =>
  (['driver', 'address', 'system_id', 'username', 'password', 'verify_ca', 'ipmi'] as const).every((field) =>
    isDeepStrictEqual(one[field], other[field]),
  );

const isSuspect = ({ poll, fault }: NodeDocument): boolean => poll.failures > 0 || fault === 'power failure';
