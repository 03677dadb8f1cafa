/**
 * The one definition of a silent host, for the metric, the overview and the explanations: its agent has stopped asking
 * for work, and its server is not suspended. The machine of a suspended server is off on purpose, until it is resumed.
 */
import { hostStatuses } from '@anneal/contracts/calls/hosts.ts';
import { resourceEvent } from '@anneal/contracts/events.ts';
import { on, type MessageRoute } from '@anneal/bus/consume/route.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { HostDocument } from '../collections.ts';
import { changeHost, type HostContext } from './host.ts';

/** The condition of silent hosts in the store. */
export const isSilent = { status: 'silent', suspended_at: null } as const;

/** The groups in which hosts are counted: their statuses, and those that are silent because they are suspended. */
export const countedHosts = [...hostStatuses, 'suspended'] as const;

/** Counts the hosts of a group, of one project or of all. Reads one range of an index. */
export async function countHosts(
  hosts: Pick<Collection<HostDocument>, 'count'>,
  group: (typeof countedHosts)[number],
  within: { project?: string } = {},
): Promise<number> {
  if (group === 'silent') return hosts.count({ ...within, ...isSilent });
  if (group !== 'suspended') return hosts.count({ ...within, status: group });
  return hosts.count({ ...within, status: 'silent', suspended_at: { gt: '' } });
}

/** The silent hosts of a project, or of some of its stacks, or of one server. */
export async function findSilentHosts(
  hosts: Pick<Collection<HostDocument>, 'find'>,
  {
    project,
    most,
    stacks,
    resource,
  }: { project: string; most: number; stacks?: string[] | undefined; resource?: string | undefined },
): Promise<HostDocument[]> {
  if (!stacks) return hosts.find({ where: { project, ...isSilent }, limit: most });
  const server = resource === undefined ? {} : { 'collector.resource_name': resource };
  const found = await hosts.find({
    where: { 'collector.stack_id': { in: stacks }, ...isSilent, ...server },
    limit: most,
  });
  return found.filter((host) => host.project === project);
}

/** Follows the suspensions of servers: a server and its host have one id. Other resources have no host. */
export const suspensionRoutes = (context: () => HostContext): MessageRoute[] => [
  on(resourceEvent['suspend.completed'], ({ data, time }) => noteSuspension(context(), data.resource_id, time)),
  // A server whose resume needs no time does not start it.
  ...[resourceEvent['resume.started'], resourceEvent['resume.completed']].map((resumed) =>
    on(resumed, ({ data }) => noteSuspension(context(), data.resource_id, undefined)),
  ),
];

/** The types of the events that {@link suspensionRoutes} takes. */
export const suspensionTypes = (['suspend.completed', 'resume.started', 'resume.completed'] as const).map(
  (step) => resourceEvent[step].type,
);

/** Notes when the server of a host was suspended, or with undefined that it is not. A repeat changes nothing. */
export const noteSuspension = (context: HostContext, id: string, at: string | undefined): Promise<void> =>
  changeHost(context, id, ({ suspended_at: before, ...host }) => {
    if (host.status === 'deleting' || (before === undefined) === (at === undefined)) return undefined;
    return { ...host, ...(at !== undefined && { suspended_at: at }) };
  });
