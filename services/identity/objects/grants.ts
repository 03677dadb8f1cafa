/** Roles of users and groups on projects, domains and the system. */
import type { IdentityCaller, identityGrantSet } from '@anneal/contracts/calls/identity.ts';
import type { Grant, RoleDocument } from '@anneal/directory/documents.ts';
import { authorize } from '@anneal/directory/policy.ts';
import { absentGrant } from '@anneal/directory/absent.ts';
import type { z } from 'zod';
import type { Directory } from '../directory/directory.ts';
import type { IdentityParts } from './parts.ts';

/** Grants a role to a user or group, or revokes it. @throws AnnealError NotFound also for one that it does not have */
export async function setGrant(
  { directory }: IdentityParts,
  question: z.output<typeof identityGrantSet.data>,
): Promise<void> {
  const { caller, holder, role: roleId, on, inherited, granted, id } = question;
  const domainId = await domainOfPlace(directory, question);
  const found = await directory[holder.kind].get(holder.id);
  if (on === 'system') authorize('create_system_grant', caller, {});
  // A manager of a domain grants only inside it.
  else {
    const target = { domainId: found.domain_id === domainId ? domainId : '' };
    authorize(granted ? 'create_grant' : 'revoke_grant', caller, target);
  }
  const role = await directory.roles.get(roleId);
  checkHeight(caller, role);
  const isThis = (grant: Grant): boolean =>
    grant.on === on && grant.id === id && grant.inherited === inherited && grant.role_id === role.id;
  const change = (grants: readonly Grant[]): readonly Grant[] => {
    const rest = grants.filter((grant) => !isThis(grant));
    if (granted) return [...rest, { role_id: role.id, on, id, inherited }];
    if (rest.length === grants.length) throw absentGrant(role.id, found.id, id);
    return rest;
  };
  await (holder.kind === 'users'
    ? directory.users.update(found.id, (present) => ({ ...present, grants: change(present.grants) }))
    : directory.groups.update(found.id, (present) => ({ ...present, grants: change(present.grants) })));
}

/** The domain of the object; undefined for the system. @throws AnnealError NotFound */
async function domainOfPlace(
  { projects, domains }: Directory,
  { on, id }: Pick<Grant, 'on' | 'id'>,
): Promise<string | undefined> {
  if (on === 'system') return undefined;
  return on === 'project' ? (await projects.get(id)).domain_id : (await domains.get(id)).id;
}

/** A manager of a domain grants no role above its own. @throws AnnealError Forbidden */
function checkHeight(caller: IdentityCaller, { name }: RoleDocument): void {
  const isHigher = !['manager', 'member', 'reader'].includes(name);
  if (isHigher && !caller.roles.some((each) => each.name === 'admin')) authorize('create_system_grant', caller, {});
}
