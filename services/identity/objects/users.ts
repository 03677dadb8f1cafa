/** Users and their passwords. */
import { userFields, type userOptionsSchema } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { newUser } from '@anneal/directory/documents.ts';
import { authorize } from '@anneal/directory/policy.ts';
import { adminUser } from '@anneal/directory/principals.ts';
import type { z } from 'zod';
import { decidedByKind, patch, serveKind, type ServedKind } from './kind.ts';
import { callerDomain, insertNew, takenInDomain, type IdentityParts } from './parts.ts';
import { removeUser } from './removal.ts';

/** Serves the users. */
export const userObjects = (parts: IdentityParts): ServedKind => {
  const { directory, now } = parts;
  const { users, passwords } = directory;
  return serveKind({
    title: 'user',
    fields: userFields,
    records: users,
    rules: { ...decidedByKind, update: 'update_user', delete: 'delete_user' },
    target: ({ id, domain_id }) => ({ domainId: domain_id, userId: id }),
    fixed: ({ id, domain_id }) => ({ id, domain_id }),
    async create({ name, domain_id: wanted, password, ...rest }, { id, caller }) {
      const domain_id = wanted ?? callerDomain(caller);
      authorize('create_user', caller, { domainId: domain_id });
      // Keystone answers 404 for a user in an unknown domain, and 400 for a project or group.
      await directory.domains.get(domain_id);
      const draft = {
        ...newUser({ id, name, domain_id }),
        ...rest,
        password: password == null ? null : await passwords.hash(password),
        options: keptOptions({}, rest.options),
      };
      await insertNew(users, draft, takenInDomain(draft));
    },
    async change({ password, options: wanted, ...rest }, user) {
      if (user.id === adminUser.id && rest.enabled === false) {
        throw new AnnealError('Forbidden', 'Cannot disable the user admin: it is the one that can always log in.');
      }
      const stored = password == null ? password : await passwords.hash(password);
      const ends = stored !== undefined || rest.enabled === false;
      await patch(users, { id: user.id, taken: takenInDomain({ ...user, ...rest }) }, ({ options: present }) => ({
        ...rest,
        ...(stored !== undefined && { password: stored }),
        ...(ends && { tokens_from: now().toISOString() }),
        options: keptOptions(present, wanted),
      }));
    },
    remove: ({ id }) => removeUser(parts, id),
  });
};

/** Null removes an option. */
function keptOptions(present: JsonObject, given: z.infer<typeof userOptionsSchema> | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries({ ...present, ...given } as JsonObject).filter(([, value]) => value != null),
  );
}
