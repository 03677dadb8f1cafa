/**
 * While the store cannot be used, no work is taken: a handler would only fail, and after some minutes of that messages
 * would be dead letters that nothing is wrong with.
 *
 * G1 A handler that fails because the store is gone has not used up an attempt: it runs again when the store is back.
 * G2 What is in hand meanwhile stays in hand, as many as a consumer may hold, and goes back when the consumer stops.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { Handler } from '@anneal/bus/port.ts';
import type { Blobs, Store } from '@anneal/store/port.ts';

export interface StoreGate {
  /** The handler, held back while the store is gone. */
  guard(handler: Handler): Handler;
  /** The same for what is read to deliver a message at all. */
  readonly blobs: Blobs;
  /** Nobody waits for the store any longer. */
  close(): void;
}

const lookMs = 250;

export function createStoreGate(options: {
  store: Pick<Store, 'check' | 'blobs'>;
  log: { warn(facts: object, text: string): void; info(facts: object, text: string): void };
}): StoreGate {
  const { store, log } = options;
  const closing = new AbortController();
  /** Set while the store is gone; resolves when it is back. */
  let gone: Promise<void> | undefined;
  let asking: Promise<unknown> | undefined;

  const untilBack = async (reason: unknown): Promise<void> => {
    const since = performance.now();
    log.warn(
      { error: toFailure(reason).message },
      'the store cannot be used: no work is taken until it is back; what is in hand is done again then',
    );
    while (!closing.signal.aborted) {
      await delay(lookMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
      try {
        await store.check();
        break;
      } catch {
        // It is looked at again.
      }
    }
    gone = undefined;
    if (closing.signal.aborted) return;
    log.info({ seconds: Math.round((performance.now() - since) / 1000) }, 'the store is back: work goes on');
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

  /** Whether the error may be the store's, and the store says so when it is asked. */
  const isGone = async (thrown: unknown): Promise<boolean> => {
    if (!(thrown instanceof AnnealError) || thrown.kind !== 'retry' || closing.signal.aborted) return false;
    // Many handlers fail at the same time; one question answers them all.
    asking ??= askStore();
    await asking;
    return gone !== undefined;
  };

  const patiently = async <R>(run: () => Promise<R>, signal?: AbortSignal): Promise<R> => {
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
    guard: (handler) => (delivery) => patiently(() => handler(delivery), delivery.signal),
    blobs: {
      put: (content) => store.blobs.put(content),
      get: (hash) => patiently(() => store.blobs.get(hash)),
      getText: (hash) => patiently(() => store.blobs.getText(hash)),
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
