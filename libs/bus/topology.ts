/**
 * The version of the topology on a broker, kept in the store that all its processes share.
 *
 * V1 A process does not start on a newer topology than it knows.
 * V2 One process migrates an older topology; the others that start meanwhile wait for it.
 * V3 When that process dies, another repeats the step: steps are idempotent. A process is dead when its record does not
 *    change for a while by the watcher's own clock. Clocks are never compared.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { insertOnce } from '@anneal/store/change.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { BusLog } from './bus-log.ts';

interface Topology extends Document {
  readonly topology: number;
  /** The process that migrates it now. */
  readonly by: string | null;
}

/** The system on a broker whose layout is guarded, and the process that guards it. */
export interface TopologyOptions {
  readonly store: Store;
  /** One per system on a broker, e.g. `rabbitmq:<prefix>`. */
  readonly id: string;
  /** This process. */
  readonly by: string;
  /**
   * The first step migrates version 1 to version 2, and so on. The number of steps gives the version that this build
   * knows.
   */
  readonly steps: readonly (() => Promise<void>)[];
  readonly log: BusLog;
  /** After this time without a change, the migrating process counts as dead. */
  readonly silenceMs?: number;
}

const lookMs = 100;

/** @throws AnnealError NotSupported on a newer topology. */
export async function bringForward(options: TopologyOptions): Promise<void> {
  const { store, id, by, steps, log, silenceMs = 10_000 } = options;
  const known = steps.length + 1;
  const records = await store.collection<Topology>({ name: 'bus_topology', indexes: [] });
  for (let seen = 0, seenAt = performance.now(); ;) {
    const found = await records.get(id);
    if (!found) {
      if (await insertOnce(records, { id, topology: known, by: null })) return;
      continue;
    }
    if (found.topology > known) {
      throw new AnnealError(
        'NotSupported',
        `The broker topology is version ${found.topology}; this build supports up to ${known}. Start a newer build.`,
      );
    }
    if (found.topology === known) return;
    if (found.version !== seen) [seen, seenAt] = [found.version, performance.now()];
    if (found.by !== null && found.by !== by && performance.now() - seenAt < silenceMs) {
      await new Promise((resolve) => void setTimeout(resolve, lookMs));
      continue;
    }
    const claimed = await records.replace({ ...found, by }, found.version);
    if (!claimed) continue;
    log.info({ from: found.topology, to: known }, 'migrating broker topology');
    await migrate({ records, claimed, steps, beatMs: silenceMs / 4 });
  }
}

/** Ends early when another process has taken over: the caller looks again. */
async function migrate(parameters: {
  records: Collection<Topology>;
  claimed: Topology;
  steps: TopologyOptions['steps'];
  beatMs: number;
}): Promise<void> {
  const { records, steps, beatMs } = parameters;
  let held: Topology | undefined = parameters.claimed;
  const write = async (change: Partial<Topology>): Promise<void> => {
    if (held) held = await records.replace({ ...held, ...change }, held.version);
  };
  for (const [index, step] of steps.entries()) {
    if (index + 1 < parameters.claimed.topology) continue;
    const ended = new AbortController();
    const beating = beat(() => write({}), beatMs, ended.signal);
    try {
      await step();
    } catch (error) {
      ended.abort();
      await beating;
      // The next process need not wait for this one to time out.
      await write({ by: null });
      throw error;
    }
    ended.abort();
    await beating;
    if (!held) return;
    await write({ topology: index + 2, ...(index + 1 === steps.length && { by: null }) });
  }
}

/** Writes one beat after another, never at the same time as the write that follows. */
async function beat(write: () => Promise<void>, everyMs: number, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, everyMs);
      until.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });
    // A failed beat is followed by the next one. A process that stays silent for too long is replaced.
    if (!until.aborted) await write().catch(() => undefined);
  }
}
