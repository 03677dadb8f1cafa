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
 * N6 A request is withdrawn when the action of its stack is cancelled: a config that no host has taken never runs. One
 *    that its host has taken goes on, and ends with its answer; one that it holds behind another ends as in N4.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import { hasArrived } from '@anneal/provider/provide.ts';
import { change } from '@anneal/store/change.ts';
import { unwaitedKey, type ConfigurationResource, type MessageDocument } from './collections.ts';
import { hostIdOf } from './configs/derive.ts';
import type { RunDocument, RunInput } from './deployments/decisions/run-inputs.ts';
import { isInProgress } from './deployments/decisions/run-states.ts';
import { takeInput } from './deployments/runs/carry-out.ts';
import type { RunContext } from './deployments/runs/run-context.ts';
import { mayBegin } from './deployments/requests/set-aside.ts';
import { isClaimed } from './queues/queue.ts';

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
  const run = document?.fence === fence ? document.run_id : null;
  if (run !== null) await takeInput(context, { run, document }, (current) => cancelInput(context, current, fence));
}

/**
 * Withdraws the request for a deployment, which is no longer wanted (N6). Safe under redelivery, and in any order with its
 * request.
 * @throws AnnealError Unavailable when the request has not come yet, unless this is the last delivery
 */
export async function handleWithdrawal(
  context: RunContext,
  message: Envelope<ResourceRequest>,
  delivery: { readonly last: boolean },
): Promise<void> {
  const { resource, fence } = message.data;
  const known = await context.collections.resources.get(resource.id);
  const run = hasArrived(known, message, delivery) ? (known?.run_id ?? null) : null;
  if (run === null) return;
  await context.queues.serial.run(`host ${known?.host_id ?? resource.id}`, () =>
    takeInput(context, { run }, (current) => withdrawalInput(context, current, fence)),
  );
}

/** N4 */
async function cancelInput(context: RunContext, run: RunDocument, fence: number): Promise<RunInput> {
  const comesLater = await waitsForOthers(context, run);
  const message = comesLater ? await requestInQueue(context, run) : undefined;
  const isHeld = message !== undefined && isClaimed(message, context.queues.now());
  return { kind: 'cancelled', fence, comesLater, isHeld };
}

/** N6: a host may have begun a request that it once took, also when it does not hold it any more. */
async function withdrawalInput(context: RunContext, run: RunDocument, fence: number): Promise<RunInput> {
  const comesLater = await waitsForOthers(context, run);
  const isOffered = isInProgress(run) && run.deployment.waiting_for.length === 0;
  const message = isOffered ? await requestInQueue(context, run) : undefined;
  const isFree = message !== undefined && message.taken_at === undefined && !isClaimed(message, context.queues.now());
  return { kind: 'withdrawn', fence, comesLater, isHeld: isOffered && (!isFree || run.deployment.collected === true) };
}

/** True while a deployment that comes before it has not completed. */
async function waitsForOthers(context: RunContext, run: RunDocument): Promise<boolean> {
  const { waiting_for, after = [] } = run.deployment;
  return isInProgress(run) && (waiting_for.length > 0 || !(await mayBegin(context, { after }, [])));
}

const requestInQueue = ({ collections }: RunContext, { run_id }: RunDocument): Promise<MessageDocument | undefined> =>
  collections.messages.get(run_id ?? '');

/**
 * Ends the runs that this new deployment replaces (N5), in the same stack under the same name. Harmless to repeat: a late
 * repeat of an older request finds no run that is older than its own.
 */
export async function endReplaced(context: RunContext, document: ConfigurationResource): Promise<void> {
  const { deployment, action, kind } = document;
  if (kind !== 'deployment' || action !== 'create' || !deployment || document.stack_id === '') return;
  const found = await context.collections.resources.find({ where: { unwaited: unwaitedKey(document) } });
  for (const other of found) {
    const { id, run_id: run, deployment: older } = other;
    if (id === document.id || run === null || !older || older.created_at >= deployment.created_at) continue;
    await takeInput(context, { run, document: other }, { kind: 'replaced' });
  }
}
