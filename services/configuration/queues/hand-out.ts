/** The form in which a client receives a host's request, and the timers that start when it does. */
import { hostRequestSchema, type QueueMessage } from '@anneal/contracts/configuration.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { change } from '@anneal/store/change.ts';
import type { MessageDocument } from '../collections.ts';
import { collectorForm } from '../hosts/collector-form.ts';
import { openHostToken, type HostContext } from '../hosts/host.ts';
import { firstMessage, shownMessage, type QueueContext } from './queue.ts';
import type { ResolvedQueue } from './names.ts';
import { byRun } from '../deployments/run.ts';
import type { RunContext } from '../deployments/run-context.ts';
import { limitAnswer } from '../deployments/run-timer.ts';
import { handedOut } from '../deployments/time-limit.ts';

export type HandOutContext = RunContext & HostContext & { readonly gatewayUrl: string };

export const claimTimer = (messageId: string): string => `claim:${messageId}`;

/** Shows a message, with the remaining time in a request to a host. */
export function handOut(context: QueueContext, queue: ResolvedQueue, message: MessageDocument): QueueMessage {
  const plain = shownMessage(context, message);
  if (queue.role !== 'requests') return plain;
  const request = hostRequestSchema.safeParse(plain.body);
  if (!request.success) return plain;
  const now = context.now();
  const body = handedOut(request.data, { now, takenAt: message.taken_at ?? now });
  return { ...plain, body: body as unknown as Json };
}

/** The form of a popped message. A host that pops may be os-collect-config, which understands only deployments. */
export async function poppedForm(
  context: HandOutContext,
  popped: { queue: ResolvedQueue; message: MessageDocument; host_id: string | undefined },
): Promise<QueueMessage> {
  const { queue, message, host_id } = popped;
  const handed = { ...handOut(context.queues, queue, message), claim_id: null };
  const request = hostRequestSchema.safeParse(handed.body);
  if (!queue.host || host_id !== queue.host.id || !request.success) return handed;
  await noteCollected(context, message.id);
  const { host } = queue;
  const known = await context.collections.resources.find({
    where: { project: host.project, kind: 'deployment', host_id: host.id },
  });
  const earlier = known
    .filter(({ deployment, removed_at }) => deployment?.collected === true && removed_at === null)
    .toSorted((a, b) => ((a.deployment?.queued_at ?? '') < (b.deployment?.queued_at ?? '') ? -1 : 1))
    .flatMap(({ deployment }) => {
      const parsed = hostRequestSchema.safeParse(context.queues.secrets.open(deployment?.request as unknown as Json));
      return parsed.success ? [parsed.data] : [];
    });
  const body = collectorForm(request.data, {
    earlier,
    signal: {
      auth_url: `${context.gatewayUrl}/identity/v3`,
      user_id: host.id,
      password: openHostToken(context, host),
      project_id: host.project,
    },
  });
  return { ...handed, body };
}

async function noteCollected(context: RunContext, runId: string): Promise<void> {
  await change(
    context.collections.resources,
    () => byRun(context, runId),
    ({ deployment, ...document }) =>
      deployment && deployment.collected !== true
        ? { ...document, deployment: { ...deployment, collected: true } }
        : undefined,
  );
}

/** Counts a host's read of its queue as taking the first request, because some hosts apply requests without a claim. */
export async function recordContact(context: RunContext, queue: ResolvedQueue): Promise<void> {
  const first = await firstMessage(context.queues, queue);
  if (!first || first.taken_at !== undefined) return;
  const looked = await context.collections.messages.replace(
    { ...first, taken_at: context.queues.now() },
    first.version,
  );
  if (looked) await context.timers().set(limitAnswer(looked));
}

/** Sets the timers that wake waiting clients when the claim ends and that fail the run without an answer. */
export async function watchClaimed(context: RunContext, queue: ResolvedQueue, message: MessageDocument): Promise<void> {
  const claim = {
    id: claimTimer(message.id),
    dueAt: message.claim_expires_at,
    data: { message: message.id, host: queue.host?.id ?? '' },
  };
  const first = message.claim_count === 1;
  await context.timers().set([claim, ...(first ? limitAnswer(message) : [])]);
}
