/**
 * Reads the power of every node at rest.
 *
 * L1 A change is believed when two readings in a row agree: controllers misread.
 * L2 Three failed readings mark the node with a fault; one that succeeds takes it away again.
 */
import { toFailure } from '@anneal/contracts/errors.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { Bmcs } from './bmcs.ts';
import type { NodeDocument, Power } from './node-document.ts';
import type { NodeChange, NodeRecords } from './node-records.ts';

export const strikes = 3;
const parallel = 16;

/** Pure. Undefined where nothing is to be written. */
export function afterReading(node: NodeDocument, reading: Power | null): NodeChange | undefined {
  const healed = node.fault === 'power failure';
  const calm = node.poll.failures === 0 && !healed;
  if (calm && reading === node.power && node.poll.reading === reading) return undefined;
  const believed = reading !== null && (reading === node.poll.reading || node.power === null);
  return {
    poll: { failures: 0, reading },
    ...(believed && { power: reading }),
    ...(healed && { fault: null, fault_since: null, last_error: null }),
  };
}

/** Pure. */
export function afterMiss(node: NodeDocument, error: unknown, at: Date): NodeChange {
  const failures = Math.min(node.poll.failures + 1, strikes);
  const struck = failures >= strikes && node.fault === null;
  return {
    poll: { failures, reading: null },
    // What it was is not what it is: unknown is shown as unknown.
    ...(failures >= strikes && { power: null, last_error: toFailure(error) }),
    ...(struck && { fault: 'power failure', fault_since: at.toISOString() }),
  };
}

export class PowerPoll {
  readonly #options: {
    context: ServiceContext;
    records: NodeRecords;
    bmcs: Bmcs;
    everyMs: number;
    onHealed: () => void;
  };
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: {
    context: ServiceContext;
    records: NodeRecords;
    bmcs: Bmcs;
    everyMs: number;
    onHealed: () => void;
  }) {
    this.#options = options;
  }

  start(): void {
    if (this.#stopped) return;
    // Not all replicas, and not all nodes after a common start, at the same moment.
    const pause = this.#options.everyMs * (0.9 + Math.random() / 5);
    this.#timer = setTimeout(() => {
      this.#round = this.round()
        .catch((error: unknown) =>
          this.#options.context.log.error(
            { err: error },
            'the power could not be polled; it is tried at the next round',
          ),
        )
        .finally(() => this.start());
    }, pause);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  /** Every node once; slow ones do not hold up the others. */
  async round(): Promise<void> {
    const { records, bmcs } = this.#options;
    const nodes = (await records.all()).filter(
      (node) => node.state !== 'enroll' && !node.work && !node.maintenance && !bmcs.isBusy(node),
    );
    const next = nodes.values();
    await Promise.all(
      Array.from({ length: parallel }, async () => {
        for (const node of next) if (!this.#stopped) await this.#read(node);
      }),
    );
  }

  async #read(node: NodeDocument): Promise<void> {
    const { records, bmcs, context } = this.#options;
    let decide: (current: NodeDocument) => NodeChange | undefined;
    try {
      const reading = await bmcs.with(node, (machine) => machine.power());
      decide = (current) => afterReading(current, reading);
    } catch (error) {
      if (this.#stopped) return;
      decide = (current) => afterMiss(current, error, context.now());
    }
    // Work that began meanwhile knows the power better.
    const changed = await records.change(node.id, (current) => (current.work ? undefined : decide(current)));
    if (changed && node.fault !== null && changed.fault === null) this.#options.onHealed();
  }
}
