/**
 * Follows the hosts: a member of a group whose host falls silent or comes back is reported to the shard of the group. A
 * server, its resource and its host have one id, so that each is found from the host.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { groupLost } from '@anneal/contracts/calls/scaling.ts';
import { hostEvent, type HostEventData } from '@anneal/contracts/events.ts';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { Shards } from '../shards/shards.ts';
import { orderOf, scalingGroup } from './facts.ts';
import { replaceLost } from './lost.ts';

export interface LostHosts {
  /** The types of the events that {@link LostHosts.take} takes. */
  readonly types: readonly string[];
  take(message: Envelope): Promise<void>;
}

export function createLostHosts(parts: {
  context: Pick<ServiceContext, 'bus' | 'mint'>;
  collections: Pick<SchedulingCollections, 'resources' | 'stacks'>;
  shards: Pick<Shards, 'queueOf'>;
}): LostHosts {
  const { context, collections, shards } = parts;

  /** The innermost group around a stack that follows lost hosts, and the name of its member. */
  const memberOf = async (
    stackId: string,
    name: string,
  ): Promise<{ group: StackDocument; member: string } | undefined> => {
    let member = name;
    for (let id: string | undefined = stackId; id !== undefined;) {
      const stack: StackDocument | undefined = await collections.stacks.get(id);
      if (!stack) return undefined;
      const kept = scalingGroup(stack);
      // The names of these properties are not secret, so the stored form is enough.
      const follows = kept && (replaceLost(kept.properties) || orderOf(kept.properties) === 'unhealthy');
      if (follows) return { group: stack, member };
      member = stack.parent?.resource_name ?? '';
      id = stack.parent?.stack_id;
    }
    return undefined;
  };

  return {
    types: [hostEvent.silent.type, hostEvent.up.type],
    async take(message) {
      const { host_id } = message.data as HostEventData;
      const resource = await collections.resources.get(host_id);
      const found = resource && (await memberOf(resource.stack_id, resource.name));
      if (!found) return;
      const { group, member } = found;
      const lost = message.type === hostEvent.silent.type;
      const data = { stack_id: group.id, member, host_id, lost, since: message.time, event: message.id };
      const note = context.mint(groupLost, {
        id: `${message.id}:lost`,
        subject: group.id,
        project: group.project,
        cause: message,
        data,
      });
      await context.bus.send({ queue: shards.queueOf(group.id), messages: [note] });
    },
  };
}
