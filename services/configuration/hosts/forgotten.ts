/** Hosts that wait at their queues although there are requests, because the event that wakes them was lost. */
import { hostRequestsQueue } from '@anneal/contracts/queues.ts';
import type { MessageDocument } from '../collections.ts';
import { queueId } from '../queues/message-queue.ts';
import { isClaimed, type QueueContext } from '../queues/queue.ts';

const hostsAtOnce = 200;

/** The hosts of a project, of those given, whose first request is free. Reads nothing but requests. */
export async function hostsWithRequests(
  { collections, now }: Pick<QueueContext, 'collections' | 'now'>,
  { project, ids }: { project: string; ids: readonly string[] },
): Promise<string[]> {
  const found: string[] = [];
  for (let first = 0; first < ids.length; first += hostsAtOnce) {
    const hosts = new Map(
      ids.slice(first, first + hostsAtOnce).map((id) => [queueId(project, hostRequestsQueue(id)), id]),
    );
    const messages = await collections.messages.find({ where: { queue: { in: [...hosts.keys()] } }, limit: 1000 });
    const heads = new Map<string, MessageDocument>();
    for (const message of messages) {
      const head = heads.get(message.queue);
      if (!head || message.sequence < head.sequence) heads.set(message.queue, message);
    }
    for (const [queue, head] of heads) {
      const host = hosts.get(queue);
      if (host !== undefined && head.expires_at > now() && !isClaimed(head, now())) found.push(host);
    }
  }
  return found;
}
