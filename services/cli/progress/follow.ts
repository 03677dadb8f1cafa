/**
 * Follows a stack until its action has ended.
 *
 * F1. Events only trigger a read; the view shows what the API returns at that moment. A lost event costs one second and
 *     never makes the view wrong.
 * F2. It ends when the stack is no longer in progress or is deleted. Aborting it does not stop the stack.
 * F3. It waits for a server that stops answering, and shows the missed events when the server is back.
 * F4. When nothing happens, it reports what the stack waits for, and again when that changes, because the log of a
 *     pipeline has no other way to say it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@anneal/client/connect.ts';
import type { Resource, Stack, StackEventRow } from '@anneal/client/representation.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import { Silence } from './silence.ts';

export interface StackProgress {
  stack: Stack;
  resources: readonly Resource[];
  /** Events since the last read, oldest first. */
  events: readonly StackEventRow[];
  /** True at the last read. */
  ended: boolean;
}

/** Minimum time between two reads, so that a burst of events causes one read. */
const shortestGap = 150;
/** Time between two reads without events. */
const longestGap = 1000;
/** The deepest nested stacks that are shown. */
const deepest = 10;
/** How long to wait for a server. A server that restarts is back sooner. */
const longestOutage = 120_000;

export async function followStack(parameters: {
  client: Client;
  stackId: string;
  /** The last event of the stack before the followed action. Absent when there was none. */
  after?: string | undefined;
  signal: AbortSignal;
  onProgress: (progress: StackProgress) => void;
  /** Called once when the server stops answering, and once, without an error, when it answers again. */
  onOutage?: ((error: AnnealError | undefined) => void) | undefined;
  /** F4 */
  onReason?: ((reason: string) => void) | undefined;
}): Promise<Stack> {
  const { client, stackId, signal, onProgress, onOutage, onReason } = parameters;
  const silence = new Silence(performance.now());
  const streaming = new AbortController();
  const stopped = AbortSignal.any([signal, streaming.signal]);
  const nudge = createNudge();
  // The stream is optional (F1): without it, a read per second still shows everything.
  const stream = watch(client, stackId, { signal: stopped, ring: nudge.ring }).catch(() => undefined);
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
      if (events.length > 0) silence.break(performance.now());
      else if (onReason && silence.isDue(performance.now())) {
        // Only a help: the stack goes on, whatever the server answers.
        const reason = await client.actions.why({ stack: stackId }).catch(() => undefined);
        if (reason && silence.isNew(reason.summary)) onReason(reason.summary);
      }
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

async function look({ client, stackId, marker, signal }: Look): Promise<Omit<StackProgress, 'ended'>> {
  // Read the stack first, so that resources and events are never older than its end.
  const stack = await client.stacks.show({ stack: stackId, outputs: false, signal });
  const gone = stack.stack_status === 'DELETE_COMPLETE';
  const [resources, events] = await Promise.all([
    gone ? [] : client.stacks.resources({ stack: stackId, depth: deepest, signal }).catch(ignoreNotFound),
    client.stacks.events({ stack: stackId, marker, limit: 1000 }).catch(ignoreNotFound),
  ]);
  // Empty when the stack was deleted between two calls. The next read reports its end.
  return { stack, resources: resources ?? [], events: events ?? [] };
}

/** F3. Retries a read while the server restarts. The action of the stack does not depend on this watcher. */
async function lookUntilAnswered(
  parameters: Look & { onOutage: ((error: AnnealError | undefined) => void) | undefined },
): Promise<Omit<StackProgress, 'ended'>> {
  const { signal, onOutage } = parameters;
  const patience = Date.now() + longestOutage;
  let isOutageReported = false;
  for (;;) {
    try {
      const seen = await look(parameters);
      if (isOutageReported) onOutage?.(undefined);
      return seen;
    } catch (error) {
      const passing = error instanceof AnnealError && error.kind === 'retry';
      if (!passing || signal.aborted || Date.now() > patience) throw error;
      if (!isOutageReported) onOutage?.(error);
      isOutageReported = true;
      await delay(longestGap / 2, undefined, { signal });
    }
  }
}

async function watch(
  client: Client,
  stackId: string,
  { signal, ring }: { signal: AbortSignal; ring: () => void },
): Promise<void> {
  const types = ['stack.#', 'resource.#', 'deployment.#'];
  // The reads report an outage (F3), so the stream is silent.
  for await (const { data } of client.events.follow({ types, signal, onBreak: () => undefined })) {
    if (typeof data === 'object' && data !== null && 'stack_id' in data && data.stack_id === stackId) ring();
  }
}

/** Remembers a ring until the next wait, so that none is lost between two waits. */
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
