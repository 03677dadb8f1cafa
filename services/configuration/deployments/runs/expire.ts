/**
 * Fails a run whose timer came due and names the phase in the failure, or resets the timer if the phase has changed.
 */
import type { HostRequest } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { DeploymentState, HostDocument, MessageDocument } from '../../collections.ts';
import { firstMessage } from '../../queues/queue.ts';
import { hostQueue } from '../../queues/names.ts';
import { answerStateOf } from '../answers/answer-state.ts';
import { byRun, finishRun, offer } from './run.ts';
import type { RunContext } from './run-context.ts';
import { timerOf } from './run-timer.ts';
import { answerDueAt, queueMs } from './time-limit.ts';

interface Situation {
  readonly deployment: DeploymentState;
  readonly request: HostRequest;
  readonly host: HostDocument | undefined;
  readonly message: MessageDocument | undefined;
  /** False when other requests are ahead of it. */
  readonly isFirst: boolean;
}

export async function expireRun(context: RunContext, runId: string): Promise<void> {
  const document = await byRun(context, runId);
  const deployment = document?.deployment;
  if (deployment?.status === 'IN_PROGRESS') {
    const situation = await look(context, deployment, runId);
    const dueAt = situation ? dueOf(situation, context.queues.now()) : 0;
    if (dueAt > context.queues.now()) {
      await context.timers().set([timerOf(runId, dueAt)]);
      // Recreate a lost message while its run is in progress.
      if (!situation?.message && deployment.waiting_for.length === 0) await offer(context, deployment);
      return;
    }
  }
  await finishRun(context, runId, async (current) => {
    const situation = await look(context, current, runId);
    const why = situation ? reasonOf(context, situation) : 'the host received no request';
    const host = situation?.host;
    const no_answer = answerStateOf(current, { host, taken: situation?.message?.taken_at !== undefined });
    const error = new AnnealError(
      host?.first_seen_at == null && current.waiting_for.length === 0 ? 'HostSilent' : 'DeadlineExceeded',
      `Deployment ${current.name} failed: ${why}.`,
      {
        details: {
          host: current.host_name,
          host_id: current.host_id,
          host_status: host?.status ?? 'gone',
          deployment: current.name,
          action: current.action,
          status_code: null,
          no_answer,
        },
      },
    );
    return { status: 'FAILED', reason: error.message, failure: toFailure(error), change: { no_answer } };
  });
}

async function look(context: RunContext, deployment: DeploymentState, runId: string): Promise<Situation | undefined> {
  const { request } = deployment;
  if (!request) return undefined;
  const [host, message] = await Promise.all([
    context.collections.hosts.get(deployment.host_id),
    context.collections.messages.get(runId),
  ]);
  const first = host && message ? await firstMessage(context.queues, hostQueue(host, 'requests')) : undefined;
  return { deployment, request, host, message, isFirst: !message || !first || first.id === runId };
}

function dueOf({ deployment, request, message, isFirst }: Situation, now: number): number {
  const latest = Date.parse(deployment.deadline ?? '') || 0;
  if (deployment.waiting_for.length > 0 || !message || !isFirst || deployment.started_at !== null) return latest;
  // The timer of an unclaimed first request was set when it became the first.
  return message.taken_at === undefined ? now : answerDueAt(request, message.taken_at, latest);
}

function reasonOf(context: RunContext, situation: Situation): string {
  const { deployment, request, host, message, isFirst } = situation;
  const where = `host ${deployment.host_name}`;
  const heard = heardOf(where, deployment, host);
  const over = `when the time limit of the action of its stack (${request.deadline}) ended`;
  if (deployment.waiting_for.length > 0) return `it still waited for ${deployment.waiting_for.join(', ')} ${over}`;
  const ran = request.timeout === undefined ? '' : ` within ${request.timeout} s (options.timeout)`;
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
  const limit = queueMs(request.options, context.queueTimeoutMs) / 1000;
  const within =
    Date.parse(request.deadline) <= context.queues.now() ? over : `within ${limit} s (options.queue_timeout)`;
  return `${where} has not taken the request ${within}; ${heard}`;
}

/** The last contact, and whether it was before the config was queued. */
function heardOf(where: string, { queued_at }: DeploymentState, host: HostDocument | undefined): string {
  const seen = host?.last_seen_at ?? null;
  if (seen === null) return `${where} has never asked for work`;
  const before = queued_at !== null && seen < queued_at ? `, before this config was queued at ${queued_at}` : '';
  return `it was last seen at ${seen}${before}`;
}
