/**
 * The one definition of a silent host, for the metric, the overview and the explanations: its agent has stopped asking
 * for work, and its server is not suspended. The machine of a suspended server is off on purpose, until it is resumed.
 */
import { hostStatuses } from '@anneal/contracts/calls/configuration.ts';
import { resourceEvent } from '@anneal/contracts/events.ts';
import { on, type Route } from '@anneal/bus/consume/route.ts';
import type { Collection } from '@anneal/store/port.ts';
import type { HostDocument } from '../collections.ts';
import { changeHost, type HostContext } from './host.ts';

/** The condition of silent hosts in the store. */
const isSilent = { status: 'silent', suspended_at: null } as const;

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

/** The silent hosts of a project, or of some of its stacks. */
export async function findSilentHosts(
  hosts: Pick<Collection<HostDocument>, 'find'>,
  { project, most, stacks }: { project: string; most: number; stacks: readonly string[] | undefined },
): Promise<HostDocument[]> {
  const where = { project, ...isSilent };
  if (!stacks) return hosts.find({ where, limit: most });
  const wanted = new Set(stacks);
  const found = await hosts.find({ where, limit: mostSearched });
  return found.filter(({ collector }) => collector && wanted.has(collector.stack_id)).slice(0, most);
}

/** The silent hosts that are read to find those of some stacks. More are an outage, which shows in other ways. */
const mostSearched = 5_000;

/** Follows the suspensions of servers: a server and its host have one id. Other resources have no host. */
export const suspensionRoutes = (context: () => HostContext): Route[] => [
  on(resourceEvent['suspend.completed'], ({ data, time }) => note(context(), data.resource_id, time)),
  on(resourceEvent['resume.started'], ({ data }) => note(context(), data.resource_id, undefined)),
];

/** The types of the events that {@link suspensionRoutes} takes. */
export const suspensionTypes = [resourceEvent['suspend.completed'].type, resourceEvent['resume.started'].type];

const note = (context: HostContext, id: string, at: string | undefined): Promise<void> =>
  changeHost(context, id, ({ suspended_at: before, ...host }) => {
    if (host.status === 'deleting' || (before === undefined) === (at === undefined)) return undefined;
    return { ...host, ...(at !== undefined && { suspended_at: at }) };
  });
