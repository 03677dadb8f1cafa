/** Roles, and what they imply. */
import type { identityImplySet } from '@anneal/contracts/calls/identity.ts';
import { roleFields } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { RoleDocument } from '@anneal/directory/documents.ts';
import { authorize, domainOfScope, notAuthorized } from '@anneal/directory/policy.ts';
import { idOfRole, isFixedRole } from '@anneal/directory/principals.ts';
import type { z } from 'zod';
import type { Records } from '../directory/records.ts';
import { patch, serveKind, type ServedKind } from './kind.ts';
import { insertNew, type IdentityParts } from './parts.ts';

function refuseFixed(id: string, action: string): void {
  if (!isFixedRole(id)) return;
  throw new AnnealError(
    'Forbidden',
    `Unable to ${action} immutable role resource: \`${id}. Set resource option "immutable" to false first.`,
  );
}

const taken = (name: string): string => `Duplicate entry found with name ${name}.`;

/** Serves the roles. */
export const roleObjects = ({ directory: { roles, domains } }: IdentityParts): ServedKind =>
  serveKind({
    title: 'role',
    fields: roleFields,
    records: roles,
    rules: { create: 'create_role', update: 'update_role', delete: 'delete_role' },
    fixed: ({ id, domain_id }) => ({ id, domain_id: domain_id || null }),
    async create({ name, domain_id, description = null, extra }, { id }) {
      if (domain_id) await domains.get(domain_id);
      await insertNew(roles, { id, name, domain_id: domain_id ?? '', description, implies: [], extra }, taken(name));
    },
    async change({ options: _options, ...given }, { id, name }) {
      refuseFixed(id, 'update');
      await patch(roles, { id, taken: taken(given.name ?? name) }, given);
    },
    async remove({ id }) {
      refuseFixed(id, 'delete');
      await roles.remove(id);
    },
  });

/** Makes a role imply another one, or ends that. */
export async function setImplied(
  { directory: { roles } }: IdentityParts,
  { caller, role, implied, implies }: z.output<typeof identityImplySet.data>,
): Promise<void> {
  authorize('update_role', caller, { domainId: domainOfScope(caller) });
  const prior = await roles.get(role);
  const other = await roles.get(implied);
  if (implies) return imply(roles, prior, other);
  refuseFixed(prior.id, 'update');
  await roles.update(prior.id, (present) => ({
    ...present,
    implies: present.implies.filter((each) => each !== other.id),
  }));
}

async function imply(roles: Records<RoleDocument>, prior: RoleDocument, other: RoleDocument): Promise<void> {
  if (other.id === idOfRole('admin')) throw new AnnealError('Forbidden', `${other.id} cannot be an implied roles.`);
  refuseFixed(prior.id, 'update');
  const all = new Map((await roles.list()).map((role) => [role.id, role]));
  if (impliesRole(all, other.id, prior.id)) {
    throw notAuthorized(`${other.name} implies ${prior.name}, so ${prior.name} cannot imply ${other.name}`);
  }
  await roles.update(prior.id, (present) => ({ ...present, implies: [...new Set([...present.implies, other.id])] }));
}

/** Whether a role implies another, directly or by others. */
function impliesRole(all: ReadonlyMap<string, RoleDocument>, from: string, to: string): boolean {
  return from === to || (all.get(from)?.implies ?? []).some((each) => impliesRole(all, each, to));
}
