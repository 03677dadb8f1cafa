/** Evaluates a task of its own data alone: a worker has no more than that. */
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { EvaluationLimits } from '@anneal/hot/limits.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { createEvaluation } from './evaluation.ts';
import type { HeavyTask } from './heavy.ts';

/** The result that the event loop would have, with the limits of a worker. */
export function evaluateTask(
  { kind, plan, resource, types, sizes, ...task }: HeavyTask,
  { secrets, limits }: { secrets: Secrets; limits: EvaluationLimits },
): unknown {
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
}
