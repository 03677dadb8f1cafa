/** The program of a worker thread for evaluations that take too long for the event loop. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { workerData } from 'node:worker_threads';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { serveJobs } from '@anneal/runtime/work/worker-thread.ts';
import { evaluateTask } from './evaluation-task.ts';
import type { HeavyTask } from './heavy.ts';

serveJobs(() => {
  const { keys, limits } = workerData as { keys: readonly Uint8Array[]; limits: EvaluationLimits };
  const secrets = createSecrets(keys);
  return async (text) =>
    JSON.stringify(evaluateTask(parseExact(text as string) as unknown as HeavyTask, { secrets, limits }));
});
