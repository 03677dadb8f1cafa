/** The program of a worker thread for evaluations that take too long for the event loop. */
import { workerData } from 'node:worker_threads';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import { createSecrets } from '@anneal/runtime/secrets/secrets.ts';
import { serveJobs } from '@anneal/runtime/work/worker-thread.ts';
import { createEvaluation } from './evaluation.ts';
import type { HeavyTask } from './heavy.ts';

serveJobs(() => {
  const { keys, limits } = workerData as { keys: readonly Uint8Array[]; limits: EvaluationLimits };
  const secrets = createSecrets(keys);
  return async (given) => {
    const { kind, plan, resource, types, sizes, ...task } = given as HeavyTask;
    const typed = new Map(types.map((type) => [type.type, type]));
    const evaluation = createEvaluation({ secrets, typeOf: (type) => typed.get(type), sizes, limits });
    const peers = new Map(task.peers.map((peer) => [peer.name, peer]));
    const peer = (name: string) => peers.get(name);
    // The evaluation reads only the id, name and project of the stack.
    const stack = task.stack as StackDocument;
    if (kind === 'outputs') return evaluation.outputs({ plan, stack, peer });
    const tools = evaluation.toolsAt({
      moment: { now: 0, entropy: new Uint8Array(), sources: new Map() },
      graceMs: 0,
      limit: 0,
    });
    return resource && tools.resolve({ plan, resource, stack, peer });
  };
});
