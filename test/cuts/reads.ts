/** A client that reads all the time, and what it had to wait. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@anneal/client/connect.ts';

export interface Read {
  readonly at: number;
  readonly ms: number;
  /** The reason when it failed. */
  readonly error?: string;
}

const everyMs = 100;

/** Reads the list of the stacks ten times a second, whether the reads before were answered or not, until it is stopped. */
export function startReads(client: Client): { readonly reads: readonly Read[]; stop(): Promise<void> } {
  const reads: Read[] = [];
  const waiting = new Set<Promise<void>>();
  const ending = new AbortController();
  const read = async (): Promise<void> => {
    const at = performance.now();
    try {
      await client.stacks.list();
      reads.push({ at, ms: performance.now() - at });
    } catch (error) {
      reads.push({ at, ms: performance.now() - at, error: error instanceof Error ? error.message : String(error) });
    }
  };
  const reading = (async () => {
    while (!ending.signal.aborted) {
      const one = read();
      waiting.add(one);
      void one.finally(() => waiting.delete(one));
      await delay(everyMs);
    }
  })();
  return {
    reads,
    async stop() {
      ending.abort();
      await reading;
      await Promise.all(waiting);
    },
  };
}

/** The reads that began in a time: how many, milliseconds in the usual percentiles, and the reasons of those that failed. */
export function summary(reads: readonly Read[], from: number, to: number) {
  const found = reads.filter(({ at }) => at >= from && at < to).toSorted((a, b) => a.ms - b.ms);
  const at = (share: number): number => Math.round(found[Math.ceil(share * found.length) - 1]?.ms ?? 0);
  const errors = found.flatMap(({ error, ms }) =>
    error === undefined ? [] : [`${error} (after ${Math.round(ms)} ms)`],
  );
  return { count: found.length, p50: at(0.5), p99: at(0.99), max: at(1), errors };
}
