/** Follows a queue: sends each message once when it appears, as server-sent events. */
import type { Bus } from '@anneal/bus/port.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Ask } from '../ask.ts';
import { queueKey, type Wakeups } from '../wakeups.ts';
import type { Stream } from '../http/event-stream.ts';
import { peekStore } from './find-queue.ts';

export interface WatchOptions {
  ask: Ask;
  bus: Bus;
  secrets: Secrets;
  wakeups: Wakeups;
  heartbeatMs: number;
}

/** Poll interval for watchers of a service queue, because the bus has no event for an arriving message. */
const watchBusMs = 250;
/** Poll interval for a queue of the store, whose event ends the wait earlier. */
const watchStoreMs = 1000;
const most = 1000;

export function watchBusQueue(options: WatchOptions, stream: Stream, queue: string): Promise<void> {
  return watch(options, stream, {
    peek: () => options.bus.queues.peek(queue, most),
    pause: () => sleep(watchBusMs, stream.signal),
  });
}

export async function watchStoreQueue(
  options: WatchOptions,
  stream: Stream,
  { project, queue }: { project: string; queue: string },
): Promise<void> {
  const listener = options.wakeups.listen(queueKey(project, queue));
  try {
    // A message may be claimed and deleted between two polls. The queue's own event keeps that window small.
    await watch(options, stream, {
      peek: () => peekStore(options.ask, { project, queue, most }),
      async pause() {
        await listener.next(watchStoreMs, stream.signal);
      },
    });
  } finally {
    listener.close();
  }
}

/** Sends each message that was absent at the previous poll. */
async function watch(
  { secrets, heartbeatMs }: WatchOptions,
  stream: Stream,
  { peek, pause }: { peek: () => Promise<{ id: string }[]>; pause: () => Promise<void> },
): Promise<void> {
  let seen = new Set<string>();
  let quietSince = performance.now();
  while (!stream.signal.aborted) {
    const messages = await peek();
    for (const message of messages) {
      if (seen.has(message.id)) continue;
      await stream.send({ id: message.id, data: secrets.mask(message) });
      quietSince = performance.now();
    }
    seen = new Set(messages.map(({ id }) => id));
    if (performance.now() - quietSince > heartbeatMs) {
      await stream.heartbeat();
      quietSince = performance.now();
    }
    await pause();
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
