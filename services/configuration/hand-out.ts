/** A request of a host as its taker receives it, and the timers that begin when it is taken. */
import { hostRequestSchema, type QueueMessage } from '@anneal/contracts/configuration.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { MessageDocument } from './collections.ts';
import { collectorForm } from './collector-form.ts';
import { tokenOf, type HostContext } from './host.ts';
import { firstMessage, shown, type QueueContext } from './queue.ts';
import type { ResolvedQueue } from './queue-names.ts';
import { byRun, type RunContext } from './run.ts';
import { limitAnswer } from './run-timer.ts';
import { handedOut } from './time-limit.ts';

export type HandOutContext = RunContext & HostContext & { readonly gatewayUrl: string };

export const claimTimer = (messageId: string): string => `claim:${messageId}`;

/** With the time that is left for it from now. */
export function handOut(context: QueueContext, queue: ResolvedQueue, message: MessageDocument): QueueMessage {
  const plain = shown(context, message);
  if (queue.role !== 'requests') return plain;
  const request = hostRequestSchema.safeParse(plain.body);
  if (!request.success) return plain;
  const now = context.now();
  const body = handedOut(request.data, { now, takenAt: message.taken_at ?? now });
  return { ...plain, body: body as unknown as Json };
}

/** The host itself may be os-collect-config, which understands nothing but deployments. */
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
      password: tokenOf(context, host),
      project_id: host.project,
    },
  });
  return { ...handed, body };
}

async function noteCollected(context: RunContext, runId: string): Promise<void> {
  for (;;) {
    const document = await byRun(context, runId);
    if (!document?.deployment || document.deployment.collected === true) return;
    const deployment = { ...document.deployment, collected: true };
    if (await context.collections.resources.replace({ ...document, deployment }, document.version)) return;
  }
}

/** A host that only looks at its queue, applies and answers, takes the first request by its look. */
export async function noteLook(context: RunContext, queue: ResolvedQueue): Promise<void> {
  const first = await firstMessage(context.queues, queue);
  if (!first || first.taken_at !== undefined) return;
  const looked = await context.collections.messages.replace(
    { ...first, taken_at: context.queues.now() },
    first.version,
  );
  if (looked) await context.timers().set(limitAnswer(looked));
}

/** So that the clients that wait are woken when the claim ends, and the run fails when no answer comes. */
export async function watchTaken(context: RunContext, queue: ResolvedQueue, message: MessageDocument): Promise<void> {
  const claim = {
    id: claimTimer(message.id),
    dueAt: message.claim_expires_at,
    data: { message: message.id, host: queue.host?.id ?? '' },
  };
  const first = message.claim_count === 1;
  await context.timers().set([claim, ...(first ? limitAnswer(message) : [])]);
}
