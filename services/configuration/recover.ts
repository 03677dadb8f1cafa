/** Completes unfinished work at a start. Reads everything from the documents and nothing from the queues. */
import { change } from '@anneal/store/change.ts';
import { awaitedKey, type ConfigurationResource } from './collections.ts';
import { abandonRuns } from './deployments/runs/abandon.ts';
import { isInProgress } from './deployments/decisions/run-states.ts';
import { carryOut, settleDependents } from './deployments/runs/carry-out.ts';
import { withdraw } from './deployments/runs/queue-changes.ts';
import { armSweep } from './deployments/due.ts';
import { flushOutbox } from '@anneal/runtime/work/outbox.ts';
import { forgetHost } from './hosts/host.ts';
import { keyEarlierNames } from './hosts/names.ts';
import { handlePosted } from './deployments/answers/posted.ts';
import type { HostMessageContext } from './deployments/runs/run-context.ts';

export async function recover(context: HostMessageContext): Promise<void> {
  const { collections, service } = context;
  await keyEarlierNames(collections);
  // Process accepted answers first, so that the requests that they answer are not offered again.
  await handleWaiting(context);
  const deleting = await collections.hosts.find({ where: { status: 'deleting' } });
  for (const host of deleting) {
    await abandonRuns(context, host);
    await forgetHost(context, host);
  }
  const unsaid = await collections.hosts.find({ where: { unsent: true } });
  for (const host of unsaid) await flushOutbox(service, collections.hosts, host);
  await resumeRuns(context);
  const unsent = await collections.resources.find({ where: { unsent: true } });
  for (const document of unsent) {
    await withdrawEnded(context, document);
    await context.outbox.flush(document);
  }
  await armSweep(context);
}

/** Takes the request of a run that ended just before a crash out of the queue of its host. */
async function withdrawEnded(context: HostMessageContext, document: ConfigurationResource): Promise<void> {
  const { run_id, host_id } = document;
  if (run_id === null || host_id === null || isInProgress(document)) return;
  await withdraw(context, { run_id, host_id, even_claimed: false });
}

async function handleWaiting(context: HostMessageContext): Promise<void> {
  const { messages, queues, hosts } = context.collections;
  const waiting = await messages.find({ where: { handled: false }, orderBy: ['sequence'] });
  for (const message of waiting) {
    const queue = await queues.get(message.queue);
    const host = queue?.host_id == null ? undefined : await hosts.get(queue.host_id);
    if (host) await handlePosted(context, host, { posted: [message] });
  }
}

/**
 * Restores the queue message and the deadline of every run in progress, and releases runs that need not wait any more.
 */
async function resumeRuns(context: HostMessageContext): Promise<void> {
  const { resources } = context.collections;
  const running = await resources.find({ where: { status: 'IN_PROGRESS' } });
  const inOrder = running.toSorted((a, b) =>
    (a.deployment?.queued_at ?? '') < (b.deployment?.queued_at ?? '') ? -1 : 1,
  );
  for (const document of inOrder) await keyAwaited(context, document);
  for (const document of inOrder) {
    await carryOut(context, document);
    const { waiting_for: waiting = [], after = [] } = document.deployment ?? {};
    const before = await resources.getMany([...new Set([...waiting, ...after.map(({ id }) => id)])]);
    for (const other of before) await settleDependents(context, other);
  }
}

/** Adds the key to a deployment that an older version of this service let wait. */
async function keyAwaited({ collections }: HostMessageContext, document: ConfigurationResource): Promise<void> {
  if (document.awaits !== undefined || (document.deployment?.waiting_for ?? []).length === 0) return;
  await change(collections.resources, document.id, (current) => ({
    ...current,
    awaits: awaitedKey(current.stack_id, current.deployment?.waiting_for ?? []),
  }));
}
