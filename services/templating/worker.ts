/** The program of a worker thread: runs one task after another. It reaches blobs through the service's thread. */
import { workerData } from 'node:worker_threads';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { serveJobs } from '@anneal/runtime/work/worker-thread.ts';
import { EvaluationWork } from '@anneal/hot/evaluate/work.ts';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import { remoteBlobs } from './remote-blobs.ts';
import { createTasks, type Task } from './task.ts';

serveJobs((ask) => {
  const { keys, limits } = workerData as { keys: readonly Uint8Array[]; limits: EvaluationLimits };
  const run = createTasks({ blobs: remoteBlobs(ask), secrets: createSecrets(keys) });
  return (task) => run(task as Task, new EvaluationWork(limits));
});
