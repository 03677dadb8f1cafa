/** How a group goes from the members it has to those it should have: at once, or batch by batch. */
import { sameJson, type JsonObject } from '@anneal/contracts/json.ts';
import type { Member } from './member.ts';

/**
 * The members of a group of `size`, of which at most `changes` have come or changed. Too many: the first of `current` go.
 * Too few: new ones come, with the new definition. What is left of `changes` gives the new definition to the first of those
 * that stay; the others keep the one they have.
 */
export function nextMembers({
  current,
  definition,
  size,
  changes,
  newName,
}: {
  /** In the order in which they are removed or changed. */
  current: readonly Member[];
  definition: (name: string) => JsonObject;
  size: number;
  changes: number;
  newName: () => string;
}): Member[] {
  const stay = size === 0 ? [] : current.slice(-size);
  const missing = size - stay.length;
  let left = changes - missing;
  const kept = stay.map((member): Member => {
    if (left <= 0) return member;
    const wanted = definition(member.name);
    if (sameJson(member.definition, wanted)) return member;
    left -= 1;
    return { name: member.name, definition: wanted };
  });
  const come = Array.from({ length: missing }, (): Member => {
    const name = newName();
    return { name, definition: definition(name) };
  });
  return [...kept, ...come];
}

export interface Batch {
  /** Of the group once the batch is done. */
  readonly size: number;
  /** How many members may come or change in it. */
  readonly changes: number;
}

/** The batches of a rolling update. While it runs the group never has fewer than `least` members that are not changing. */
export function batchesOf({
  target,
  current,
  most,
  least,
}: {
  target: number;
  current: number;
  /** Members in a batch; at least one. */
  most: number;
  least: number;
}): Batch[] {
  const batches: Batch[] = [];
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
