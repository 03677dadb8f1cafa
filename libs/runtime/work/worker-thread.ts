/**
 * The worker's side of a pool: takes jobs one by one, and asks the service's thread for data that only that thread has.
 */
import { parentPort } from 'node:worker_threads';
import { AnnealError, type Failure, fromFailure, toFailure } from '@anneal/contracts/errors.ts';

/** A message to a worker. */
export type ToWorker =
  | { readonly kind: 'job'; readonly task: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'refusal'; readonly id: number; readonly failure: Failure };

/** A message from a worker. */
export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'ask'; readonly id: number; readonly request: unknown }
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** Asks the service's thread. Array buffers in `moved` change hands instead of being copied. */
export type AskService = (request: unknown, moved?: readonly ArrayBuffer[]) => Promise<unknown>;

/**
 * Serves the tasks of the pool. `make` runs once for each thread.
 * @throws AnnealError Defect outside a worker thread
 */
export function serveJobs(make: (ask: AskService) => (task: unknown) => Promise<unknown>): void {
  const port = parentPort;
  if (!port) throw new AnnealError('Defect', 'This file must run in a worker thread.');
  const asked = new Map<number, PromiseWithResolvers<unknown>>();
  let count = 0;
  const send = (message: FromWorker, moved: readonly ArrayBuffer[] = []): void => port.postMessage(message, moved);
  const run = make((request, moved) => {
    const id = (count += 1);
    const waiting = Promise.withResolvers<unknown>();
    asked.set(id, waiting);
    send({ kind: 'ask', id, request }, moved);
    return waiting.promise;
  });
  port.on('message', (message: ToWorker) => {
    if (message.kind === 'job') {
      run(message.task).then(
        (value) => send({ kind: 'done', value }),
        (error: unknown) => send({ kind: 'failed', failure: toFailure(error) }),
      );
      return;
    }
    const waiting = asked.get(message.id);
    asked.delete(message.id);
    if (message.kind === 'answer') waiting?.resolve(message.value);
    else waiting?.reject(fromFailure(message.failure));
  });
  send({ kind: 'ready' });
}
