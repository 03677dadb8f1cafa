/**
 * Fails the runs of a host whose limit is over and names the phase in the failure.
 */
import type { HostRequest } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import type { ConfigurationResource, DeploymentState, HostDocument, MessageDocument } from '../../collections.ts';
import { firstMessage } from '../../queues/queue.ts';
import { hostQueue } from '../../queues/names.ts';
import { answerStateOf } from '../answers/answer-state.ts';
import { limitWait } from './limit-wait.ts';
import { byRun, finishRun, offerEach } from './run.ts';
import type { RunContext } from './run-context.ts';
import { lookBy, waitDueAt } from './run-timer.ts';
import { answerDueAt, queueMs } from '../../configs/time-limit.ts';

/** How much the clocks of two machines may differ. */
const clocksDifferMs = 60_000;

interface Situation {
  readonly deployment: DeploymentState;
  /** '' without a stack. */
  readonly stackId: string;
  readonly request: HostRequest;
  readonly host: HostDocument | undefined;
  readonly message: MessageDocument | undefined;
  /** False when other requests are ahead of it. */
  readonly isFirst: boolean;
}

/** Runs when the timer of the runs of a host comes due: fails those whose limit is over, and sets the timer again. */
export async function lookAtRuns(context: RunContext, of: { host: string; process: string }): Promise<void> {
  const { resources, hosts, messages } = context.collections;
  const running = await resources.find({ where: { host_id: of.host, status: 'IN_PROGRESS' } });
  const ids = running.flatMap(({ run_id: id }) => (id === null ? [] : [id]));
  const [host, queued] = await Promise.all([hosts.get(of.host), messages.getMany(ids)]);
  const first = host && (await firstMessage(context.queues, hostQueue(host, 'requests')));
  const inQueue = new Map(queued.map((message) => [message.id, message]));
  const now = context.queues.now();
  let next = of.process === context.processId ? Infinity : now + clocksDifferMs; // L2
  for (const { run_id: id, deployment } of running) {
    if (id === null || !deployment?.request) continue;
    const message = inQueue.get(id);
    const isFirst = !message || !first || first.id === id;
    const dueAt = dueOf(context, { deployment, request: deployment.request, message, isFirst });
    if (dueAt <= now) {
      await expireRun(context, id);
      continue;
    }
    next = Math.min(next, dueAt);
    // Recreate a lost message while its run is in progress.
    if (!message && deployment.waiting_for.length === 0) await offerEach(context, [{ deployment, isNew: false }]);
    else if (message && isFirst && host) await limitOfFirst(context, host, message);
  }
  if (next < Infinity) await lookBy(context, of.host, next);
}

/** Starts the limit of a request that became the first when a process died before it noted that. */
async function limitOfFirst(context: RunContext, host: HostDocument, message: MessageDocument): Promise<void> {
  if (message.first_at === undefined) await limitWait(context, hostQueue(host, 'requests'), message);
}

/** Handles the timer of one run, which an older version has set. */
export async function lookAtRun(context: RunContext, runId: string): Promise<void> {
  const document = await byRun(context, runId);
  if (document?.host_id != null) await lookAtRuns(context, { host: document.host_id, process: context.processId });
}

async function expireRun(context: RunContext, runId: string): Promise<void> {
  await finishRun(context, runId, async (current, { stack_id }) => {
    const situation = await look(context, { deployment: current, stack_id }, runId);
    const why = situation ? reasonOf(context, situation) : 'the host received no request';
    const host = situation?.host;
    const isAccepted = situation?.message?.taken_at !== undefined;
    const no_answer = answerStateOf(current, { host, taken: isAccepted });
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
    return { status: 'FAILED', reason: error.message, failure: toFailure(error), isAccepted, change: { no_answer } };
  });
}

async function look(
  context: RunContext,
  { deployment, stack_id: stackId }: Pick<ConfigurationResource, 'stack_id'> & { deployment: DeploymentState },
  runId: string,
): Promise<Situation | undefined> {
  const { request } = deployment;
  if (!request) return undefined;
  const [host, message] = await Promise.all([
    context.collections.hosts.get(deployment.host_id),
    context.collections.messages.get(runId),
  ]);
  const first = host && message ? await firstMessage(context.queues, hostQueue(host, 'requests')) : undefined;
  return { deployment, stackId, request, host, message, isFirst: !message || !first || first.id === runId };
}

function dueOf(
  context: RunContext,
  { deployment, request, message, isFirst }: Omit<Situation, 'stackId' | 'host'>,
): number {
  const latest = Date.parse(deployment.deadline ?? '') || 0;
  if (deployment.waiting_for.length > 0 || !message || !isFirst || deployment.started_at !== null) return latest;
  const { taken_at, first_at } = message;
  if (taken_at !== undefined) return answerDueAt(request, taken_at, latest);
  return first_at === undefined ? latest : Math.min(latest, waitDueAt(context, request, first_at));
}

function reasonOf(context: RunContext, situation: Situation): string {
  const { deployment, stackId, request, host, message, isFirst } = situation;
  const where = `host ${deployment.host_name}`;
  const heard = heardOf(where, deployment, host);
  const limited = stackId === '' ? 'its time limit' : 'the time limit of the action of its stack';
  const over = `when ${limited} (${request.deadline}) ended`;
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
