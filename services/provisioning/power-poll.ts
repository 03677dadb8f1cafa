/**
 * Reads the power of every node at rest, each by its own timer.
 *
 * L1 A change is believed when two readings in a row agree, because controllers misread. The second comes soon.
 * L2 Three failed readings mark the node with a fault; one that succeeds takes it away again.
 * L3 A reading is one short try. A controller that missed one is read in a lane of its own, so that controllers that hang
 *    never take the places of those that answer. Nothing waits for all.
 * L4 A controller that shows another machine is a fault at once, until the right one, or an operator, is back.
 */
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { Bmcs } from './bmcs.ts';
import { Lane } from './lane.ts';
import type { NodeDocument, Power } from './node-document.ts';
import { identityChange, identityFault } from './node-faults.ts';
import type { NodeChange, NodeRecords } from './node-records.ts';

export const strikes = 3;
/** Readings at the same time: of controllers that answer, and of those that missed. */
const lanes = { well: 64, suspect: 64 } as const;
const shortestTryMs = 2_000;
const longestTryMs = 10_000;
const longestConfirmMs = 3_000;

/** Pure. Undefined where nothing is to be written. */
export function afterReading(node: NodeDocument, reading: Power | null): NodeChange | undefined {
  const healed = node.fault === 'power failure' || (node.fault === identityFault && node.foreign !== null);
  const calm = node.poll.failures === 0 && !healed;
  if (calm && reading === node.power && node.poll.reading === reading) return undefined;
  const believed = reading !== null && (reading === node.poll.reading || node.power === null);
  return {
    poll: { failures: 0, reading },
    ...(believed && { power: reading }),
    ...(healed && { fault: null, fault_since: null, foreign: null, last_error: null }),
  };
}

/** Pure. Undefined where nothing is to be written. */
export function afterMiss(node: NodeDocument, error: unknown, at: Date): NodeChange | undefined {
  const other = identityChange(node, error, at);
  if (other) {
    const known = node.fault === identityFault && node.last_error?.message === other.last_error?.message;
    return known ? undefined : { ...other, poll: { failures: 0, reading: null } };
  }
  const failures = Math.min(node.poll.failures + 1, strikes);
  const struck = failures >= strikes && node.fault === null;
  return {
    poll: { failures, reading: null },
    // What it was is not what it is: unknown is shown as unknown.
    ...(failures >= strikes && { power: null, last_error: toFailure(error) }),
    ...(struck && { fault: 'power failure', fault_since: at.toISOString() }),
  };
}

export interface PowerPollOptions {
  readonly context: ServiceContext;
  readonly records: NodeRecords;
  readonly bmcs: Bmcs;
  readonly everyMs: number;
  readonly onHealed: () => void;
}

interface Watched {
  /** As of the last sweep, reading or change of state. */
  node: NodeDocument;
  timer: NodeJS.Timeout | undefined;
}

export class PowerPoll {
  readonly #options: PowerPollOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #lanes = { well: new Lane(lanes.well), suspect: new Lane(lanes.suspect) };
  readonly #inHand = new Set<Promise<void>>();
  #sweeping: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: PowerPollOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.records.onStateChange((after) => this.#see(after));
    this.#sweepIn(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#sweeping);
    for (const { timer } of this.#watched.values()) clearTimeout(timer);
    await Promise.all(this.#inHand);
  }

  #sweepIn(ms: number): void {
    if (this.#stopped) return;
    this.#sweeping = setTimeout(() => {
      this.#run(
        this.#sweep().finally(() => this.#sweepIn(this.#options.everyMs)),
        'the nodes to poll could not be listed; retrying at the next interval',
      );
    }, ms);
    this.#sweeping.unref();
  }

  /** Which nodes there are, and what other replicas wrote of them. */
  async #sweep(): Promise<void> {
    const all = await this.#options.records.all();
    const present = new Set(all.map(({ id }) => id));
    for (const [id, { timer }] of this.#watched) {
      if (present.has(id)) continue;
      clearTimeout(timer);
      this.#watched.delete(id);
    }
    for (const node of all) this.#see(node);
  }

  #see(node: NodeDocument): void {
    const known = this.#watched.get(node.id);
    if (known) {
      if (node.version > known.node.version) known.node = node;
      return;
    }
    const watched: Watched = { node, timer: undefined };
    this.#watched.set(node.id, watched);
    // Nodes that were found together are not read together, nor at the same moment by each replica.
    this.#readIn(watched, Math.random() * this.#options.everyMs);
  }

  #readIn(watched: Watched, ms: number): void {
    if (this.#stopped || this.#watched.get(watched.node.id) !== watched) return;
    watched.timer = setTimeout(() => {
      this.#run(this.#turn(watched), 'a reading of the power could not be recorded; retrying at the next interval');
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
    const pause = everyMs * (0.95 + Math.random() / 10);
    const begun = performance.now();
    let confirm = false;
    try {
      const { node } = watched;
      const lane = isSuspect(node) ? this.#lanes.suspect : this.#lanes.well;
      if (isAtRest(node)) confirm = await lane.run(() => this.#read(watched));
    } finally {
      const next = confirm ? Math.min(longestConfirmMs, everyMs / 4) : pause - (performance.now() - begun);
      this.#readIn(watched, Math.max(next, everyMs / 10));
    }
  }

  /** True when the reading is to be confirmed soon. */
  async #read(watched: Watched): Promise<boolean> {
    const { records, bmcs, context, onHealed, everyMs } = this.#options;
    const { node } = watched;
    if (this.#stopped || bmcs.isBusy(node)) return false;
    const withinMs = Math.min(longestTryMs, Math.max(shortestTryMs, everyMs / 2));
    let decide: (current: NodeDocument) => NodeChange | undefined;
    try {
      const reading = await bmcs.with(node, (machine) => machine.power(), { withinMs, tries: 1 });
      decide = (current) => afterReading(current, reading);
    } catch (error) {
      // Cut off: by our stop, or by work that began meanwhile.
      if (this.#stopped || !(error instanceof AnnealError)) return false;
      decide = (current) => afterMiss(current, error, context.now());
    }
    if (decide(watched.node) === undefined) return false;
    // Work that began meanwhile knows the power better.
    const changed = await records.change(node.id, (current) => (isAtRest(current) ? decide(current) : undefined));
    if (!changed) return false;
    watched.node = changed;
    if (node.fault !== null && changed.fault === null) onHealed();
    return changed.poll.reading !== null && changed.poll.reading !== changed.power;
  }
}

const isAtRest = (node: NodeDocument): boolean => node.state !== 'enroll' && !node.work && !node.maintenance;

const isSuspect = ({ poll, fault }: NodeDocument): boolean => poll.failures > 0 || fault === 'power failure';
