/** Reads groups that scale: their members, and why they scaled or did not. */
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { groupList, groupShow, GroupView } from '@anneal/contracts/calls/scaling.ts';
import type { JsonObject, SealableObject } from '@anneal/contracts/json.ts';
import { representative, type ResourceDocument, type StackDocument } from '@anneal/convergence/documents.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { z } from 'zod';
import type { SchedulingCollections } from '../collections.ts';
import { cooldownEnd } from '../groups/cooldown.ts';
import { scalingGroup } from '../groups/facts.ts';
import { lossText } from '../groups/lost.ts';
import { serversOf } from '../groups/member-events.ts';
import type { ScalingState } from '../groups/scaling-state.ts';
import { boundsOf } from '../groups/size.ts';
import { poolSize } from '../groups/warm.ts';
import type { TreePlaces } from '../events/places.ts';
import type { GroupState } from '../groups/kept.ts';
import { groupPage, scalingGroupRow, refreshView } from './group-list.ts';

type Question = z.infer<typeof groupShow.data>;

export interface GroupReading {
  /** The id of the group's own stack. @throws AnnealError NotFound */
  idOf(question: Omit<Question, 'action'>): Promise<string>;
  show(question: Question): Promise<GroupView>;
  list(question: z.infer<typeof groupList.data>): Promise<z.infer<typeof groupList.answer>>;
}

export function createGroupReading(parts: {
  collections: Pick<SchedulingCollections, 'resources' | 'stacks'>;
  secrets: Secrets;
  find: (which: { project: string; stack: string }) => Promise<StackDocument>;
  places: Pick<TreePlaces, 'of'>;
}): GroupReading {
  const { collections, secrets, find, places } = parts;
  const open = (properties: SealableObject): JsonObject => openProperties(secrets, properties);

  const groupAt = async ({ project, stack: named, group }: Question): Promise<StackDocument> => {
    const stack = await find({ project, stack: named });
    // The group's own stack may be named, too.
    if (scalingGroup(stack) && (group === '' || group === stack.parent?.resource_name)) return stack;
    const found = await collections.resources.find({ where: { stack_id: stack.id, name: group } });
    const resource = representative(found);
    if (!resource)
      throw new AnnealError('NotFound', `The Resource (${group}) could not be found in Stack ${stack.name}.`);
    const own = await collections.stacks.get(resource.id);
    if (own && own.deleted_at === null && scalingGroup(own)) return own;
    const message = `${group} of ${stack.name} is no group that scales: it is ${resource.type}, ${resource.action} ${resource.status}.`;
    throw new AnnealError('NotSupported', message);
  };

  return {
    idOf: async (question) => (await groupAt(question)).id,
    async show(question) {
      const stack = await groupAt(question);
      const resources = await collections.resources.find({ where: { stack_id: stack.id } });
      return groupView(stack, { resources, open });
    },
    async list(question) {
      const stacks = await groupPage(collections.stacks, question);
      const row = async (stack: StackDocument) => scalingGroupRow(stack, { place: await places.of(stack), open });
      return { groups: await Promise.all(stacks.map(row)) };
    },
  };
}

function groupView(
  stack: StackDocument,
  { resources, open }: { resources: readonly ResourceDocument[]; open: (properties: SealableObject) => JsonObject },
): GroupView {
  const kept = scalingGroup(stack);
  const state: GroupState | undefined = kept?.members;
  const scaling: ScalingState = state?.scaling ?? {};
  const byName = Map.groupBy(resources, ({ name }) => name);
  const names = state?.names ?? [];
  const warm = state?.warm ?? [];
  const properties = open(kept?.properties ?? {});
  const size = poolSize(properties);
  const { least, most } = boundsOf(properties);
  const memberAt = (name: string): GroupView['members'][number] => {
    const resource = representative(byName.get(name) ?? []);
    return {
      name,
      resource_id: resource?.id ?? null,
      status: resource ? `${resource.action}_${resource.status}` : 'INIT',
      protected: scaling.protected?.includes(name) ?? false,
      lost_since: scaling.lost?.[name]?.since ?? null,
      lost_reason: scaling.lost?.[name] ? lossText(scaling.lost[name]) : null,
      created_at: resource?.created_at ?? null,
      servers: resource ? serversOf(resource) : [],
    };
  };
  return {
    stack_id: stack.id,
    stack_name: stack.name,
    name: stack.parent?.resource_name ?? stack.name,
    type: kept?.type ?? '',
    status: `${stack.action}_${stack.status}`,
    size: names.length,
    min_size: least,
    max_size: Number.isFinite(most) ? most : null,
    paused: scaling.paused ?? 'none',
    cooldown_until: state ? cooldownEnd(state.cooldown, stack) : null,
    deciding: decidingView(scaling),
    refresh: refreshView(scaling, [...names, ...warm]),
    members: names.map(memberAt),
    ...(size > 0 || warm.length > 0
      ? {
          warm_pool: {
            size,
            members: warm.map(memberAt),
            ...(scaling.unfilled && warm.length < size && { unfilled: scaling.unfilled }),
          },
        }
      : {}),
    outcomes: [...(scaling.outcomes ?? [])].reverse(),
  };
}

function decidingView({ deciding }: ScalingState): GroupView['deciding'] {
  if (!deciding) return null;
  const { proposal, token, since, deadline } = deciding;
  const { id, before, after, leaving, candidates } = proposal;
  return { id, token, since, deadline, before, after, leaving: [...leaving], candidates: [...candidates] };
}
