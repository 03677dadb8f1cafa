/** The program of a worker thread: runs one task after another. It reads blobs through the service's thread. */
import { workerData } from 'node:worker_threads';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { serveJobs } from '@anneal/runtime/work/worker-thread.ts';
import { EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import { createRemote } from './remote.ts';
import { createTasks, type RemoteTask } from './task.ts';

serveJobs((ask) => {
  const { keys, limits } = workerData as { keys: readonly Uint8Array[]; limits: EvaluationLimits };
  const { blobs, taskOf } = createRemote(ask);
  const run = createTasks({ blobs, secrets: createSecrets(keys) });
  return async (task) => {
    const { answer, contents } = await run(await taskOf(task as RemoteTask), new EvaluationWork(limits));
    return { answer: JSON.stringify(answer), contents };
  };
});
