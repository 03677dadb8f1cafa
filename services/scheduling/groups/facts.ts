/** Reads a group from the state of its stack. */
import { type VictimOrder, victimOrders } from '@anneal/contracts/calls/scaling.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { isLeaving, isUncreated, representative, type ResourceDocument } from '@anneal/convergence/documents.ts';
import type { State } from '@anneal/convergence/state.ts';
import { hasMembers, scalingGroupTypes } from '@anneal/hot/groups/kind.ts';
import { fromKept, type GroupState, type StoredNestedRequest } from './kept.ts';
import type { Group, Member } from './decision.ts';
import { boundsOf } from './size.ts';

/** Whether policies may change the size of a group of this type. */
export const scales = (type: string): boolean => scalingGroupTypes.includes(type);

type StoredGroup = StoredNestedRequest & { members: GroupState };

/** The stored parts of a group that scales; undefined for any other stack. */
export const scalingGroup = (stack: State['stack']): StoredGroup | undefined => storedGroup(stack, scales);

/** The same for a group whose members enter and leave, with events: one that scales, or one with numbered members. */
export const memberGroup = (stack: State['stack']): StoredGroup | undefined => storedGroup(stack, hasMembers);

function storedGroup(stack: State['stack'], isWanted: (type: string) => boolean): StoredGroup | undefined {
  const kept = fromKept(stack.group);
  return kept?.members && stack.parent && isWanted(kept.type) ? { ...kept, members: kept.members } : undefined;
}

/** Whether the group holds this member in its warm pool. */
export const isHeld = (stack: State['stack'], name: string): boolean =>
  fromKept(stack.group)?.members?.warm?.includes(name) === true;

/** Whether nested stacks of this one list their servers, because events of a group report them. */
export const showsServers = (stack: State['stack']): boolean =>
  memberGroup(stack) !== undefined || fromKept(stack.group)?.shows_servers === true;

/** When the resource entered service from a warm pool, or else was complete for the first time, as far as its document shows it; null: not yet. */
export const sinceOf = (resource: ResourceDocument): string | null => {
  const { action, status, created_at, finished_at, entered_at } = resource;
  if (entered_at) return entered_at;
  if (action === 'INIT' || isUncreated(resource) || (action === 'CREATE' && status !== 'COMPLETE')) return null;
  return action === 'CREATE' ? (finished_at ?? created_at) : created_at;
};

/** `properties`: those of the group, with secrets opened. */
export function groupOf(
  { stack, resources, byName }: Pick<State, 'stack' | 'resources' | 'byName'>,
  { kept, properties, now }: { kept: StoredNestedRequest; properties: JsonObject; now: number },
): Group {
  const { members: stored } = kept;
  const state = stored?.scaling ?? {};
  const read = (name: string): Member => {
    const found = representative([...(byName.get(name) ?? [])].flatMap((id) => resources.get(id) ?? []));
    return {
      name,
      created_at: found?.created_at ?? '9',
      failed: found?.status === 'FAILED',
      unhealthy: state.lost?.[name] !== undefined,
      since: found ? sinceOf(found) : null,
    };
  };
  const members = (stored?.names ?? []).map(read);
  return {
    stack,
    members,
    lingers: stack.status === 'FAILED' && stack.action === 'UPDATE' && failsByLeaving([...resources.values()]),
    warm: stored?.warm ?? [],
    filling: stored?.filling === true && stack.action === 'UPDATE' && stack.status === 'IN_PROGRESS',
    state,
    cooldown: stored?.cooldown ?? { until: null, seconds: 0 },
    seconds: Number(properties['cooldown'] ?? properties['Cooldown'] ?? 0),
    bounds: boundsOf(properties),
    order: orderOf(properties),
    now,
  };
}

/** Whether some members that leave could not be deleted, and nothing else has failed. */
function failsByLeaving(resources: readonly ResourceDocument[]): boolean {
  const failed = resources.filter(({ status }) => status !== 'COMPLETE');
  return failed.length > 0 && failed.every(isLeaving);
}

/** The order of the properties in which members leave; Heat's without one. */
export function orderOf(properties: JsonObject): VictimOrder {
  const given = properties['victims'];
  return victimOrders.find((order) => order === given) ?? 'oldest';
}
