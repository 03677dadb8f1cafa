/**
 * Resolves the name of a queue. A host's queues have their full name, `<hostname>.requests` or `.responses`, and the
 * bare hostname, which means the requests queue for reading and the responses queue for writing. A user's queue that
 * exists keeps its name: then the bare hostname means that queue.
 */
import { hostRequestsQueue, hostResponsesQueue } from '@anneal/contracts/queues.ts';
import type { ConfigurationCollections, HostDocument } from '../collections.ts';
import { openQueue, queueId, type MessageQueue } from '../queues/message-queue.ts';
import { findExactly } from './names.ts';

export type QueueUse = 'read' | 'write';

/** A queue with the host that it belongs to. */
export interface ResolvedQueue extends MessageQueue {
  readonly host: HostDocument | null;
  readonly role: 'requests' | 'responses' | null;
}

/** A queue of a host. */
export interface HostQueue extends ResolvedQueue {
  readonly host: HostDocument;
  readonly role: 'requests' | 'responses';
}

/** True for a queue that {@link hostQueue} made. */
export const isHostQueue = (queue: MessageQueue): queue is HostQueue => 'host' in queue && queue.host !== null;

export function hostQueue(host: HostDocument, role: 'requests' | 'responses'): HostQueue {
  const { id: owner, project } = host;
  const [name, kind] =
    role === 'requests'
      ? ([hostRequestsQueue(owner), 'strict'] as const)
      : ([hostResponsesQueue(owner), 'processed'] as const);
  return { id: queueId(project, name), project, name, kind, owner, host, role };
}

/** The other names of a queue of a host. */
export const aliasesOf = ({ host, role }: HostQueue): string[] => [
  `${host.name}.${role}`,
  ...(role === 'requests' ? [host.name, host.id] : []),
];

const fullName = /^host\.(.+)\.(requests|responses)$/;
const shortName = /^(.+)\.(requests|responses)$/;

export async function resolveQueue(
  { hosts, queues }: Pick<ConfigurationCollections, 'hosts' | 'queues'>,
  { project, queue, use }: { project: string; queue: string; use: QueueUse },
): Promise<ResolvedQueue> {
  const full = fullName.exec(queue);
  if (full?.[1] !== undefined) {
    const host = await hosts.get(full[1]);
    if (host?.project === project) return hostQueue(host, full[2] as 'requests' | 'responses');
  }
  const short = shortName.exec(queue);
  if (short?.[1] !== undefined) {
    const host = await findExactly({ hosts }, { project, host: short[1] });
    if (host) return hostQueue(host, short[2] as 'requests' | 'responses');
  }
  const own: ResolvedQueue = { ...openQueue(project, queue), host: null, role: null };
  if ((await queues.get(own.id))?.host_id === null) return own;
  const host = await findExactly({ hosts }, { project, host: queue });
  if (host) return hostQueue(host, use === 'read' ? 'requests' : 'responses');
  return own;
}
