/**
 * Follows a stack until what was asked of it has ended.
 *
 * F1. Events only say *when* to look; what is shown is what the API says at that moment. A lost event costs a second, never the truth.
 * F2. It ends when the stack is no longer in progress, or is gone. Aborting it leaves the stack working.
 * F3. A server that goes away is waited for; what happened meanwhile is told when it is back.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@anneal/client/connect.ts';
import type { Resource, Stack, StackEventRow } from '@anneal/client/representation.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';

export interface Progress {
  stack: Stack;
  resources: readonly Resource[];
  /** Those that are new since the last look, the first first. */
  events: readonly StackEventRow[];
  /** True at the last look. */
  ended: boolean;
}

/** Between two looks that events ask for: a burst of them is one look. */
const shortestGap = 150;
/** Between two looks without events. */
const longestGap = 1000;
/** Of nested stacks. */
const deepest = 10;
/** A server that does not come back within this is not being restarted. */
const longestOutage = 120_000;

export async function followStack(parameters: {
  client: Client;
  stackId: string;
  /** The last event of the stack before what is followed; absent when there was none. */
  after?: string | undefined;
  signal: AbortSignal;
  onProgress: (progress: Progress) => void;
  /** Told once when the server stops answering, and once when it does again (then without an error). */
  onOutage?: ((error: AnnealError | undefined) => void) | undefined;
}): Promise<Stack> {
  const { client, stackId, signal, onProgress, onOutage } = parameters;
  const streaming = new AbortController();
  const stopped = AbortSignal.any([signal, streaming.signal]);
  const nudge = createNudge();
  // The stream is an aid (F1): where it cannot be had, looking once a second still tells everything.
  const stream = watch(client, stackId, stopped, nudge.ring).catch(() => undefined);
  let marker = parameters.after;
  try {
    for (;;) {
      signal.throwIfAborted();
      const seen = await lookUntilAnswered({ client, stackId, marker, signal, onOutage });
      const { stack, resources, events } = seen;
      const ended = !stack.stack_status.endsWith('_IN_PROGRESS');
      marker = events.at(-1)?.id ?? marker;
      onProgress({ stack, resources, events, ended });
      if (ended) return stack;
      await delay(shortestGap, undefined, { signal });
      await nudge.wait(longestGap - shortestGap, signal);
    }
  } finally {
    streaming.abort();
    await stream;
  }
}

interface Look {
  client: Client;
  stackId: string;
  marker: string | undefined;
  signal: AbortSignal;
}

async function look({ client, stackId, marker, signal }: Look): Promise<Omit<Progress, 'ended'>> {
  // The stack is read first: what is read after an end cannot be older than it.
  const stack = await client.stacks.show({ stack: stackId, outputs: false, signal });
  const gone = stack.stack_status === 'DELETE_COMPLETE';
  const [resources, events] = await Promise.all([
    gone ? [] : client.stacks.resources({ stack: stackId, depth: deepest, signal }).catch(emptyWhenGone<Resource>),
    client.stacks.events({ stack: stackId, marker, limit: 1000 }).catch(emptyWhenGone<StackEventRow>),
  ]);
  return { stack, resources, events };
}

/** F3. The stack goes on without its watcher and without the server: one that is being restarted is waited for. */
async function lookUntilAnswered(
  parameters: Look & { onOutage: ((error: AnnealError | undefined) => void) | undefined },
): Promise<Omit<Progress, 'ended'>> {
  const { signal, onOutage } = parameters;
  const patience = Date.now() + longestOutage;
  let told = false;
  for (;;) {
    try {
      const seen = await look(parameters);
      if (told) onOutage?.(undefined);
      return seen;
    } catch (error) {
      const passing = error instanceof AnnealError && error.kind === 'retry';
      if (!passing || signal.aborted || Date.now() > patience) throw error;
      if (!told) onOutage?.(error);
      told = true;
      await delay(longestGap / 2, undefined, { signal });
    }
  }
}

/** A stack may be gone between two questions; its end is told by the first one of the next look. */
function emptyWhenGone<T>(error: unknown): T[] {
  if (error instanceof AnnealError && error.code === 'NotFound') return [];
  throw error;
}

async function watch(client: Client, stackId: string, signal: AbortSignal, ring: () => void): Promise<void> {
  for await (const { data } of client.events.follow({ types: ['stack.#', 'resource.#', 'deployment.#'], signal })) {
    if (typeof data === 'object' && data !== null && 'stack_id' in data && data.stack_id === stackId) ring();
  }
}

/** Remembers a ring until it is waited for, so that none is lost between two waits. */
function createNudge(): { ring: () => void; wait: (milliseconds: number, signal: AbortSignal) => Promise<void> } {
  let rung = Promise.withResolvers<void>();
  return {
    ring: () => rung.resolve(),
    async wait(milliseconds, signal) {
      const timer = new AbortController();
      await Promise.race([
        rung.promise,
        delay(milliseconds, undefined, { signal: AbortSignal.any([signal, timer.signal]) }).catch(() => undefined),
      ]);
      timer.abort();
      rung = Promise.withResolvers<void>();
    },
  };
}
