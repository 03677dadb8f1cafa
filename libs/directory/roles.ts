/** Effective roles: pure functions of the directory's documents. */
import type { Grant, RoleDocument } from './documents.ts';

/** The object that a token or a question is about. */
export type RoleScope =
  | {
      readonly on: 'project';
      readonly id: string;
      /** The projects above, nearest first. */ readonly above: readonly string[];
      readonly domain: string;
    }
  | { readonly on: 'domain'; readonly id: string }
  | { readonly on: 'system' };

/** Whether a grant counts in a scope, as in Keystone: an inherited one counts below its object and not on it. */
export function countsIn(grant: Grant, scope: RoleScope): boolean {
  if (scope.on === 'system') return grant.on === 'system';
  if (!grant.inherited) return grant.on === scope.on && grant.id === scope.id;
  if (scope.on === 'domain') return false;
  return grant.on === 'domain' ? grant.id === scope.domain : grant.on === 'project' && scope.above.includes(grant.id);
}

/** These roles and all that they imply, each once. `byId` holds the roles that exist; others give nothing. */
export function withImplied(ids: Iterable<string>, byId: ReadonlyMap<string, RoleDocument>): RoleDocument[] {
  const found = new Map<string, RoleDocument>();
  const open = [...ids];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const role = byId.get(id);
    if (!role || found.has(id)) continue;
    found.set(id, role);
    open.push(...role.implies);
  }
  return [...found.values()];
}
