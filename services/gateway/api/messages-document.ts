/**
 * The AsyncAPI document of all messages. The first reader waits about a second for it: few read it, and at each start it
 * would cost every server 0.3 s of processor time and 40 MB of memory.
 */
import { Worker } from 'node:worker_threads';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { compiledCode } from '@anneal/runtime/work/worker-pool.ts';

/** Returns how to get the text. A worker generates it once, because no request may keep the event loop for so long. */
export function messagesDocument(version: string): () => Promise<string> {
  let text: Promise<string> | undefined;
  return () => {
    text ??= generate(version).catch((error: unknown) => {
      text = undefined;
      throw error;
    });
    return text;
  };
}

function generate(version: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const worker = new Worker(new URL('messages-worker.ts', import.meta.url), {
    workerData: version,
    execArgv: [],
    env: compiledCode(),
  });
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.once('exit', (status) =>
    reject(new AnnealError('Defect', `The worker that describes the messages ended with status ${status}.`)),
  );
  worker.unref();
  return promise;
}
