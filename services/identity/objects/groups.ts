/** Groups of users, and their members. The roles of a group count for every member. */
import type { identityMemberSet } from '@anneal/contracts/calls/identity.ts';
import { groupFields } from '@anneal/contracts/calls/identity-fields.ts';
import { absentMember } from '@anneal/directory/absent.ts';
import { authorize } from '@anneal/directory/policy.ts';
import type { z } from 'zod';
import { decidedByKind, patch, serveKind, type ServedKind } from './kind.ts';
import { callerDomain, checkDomain, insertNew, takenInDomain, type IdentityParts } from './parts.ts';

/** Serves the groups. */
export const groupObjects = ({ directory }: IdentityParts): ServedKind => {
  const { groups } = directory;
  return serveKind({
    title: 'group',
    fields: groupFields,
    records: groups,
    rules: { ...decidedByKind, update: 'update_group', delete: 'delete_group' },
    target: ({ domain_id }) => ({ domainId: domain_id }),
    fixed: ({ id, domain_id }) => ({ id, domain_id }),
    async create({ name, domain_id: wanted, description = '', extra }, { id, caller }) {
      const domain_id = wanted ?? callerDomain(caller);
      authorize('create_group', caller, { domainId: domain_id });
      await checkDomain(directory, domain_id);
      const draft = { id, name, domain_id, description, grants: [], extra };
      await insertNew(groups, draft, takenInDomain(draft));
    },
    change: (given, group) => patch(groups, { id: group.id, taken: takenInDomain({ ...group, ...given }) }, given),
  });
};

/** Adds a user to a group, or removes it. @throws AnnealError NotFound also for a user who is no member to remove */
export async function setMember(
  { directory: { groups, users } }: IdentityParts,
  { caller, group: groupId, user: userId, member }: z.output<typeof identityMemberSet.data>,
): Promise<void> {
  const group = await groups.get(groupId);
  const user = await users.get(userId);
  authorize(member ? 'add_user_to_group' : 'remove_user_from_group', caller, { domainId: group.domain_id });
  await users.update(user.id, (present) => {
    if (member) return { ...present, groups: [...new Set([...present.groups, group.id])] };
    if (!present.groups.includes(group.id)) throw absentMember(user.id, group.id);
    return { ...present, groups: present.groups.filter((each) => each !== group.id) };
  });
}
