/** Trusts: a user lets another one log in with some of the user's roles in one project. */
import type {
  identitySubscriberTrustEnd,
  IdentityCaller,
  identitySubscriberTrustSet,
} from '@anneal/contracts/calls/identity.ts';
import { trustFields } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { rolesIn, scopeOfProject } from '@anneal/directory/access.ts';
import { authorize, refuseDelegated } from '@anneal/directory/policy.ts';
import { trustOfSubscription } from '@anneal/runtime/secrets/trust-token.ts';
import type { z } from 'zod';
import { decidedByKind, serveKind, type FieldsOf, type ServedKind } from './kind.ts';
import { expiryOf, idTaken, insertNew, type IdentityParts } from './parts.ts';

/** Serves the trusts. */
export const trustObjects = (parts: IdentityParts): ServedKind => {
  const { directory, now } = parts;
  const { trusts, users } = directory;
  return serveKind({
    title: 'trust',
    fields: trustFields,
    records: trusts,
    rules: decidedByKind,
    async find({ id, caller }) {
      const trust = await trusts.get(id);
      authorize('delete_trust', caller, { userId: trust.trustor_user_id });
      refuseProgram(caller);
      return trust;
    },
    async create(given, { id, caller }) {
      const { trustor_user_id, trustee_user_id, project_id, impersonation } = given;
      authorize('create_trust', caller, { userId: trustor_user_id });
      refuseProgram(caller);
      await users.get(trustee_user_id);
      const draft = {
        id,
        trustor_user_id,
        trustee_user_id,
        project_id,
        impersonation,
        roles: await heldRoles(parts, given),
        expires_at: expiryOf(given.expires_at ?? null, now()),
        remaining_uses: given.remaining_uses ?? null,
      };
      await insertNew(trusts, draft, idTaken);
    },
  });
};

/** A program that acts for a user must not be able to pass that on. */
function refuseProgram({ application_credential: credential, trust }: IdentityCaller): void {
  refuseDelegated({ trust, credential }, 'manage trusts');
}

/** @throws AnnealError Forbidden without roles, NotFound for a role that the trustor does not have in the project */
async function heldRoles(
  { directory }: IdentityParts,
  { trustor_user_id, project_id, roles = [] }: FieldsOf<typeof trustFields>,
): Promise<string[]> {
  if (roles.length === 0) {
    throw new AnnealError('Forbidden', 'At least one role should be specified.');
  }
  const [trustor, project] = await Promise.all([
    directory.users.get(trustor_user_id),
    directory.projects.get(project_id),
  ]);
  const held = await rolesIn(directory, trustor, await scopeOfProject(directory, project));
  return roles.map(({ id, name }) => {
    const found = held.find((role) => (id === undefined ? role.name === name : role.id === id));
    if (!found) throw directory.roles.absent(id ?? name ?? '');
    return found.id;
  });
}

/**
 * Makes the trust by which messages of a subscription are posted, with its user as trustor and trustee, or gives it to
 * this user. Without a user, changes only the end of the trust, if there is one.
 */
export async function setSubscriberTrust(
  { directory: { trusts } }: IdentityParts,
  { subscription, until, user }: z.output<typeof identitySubscriberTrustSet.data>,
): Promise<void> {
  const id = trustOfSubscription(subscription);
  if (!user) {
    if (await trusts.find(id)) await trusts.update(id, (trust) => ({ ...trust, expires_at: until }));
    return;
  }
  const draft = {
    id,
    trustor_user_id: user.id,
    trustee_user_id: user.id,
    project_id: user.project,
    impersonation: true,
    roles: user.roles,
    expires_at: until,
    remaining_uses: null,
  };
  try {
    await trusts.insert(draft, idTaken);
  } catch (error) {
    if (!hasCode(error, 'AlreadyExists')) throw error;
    await trusts.update(id, () => draft);
  }
}

/** Ends the trust of a subscription, if it has one. */
export async function endSubscriberTrust(
  { directory: { trusts } }: IdentityParts,
  { subscription }: z.output<typeof identitySubscriberTrustEnd.data>,
): Promise<void> {
  const id = trustOfSubscription(subscription);
  if (await trusts.find(id)) await trusts.remove(id);
}
