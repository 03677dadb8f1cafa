/** The time limit of a run in its present phase, and the reason when it is over. Pure. */
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import { mostReboots, rebootLimitMs } from '@anneal/contracts/reboot-option.ts';
import type { ConfigurationResource, DeploymentState, HostDocument, MessageDocument } from '../../collections.ts';
import { answerDueAt, queueMs } from '../../configs/time-limit.ts';
import type { RunDocument, RunPlace } from './run-inputs.ts';

/** Undefined for a message that a user posted: no run waits for it. */
export function requestIn(message: MessageDocument): HostRequest | undefined {
  const request = message.body as unknown as HostRequest;
  return request.id === message.id ? request : undefined;
}

/** When a request that its host could take since `from` fails because the host does not take it. */
export const waitDueAt = (
  { queueTimeoutMs }: { readonly queueTimeoutMs: number },
  request: Pick<HostRequest, 'deadline' | 'options'>,
  from: number,
): number => Math.min(Date.parse(request.deadline), from + queueMs(request.options, queueTimeoutMs));

/** The limit of a request that its host took. Undefined for one that it did not take, and a message of a user. */
export function takenDueAt(message: MessageDocument): number | undefined {
  const request = requestIn(message);
  if (!request || message.taken_at === undefined) return undefined;
  return answerDueAt(request, message.taken_at, Date.parse(request.deadline));
}

/** When a run fails without an answer, if nothing else happens. */
export function limitOfRun(
  { deadline, request, waiting_for, started_at }: DeploymentState,
  { message, isFirst }: Pick<RunPlace, 'message' | 'isFirst'>,
  given: { readonly queueTimeoutMs: number },
): number {
  const latest = Date.parse(deadline ?? '') || 0;
  if (!request || waiting_for.length > 0 || !message || !isFirst || started_at !== null) return latest;
  const { taken_at, first_at } = message;
  if (taken_at !== undefined) return answerDueAt(request, taken_at, latest);
  return first_at === undefined ? latest : Math.min(latest, waitDueAt(given, request, first_at));
}

/** Names the phase in which the limit of a run was over. */
export function overdueReason(
  { deployment, stack_id }: Pick<RunDocument, 'deployment'> & Pick<ConfigurationResource, 'stack_id'>,
  { host, message, isFirst }: RunPlace,
  { now, queueTimeoutMs }: { readonly now: number; readonly queueTimeoutMs: number },
): string {
  const { request } = deployment;
  if (!request) return 'the host received no request';
  const where = `host ${deployment.host_name}`;
  const heard = heardOf(where, deployment, host);
  const limited = stack_id === '' ? 'its time limit' : 'the time limit of the action of its stack';
  const over = `when ${limited} (${request.deadline}) ended`;
  if (deployment.waiting_for.length > 0) return `it still waited for ${deployment.waiting_for.join(', ')} ${over}`;
  const ran = request.timeout === undefined ? '' : ` within ${request.timeout} s (options.timeout)`;
  const { reboot } = deployment;
  if (reboot && !reboot.over) {
    const reset = reboot.reset_at === undefined ? '' : `, nor after its BMC reset it at ${reboot.reset_at}`;
    return `${where} has not come back after its reboot for this config (${reboot.number} of ${mostReboots}) within ${rebootLimitMs(request.options) / 1000} s (options.reboot_timeout), since ${reboot.since}${reset}; ${heard}`;
  }
  if (deployment.started_at !== null) {
    const longer =
      deployment.deadline === request.deadline || request.timeout === undefined
        ? `it still ran ${over}`
        : `it ran longer than ${request.timeout} s (options.timeout)`;
    return `${longer}: ${where} started it at ${deployment.started_at} and has not answered; ${heard}`;
  }
  if (message?.taken_at !== undefined) {
    const taken = new Date(message.taken_at).toISOString();
    return `${where} took the request at ${taken} but reported neither a start nor an answer${ran}; ${heard}`;
  }
  if (!isFirst) return `it still waited behind other requests in the queue of ${where} ${over}`;
  const limit = queueMs(request.options, queueTimeoutMs) / 1000;
  const within = Date.parse(request.deadline) <= now ? over : `within ${limit} s (options.queue_timeout)`;
  return `${where} has not taken the request ${within}; ${heard}`;
}

/** The last contact, and whether it was before the config was queued. */
function heardOf(where: string, { queued_at }: DeploymentState, host: HostDocument | undefined): string {
  const seen = host?.last_seen_at ?? null;
  if (seen === null) return `${where} has never asked for work`;
  const before = queued_at !== null && seen < queued_at ? `, before this config was queued at ${queued_at}` : '';
  return `it was last seen at ${seen}${before}`;
}
