/**
 * Cancellation of the request for a deployment: the engine sends it for a deployment that an update replaces while its
 * config waits or runs, because the replacement may wait for the same host. It also recalls a request that it sent before
 * the deployments that come first had completed, when the action of the stack fails or is cancelled.
 *
 * N1 A waiting config never runs. The host of a running one is asked to stop it, and the next config of the host begins
 *    only when nothing of it is left.
 * N2 The request is answered as failed, once. An answered request, and one that a newer request replaced, stay as they
 *    are.
 * N3 A cancellation that comes before its request is kept, and the request then fails without a run. The resource exists
 *    by then, unless the request was to be recalled: then the late request waits for its deployments as before, and the
 *    engine ignores its answer.
 * N4 A recalled request that its host holds in a batch, behind the config that runs, ends when the host claims again
 *    without having begun it. If the host begins it before, it ends with its answer.
 * N5 The engine takes no notice of a run whose request was answered when it was queued (`NO_SIGNAL`), so it does not
 *    cancel it. The request for the replacement ends it here.
 */
import { AnnealError, toFailure, type Failure } from '@anneal/contracts/errors.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import type { RunContext } from './deployments/runs/run-context.ts';
import { change } from '@anneal/store/change.ts';
import { unwaitedKey, type ConfigurationResource, type DeploymentState } from './collections.ts';
import { hostIdOf } from './configs/derive.ts';
import { finishRun, withdraw, type Ending } from './deployments/runs/run.ts';
import { recalledEnding } from './deployments/runs/recall.ts';
import { isClaimed } from './queues/queue.ts';
import { mayBegin } from './deployments/runs/set-aside.ts';

const replacedRun = (name: string): AnnealError =>
  new AnnealError('Superseded', `A newer version of the stack replaces ${name}, so its run was stopped.`);

export const cancelledFailure = (name: string): Failure => toFailure(replacedRun(name));

/** Safe under redelivery, in any order with its request, and when a newer request comes at the same time. */
export async function handleCancel(context: RunContext, { data }: Envelope<ResourceRequest>): Promise<void> {
  const known = await context.collections.resources.get(data.resource.id);
  // After the request that it cancels, which may still be at work, has put its config into the queue of the host.
  const host = known?.host_id ?? hostIdOf(context.service.secrets, data.properties) ?? data.resource.id;
  await context.queues.serial.run(`host ${host}`, () => cancel(context, data));
}

async function cancel(context: RunContext, { resource, fence }: ResourceRequest): Promise<void> {
  const { document } = await change(context.collections.resources, resource.id, (current) =>
    current.fence < fence && (current.cancelled ?? 0) < fence ? { ...current, cancelled: fence } : undefined,
  );
  const run_id = document?.fence === fence ? document.run_id : null;
  if (!document || run_id === null) return;
  if (await isInHand(context, document)) {
    await change(context.collections.resources, resource.id, (current) =>
      current.fence === fence && current.response === null ? { ...current, cancelled: fence } : undefined,
    );
    return;
  }
  const decide = (deployment: DeploymentState, current: ConfigurationResource) =>
    endingOf(context, { deployment, current, fence });
  const ended = await finishRun(context, run_id, decide, { document });
  if (ended) return;
  // A repeat: the first attempt may have ended between the two steps.
  const left = await context.collections.resources.get(resource.id);
  if (left?.run_id !== run_id || left.status === 'IN_PROGRESS' || left.host_id === null) return;
  await withdraw(context, { run_id, host_id: left.host_id, even_claimed: false });
}

/**
 * Ends the runs that this new deployment replaces (N5), in the same stack under the same name. Harmless to repeat: a late
 * repeat of an older request finds no run that is older than its own.
 */
export async function endReplaced(context: RunContext, document: ConfigurationResource): Promise<void> {
  const { deployment, action, kind } = document;
  if (kind !== 'deployment' || action !== 'create' || !deployment || document.stack_id === '') return;
  const found = await context.collections.resources.find({ where: { unwaited: unwaitedKey(document) } });
  for (const { id, run_id, deployment: other } of found) {
    if (id === document.id || run_id === null || !other || other.created_at >= deployment.created_at) continue;
    const error = replacedRun(other.name);
    const ending = { status: 'FAILED', reason: error.message, failure: toFailure(error), isStopped: true } as const;
    await finishRun(context, run_id, () => ending);
  }
}

async function endingOf(
  context: RunContext,
  { deployment, current, fence }: { deployment: DeploymentState; current: ConfigurationResource; fence: number },
): Promise<Ending | undefined> {
  if (current.fence !== fence || current.response) return undefined;
  if (await waitsForOthers(context, deployment)) return recalledEnding(deployment.name);
  const error = replacedRun(deployment.name);
  return { status: 'FAILED', reason: error.message, failure: toFailure(error), isStopped: true };
}

const waitsForOthers = async (context: RunContext, { waiting_for, after = [] }: DeploymentState): Promise<boolean> =>
  waiting_for.length > 0 || !(await mayBegin(context, { after }, []));

/** N4 */
async function isInHand(context: RunContext, { deployment, run_id }: ConfigurationResource): Promise<boolean> {
  if (deployment?.status !== 'IN_PROGRESS' || !(await waitsForOthers(context, deployment))) return false;
  const message = await context.collections.messages.get(run_id ?? '');
  return message !== undefined && isClaimed(message, context.queues.now());
}
