/** Changes the members of a group to the wanted ones, at once or in batches. */
import { sameJson, type JsonObject } from '@anneal/contracts/json.ts';
import type { GroupMember } from './member.ts';

/**
 * Computes the members of a group of `size` after at most `changes` members are added or changed. If there are too
 * many, it removes the first of `current`. If there are too few, it adds members with the new definition. The rest of
 * `changes` gives the new definition to the first of the remaining members; the others keep theirs.
 */
export function nextMembers({
  current,
  definition,
  size,
  changes,
  newName,
}: {
  /** In the order of removal or change. */
  current: readonly GroupMember[];
  definition: (name: string) => JsonObject;
  size: number;
  changes: number;
  newName: () => string;
}): GroupMember[] {
  const stay = size === 0 ? [] : current.slice(-size);
  const missing = size - stay.length;
  let left = changes - missing;
  const kept = stay.map((member): GroupMember => {
    if (left <= 0) return member;
    const wanted = definition(member.name);
    if (sameJson(member.definition, wanted)) return member;
    left -= 1;
    return { name: member.name, definition: wanted };
  });
  const come = Array.from({ length: missing }, (): GroupMember => {
    const name = newName();
    return { name, definition: definition(name) };
  });
  return [...kept, ...come];
}

/** One batch of a rolling change. */
export interface RollingBatch {
  /** Size of the group after the batch. */
  readonly size: number;
  /** Number of members that the batch may add or change. */
  readonly changes: number;
}

/**
 * Computes the batches of a rolling update. During the update, at least `least` members of the group are not changing.
 */
export function batchesOf({
  target,
  current,
  most,
  least,
}: {
  target: number;
  current: number;
  /** Maximum number of members in a batch; at least 1 counts. */
  most: number;
  least: number;
}): RollingBatch[] {
  const batches: RollingBatch[] = [];
  let [size, updated] = [current, 0];
  while (size !== target || updated < size) {
    const changes = Math.min(Math.max(1, most), Math.max(target - updated, 0));
    const inService = Math.min(least, target, size);
    size = changes + Math.max(Math.min(size, target - changes), inService);
    updated += changes;
    batches.push({ size, changes });
  }
  return batches;
}
