/**
 * Takes no work while the store cannot be used. A handler would only fail, and after some minutes healthy messages
 * would become dead letters.
 *
 * G1 A handler that fails because the store is away has not used an attempt: it runs again when the store is back.
 * G2 Meanwhile a consumer keeps its messages, up to its limit, and gives them back when it stops.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Handler } from '@anneal/bus/port.ts';
import type { Blobs, Store } from '@anneal/store/port.ts';

/** The gate before the handlers of a process. */
export interface StoreGate {
  /** The handler, held back while the store is away. */
  guard(handler: Handler): Handler;
  /** The same for blobs that are read to deliver a message at all. */
  readonly blobs: Blobs;
  /** Ends all waits for the store. */
  close(): void;
}

const lookMs = 250;

/** The gate before the handlers of a process (G1, G2). */
export function createStoreGate(options: {
  store: Pick<Store, 'check' | 'blobs'>;
  log: { warn(facts: object, text: string): void; info(facts: object, text: string): void };
}): StoreGate {
  const { store, log } = options;
  const closing = new AbortController();
  /** Set while the store is away; resolves when it is back. */
  let gone: Promise<void> | undefined;
  let asking: Promise<unknown> | undefined;

  const untilBack = async (reason: unknown): Promise<void> => {
    const since = performance.now();
    log.warn(
      { error: toFailure(reason).message },
      'store not available; no new work until it is back, work in progress is retried then',
    );
    while (!closing.signal.aborted) {
      await delay(lookMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
      try {
        await store.check();
        break;
      } catch {
        // The loop checks again.
      }
    }
    gone = undefined;
    if (closing.signal.aborted) return;
    log.info({ seconds: Math.round((performance.now() - since) / 1000) }, 'store is back; work continues');
  };

  const askStore = async (): Promise<void> => {
    try {
      await store.check();
    } catch (reason) {
      gone ??= untilBack(reason);
    } finally {
      asking = undefined;
    }
  };

  /** True when the error may come from the store and a check confirms that it is away. */
  const isGone = async (thrown: unknown): Promise<boolean> => {
    if (!(thrown instanceof AnnealError) || thrown.kind !== 'retry' || closing.signal.aborted) return false;
    // Many handlers fail at the same time; one check serves them all.
    asking ??= askStore();
    await asking;
    return gone !== undefined;
  };

  const withRetries = async <R>(run: () => Promise<R>, signal?: AbortSignal): Promise<R> => {
    for (;;) {
      if (gone) await aborted(gone, signal);
      signal?.throwIfAborted();
      try {
        return await run();
      } catch (error) {
        if (signal?.aborted || !(await isGone(error))) throw error;
      }
    }
  };

  return {
    guard: (handler) => (delivery) => withRetries(() => handler(delivery), delivery.signal),
    blobs: {
      put: (content) => store.blobs.put(content),
      get: (hash) => withRetries(() => store.blobs.get(hash)),
      getText: (hash) => withRetries(() => store.blobs.getText(hash)),
      remove: (hashes, putBefore) => store.blobs.remove(hashes, putBefore),
    },
    close: () => closing.abort(),
  };
}

/** Resolves when the wait is over, or the signal is aborted. */
async function aborted(wait: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return wait;
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = (): void => resolve();
  signal.addEventListener('abort', end, { once: true });
  await Promise.race([wait, promise]);
  signal.removeEventListener('abort', end);
}
