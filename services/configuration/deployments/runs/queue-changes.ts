/** Brings the queues of hosts in line with the documents of runs. Each change is harmless to repeat. */
import type { HostRequest } from '@anneal/contracts/calls/host-messages.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { DeploymentState, HostDocument, MessageDocument } from '../../collections.ts';
import { hostQueue } from '../../hosts/queues.ts';
import type { MessageQueue } from '../../queues/message-queue.ts';
import { putInEach } from '../../queues/put.ts';
import { dropMessage, firstMessage, isClaimed, messagesInOrder } from '../../queues/queue.ts';
import type { Put } from '../../queues/waiting-puts.ts';
import { takenDueAt, waitDueAt } from '../decisions/run-limits.ts';
import { limitWait } from './limit-wait.ts';
import type { RunContext } from './run-context.ts';
import { lookBy, runsTimer } from './run-timer.ts';

/** How long a message outlives the deadline, so that the deadline ends the run and not the expiry of the message. */
const messageGraceSeconds = 120;

/** A run whose request belongs into the queue of its host. */
export interface Offer {
  readonly deployment: DeploymentState;
  /** True when no earlier call can have put its request. */
  readonly isNew: boolean;
  /** The host, if the caller has read it. */
  readonly host?: HostDocument | undefined;
}

/**
 * Puts the requests of runs into the queues of their different hosts, unless the queues already hold them, and sets the
 * timers of the runs.
 */
export async function offerEach(context: RunContext, offers: readonly Offer[]): Promise<void> {
  const found = await Promise.all(offers.map((each) => requestFor(context, each)));
  const requests = found.filter((each) => each !== undefined);
  if (requests.length === 0) return;
  // The timers are durable before the messages, so that no host takes a request without a limit.
  const [stored] = await Promise.all([
    putInEach(
      context.queues,
      requests.map(({ put }) => put),
    ),
    context.timers().setAtLatest(requests.map(({ put, dueAt }) => runsTimer(context, put.queue.owner ?? '', dueAt))),
  ]);
  await Promise.all(
    requests.map(async ({ put: { queue }, isFirst, isStarted }, index) => {
      const message = stored[index]?.[0];
      if (message && !isStarted) await limitOffered(context, { queue, message, isFirst });
    }),
  );
  await context.queues.wake(...requests.map(({ put }) => put.queue));
}

/** The request of a run, and the time by which its run has to be looked at. Undefined for a host that is gone. */
async function requestFor(context: RunContext, { deployment, isNew, host: known }: Offer) {
  const { request, started_at } = deployment;
  const isKnown = known?.id === deployment.host_id && known.status !== 'deleting';
  const host = isKnown ? known : await context.collections.hosts.get(deployment.host_id);
  if (!host || !request) return undefined;
  const queue = hostQueue(host, 'requests');
  const now = context.queues.now();
  const first = await firstMessage(context.queues, queue);
  const isFirst = first === undefined || first.id === request.id;
  const waits = started_at === null && isFirst;
  const dueAt = waits ? waitDueAt(context, request, now) : Date.parse(deployment.deadline ?? request.deadline);
  const ttl = Math.max(1, Math.ceil((Date.parse(request.deadline) - now) / 1000)) + messageGraceSeconds;
  const body = request as unknown as Json;
  const message = { id: request.id, body, ttl, ...(waits && { first_at: now }), ...afterOf(deployment) };
  const put: Put = { queue, client_id: 'anneal', messages: [message], isNew };
  return { put, dueAt, isFirst, isStarted: started_at !== null };
}

const afterOf = ({ after = [] }: DeploymentState) => (after.length > 0 ? { after } : {});

/** Sets the limit of a request that its host has taken already, or that became the first while it was put. */
async function limitOffered(
  context: RunContext,
  { queue, message, isFirst }: { queue: MessageQueue; message: MessageDocument; isFirst: boolean },
): Promise<void> {
  const dueAt = takenDueAt(message);
  if (dueAt !== undefined) context.acceptances.note(message);
  if (dueAt !== undefined) await lookBy(context, queue.owner ?? '', dueAt);
  else if (
    message.first_at === undefined &&
    (isFirst || (await firstMessage(context.queues, queue))?.id === message.id)
  )
    await limitWait(context, queue, message);
}

/**
 * Removes a superseded or ended run from the queue of its host. The host of a claimed request is asked to stop it: it
 * waits for that at its queue, which this wakes. The request stays until the host answers, so that the next config begins
 * after the script has ended.
 */
export async function withdraw(
  context: RunContext,
  options: { run_id: string; host_id: string; even_claimed: boolean; host?: HostDocument | undefined },
): Promise<void> {
  const { run_id, host_id, even_claimed } = options;
  const host = options.host?.id === host_id ? options.host : await context.collections.hosts.get(host_id);
  const queue = host && hostQueue(host, 'requests');
  const message = even_claimed || !queue ? undefined : await context.collections.messages.get(run_id);
  if (queue && message && isClaimed(message, context.queues.now())) await context.queues.wake(queue);
  else if (queue) await dropMessage(context.queues, queue, run_id);
}

/** Removes a request that the host has finished from its own queue. Never touches the queue of another host. */
export async function dropOwn(context: RunContext, host: HostDocument, id: string): Promise<void> {
  const queue = hostQueue(host, 'requests');
  const message = await context.collections.messages.get(id);
  if (message?.queue === queue.id) await dropMessage(context.queues, queue, id);
}

/** The runs of a deployment whose requests are in the queue of this host. */
export async function queuedRuns(
  context: RunContext,
  { host_id, deployment }: { host_id: string; deployment: string },
): Promise<string[]> {
  const host = await context.collections.hosts.get(host_id);
  const runs: string[] = [];
  if (!host) return runs;
  for await (const { id, body } of messagesInOrder(context.queues, hostQueue(host, 'requests'))) {
    const request = body as unknown as Partial<HostRequest>;
    if (request.id === id && request.deployment_id === deployment) runs.push(id);
  }
  return runs;
}
