/**
 * Follows the hosts and nodes: a server whose host falls silent or comes back, or whose node gets or loses a fault, is
 * replaced by its own policy, or else reported to the shard of the group around it. A server, its resource and its host
 * have one id, so that each is found from the host. A host that joined by itself has another id, and is found by its place.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { groupLost } from '@anneal/contracts/calls/scaling.ts';
import { hostEvent, nodeEvent, type HostEventData, type NodeEventData } from '@anneal/contracts/events.ts';
import { representative, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import type { TreePlace } from '@anneal/contracts/origin.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { Shards } from '../shard-map/shards.ts';
import { orderOf, scalingGroup } from '../groups/facts.ts';
import { replaceLost } from '../groups/lost.ts';
import type { HostLoss, LostServers } from './lost-servers.ts';

export interface LostHosts {
  /** The types of the events that {@link LostHosts.take} takes. */
  readonly types: readonly string[];
  take(message: Envelope): Promise<void>;
}

export function createLostHosts(parts: {
  context: Pick<ServiceContext, 'bus' | 'mint' | 'secrets'>;
  collections: Pick<SchedulingCollections, 'resources' | 'stacks'>;
  shards: Pick<Shards, 'queueOf'>;
  servers: Pick<LostServers, 'take'>;
}): LostHosts {
  const { context, collections, shards, servers } = parts;

  /**
   * The innermost group around a stack that replaces lost members or lets them leave first, and the name of its member;
   * without one the innermost group that scales, which notes them for its next update and for people.
   */
  const memberOf = async (
    stackId: string,
    name: string,
  ): Promise<{ group: StackDocument; member: string } | undefined> => {
    let member = name;
    let innermost: { group: StackDocument; member: string } | undefined;
    for (let id: string | undefined = stackId; id !== undefined;) {
      const stack: StackDocument | undefined = await collections.stacks.get(id);
      if (!stack) break;
      const kept = scalingGroup(stack);
      const properties = openProperties(context.secrets, kept?.properties ?? {});
      const follows = kept && (replaceLost(properties) || orderOf(properties) === 'unhealthy');
      if (follows) return { group: stack, member };
      if (kept) innermost ??= { group: stack, member };
      member = stack.parent?.resource_name ?? '';
      id = stack.parent?.stack_id;
    }
    return innermost;
  };

  /** The resource at a place: each part of its path names a resource, which has the id of the stack below it. */
  const resourceAt = async ({ root, path }: TreePlace): Promise<ResourceDocument | undefined> => {
    let found: ResourceDocument | undefined;
    let stack = root?.stack_id;
    for (const name of path.split('/')) {
      if (stack === undefined || name === '') return undefined;
      found = representative(await collections.resources.find({ where: { stack_id: stack, name } }));
      stack = found?.id;
    }
    return found;
  };

  return {
    types: [hostEvent.silent.type, hostEvent.up.type, nodeEvent.faultChanged.type],
    async take(message) {
      const reported = reportOf(message);
      if (!reported) return;
      const { place, ...report } = reported;
      const resource = (await collections.resources.get(report.host_id)) ?? (place && (await resourceAt(place)));
      if (!resource || (await servers.take(resource, report, { time: message.time, event: message.id }))) return;
      const found = await memberOf(resource.stack_id, resource.name);
      if (!found) return;
      const { group, member } = found;
      const note = context.mint(groupLost, {
        id: `${message.id}:lost`,
        subject: group.id,
        project: group.project,
        cause: message,
        data: { stack_id: group.id, member, ...report, since: message.time, event: message.id },
      });
      await context.bus.send({ queue: shards.queueOf(group.id), messages: [note] });
    },
  };
}

/** The report of an event about the host of a server. Undefined for a node without a server. */
function reportOf({ type, data }: Envelope): (HostLoss & { place: TreePlace | undefined }) | undefined {
  if (type === nodeEvent.faultChanged.type) {
    const { instance_id, fault = null } = data as NodeEventData;
    if (instance_id === null) return undefined;
    const found = { host_id: instance_id, lost: fault !== null, sign: 'fault' as const };
    return { ...found, ...(fault !== null && { reason: fault }), place: undefined };
  }
  const { host_id, origin } = data as HostEventData;
  return { host_id, lost: type === hostEvent.silent.type, sign: 'silence' as const, place: origin };
}
