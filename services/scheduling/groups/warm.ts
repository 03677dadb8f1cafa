/**
 * The warm pool of a group: members that are complete and wait out of service. Pure.
 *
 * W1 A name is in service or in the pool, never in both. A member only moves from the pool into service.
 * W2 A group that grows takes complete members from its pool, the oldest first, and creates the others. A refresh takes
 *    none, because it replaces members that are older than itself.
 * W3 A scaling only takes from the pool, so that nothing delays it. The group fills the pool in a change of its own.
 */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { victimsIn, type Candidate } from './victims.ts';

/** The number of members that the group holds in its pool; 0 without a pool. */
export function poolSize({ warm_pool: pool }: JsonObject): number {
  return isObject(pool) ? (numberOf(pool['size']) ?? 0) : 0;
}

/** A member of a pool. */
export interface PoolMember extends Candidate {
  /** It is complete, so that it can enter service. */
  readonly ready: boolean;
}

/** The names of the members that enter service: W2. Lost members stay in the pool until they are replaced. */
export function takenFrom(pool: readonly PoolMember[], need: number): string[] {
  const fit = pool.filter(({ ready, failed, unhealthy }) => ready && !failed && unhealthy !== true);
  return victimsIn('oldest', { members: fit, safe: new Set() }).slice(0, need);
}

/** The names of a pool of `size`: it adds members, or removes the failed and lost ones and then the newest. */
export function filledPool(
  pool: readonly PoolMember[],
  { size, newName }: { size: number; newName: () => string },
): string[] {
  const names = pool.map(({ name }) => name);
  if (names.length <= size) return [...names, ...Array.from({ length: size - names.length }, newName)];
  const lost = pool.map((member) => ({ ...member, failed: member.failed || member.unhealthy === true }));
  const gone = new Set(victimsIn('newest', { members: lost, safe: new Set() }).slice(0, names.length - size));
  return names.filter((name) => !gone.has(name));
}

/** Whether the pool of a group has room. */
export const hasRoom = (properties: JsonObject, warm: readonly unknown[] = []): boolean =>
  warm.length < poolSize(properties);
