/** Application credentials: secrets by which programs log in for a user, in one project. Also the access rules of users. */
import { createHash } from 'node:crypto';
import type { IdentityCaller } from '@anneal/contracts/calls/identity.ts';
import { applicationCredentialFields, type accessRuleSchema } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { absentCredential, absentRule } from '@anneal/directory/absent.ts';
import type { AccessRule } from '@anneal/directory/documents.ts';
import { notAuthorized, type PolicyTarget } from '@anneal/directory/policy.ts';
import type { z } from 'zod';
import type { Directory } from '../directory/directory.ts';
import { decidedByKind, serveKind, type FieldsOf, type ObjectQuestion, type ServedKind } from './kind.ts';
import { expiryOf, insertNew, type IdentityParts } from './parts.ts';

type WantedRule = z.infer<typeof accessRuleSchema>;

/** The user of the address, as the target of a rule. @throws AnnealError NotFound */
const placeOfUser =
  ({ users }: Directory) =>
  async ({ user = '' }: ObjectQuestion): Promise<PolicyTarget> => {
    const { id, domain_id } = await users.get(user);
    return { userId: id, domainId: domain_id };
  };

/** Serves the application credentials of users. */
export const applicationCredentialObjects = (parts: IdentityParts): ServedKind => {
  const { applicationCredentials } = parts.directory;
  return serveKind({
    title: 'application credential',
    fields: applicationCredentialFields,
    records: applicationCredentials,
    rules: {
      ...decidedByKind,
      create: 'create_application_credential',
      delete: 'delete_application_credential',
    },
    place: placeOfUser(parts.directory),
    async find({ id, user }) {
      const found = await applicationCredentials.find(id);
      if (found && found.user_id === user) return found;
      throw absentCredential(id);
    },
    create: (given, question) => createCredential(parts, question, given),
    async remove({ id }, { caller }) {
      refuseRestricted(caller);
      await applicationCredentials.remove(id);
    },
  });
};

async function createCredential(
  { directory, now }: IdentityParts,
  { caller, id, user = '' }: ObjectQuestion,
  wanted: FieldsOf<typeof applicationCredentialFields>,
): Promise<void> {
  const { project, roles: held, application_credential: used, trust } = caller;
  refuseRestricted(caller);
  if (trust) throw notAuthorized('Delegated tokens cannot manage application credentials.');
  if (!project) {
    throw new AnnealError('InvalidRequest', 'An application credential needs a token with a project as its scope.');
  }
  if (wanted.secret == null) throw new AnnealError('InvalidRequest', 'An application credential needs a secret.');
  const roles = (wanted.roles ?? held).map((each) => {
    const role = held.find((one) => one.id === each.id || one.name === each.name);
    if (role) return role.id;
    throw new AnnealError(
      'InvalidRequest',
      'Invalid application credential: Cannot create an application credential with unassigned role',
    );
  });
  // A program must not give another one more than it may do itself.
  const rules =
    used?.access_rules ??
    (wanted.access_rules?.length ? await storedRules(directory, user, wanted.access_rules) : undefined);
  await insertNew(
    directory.applicationCredentials,
    {
      id,
      user_id: user,
      name: wanted.name,
      description: wanted.description ?? null,
      project_id: project.id,
      roles,
      secret: await directory.passwords.hash(wanted.secret),
      expires_at: expiryOf(wanted.expires_at ?? null, now()),
      unrestricted: wanted.unrestricted === true,
      ...(rules && { access_rules: rules }),
    },
    `Duplicate entry found with name ${wanted.name}.`,
  );
}

/** A program that got a credential must not be able to make others. */
function refuseRestricted({ application_credential: used }: IdentityCaller): void {
  if (!used || used.unrestricted) return;
  throw notAuthorized(
    "Using method 'application_credential' is not allowed for managing additional application credentials.",
  );
}

/** Serves the access rules of users, which come with application credentials and are only deleted by themselves. */
export const accessRuleObjects = ({ directory }: IdentityParts): ServedKind => {
  const { accessRules, applicationCredentials } = directory;
  return serveKind({
    title: 'access rule',
    fields: {},
    records: accessRules,
    rules: { ...decidedByKind, delete: 'delete_application_credential' },
    place: placeOfUser(directory),
    async find({ id, user }) {
      const rule = await accessRules.find(id);
      if (rule && rule.user_id === user) return rule;
      throw absentRule(id);
    },
    async remove({ id, user_id }) {
      const credentials = await applicationCredentials.list({ user_id });
      const using = credentials.find(({ access_rules: rules = [] }) => rules.some((rule) => rule.id === id));
      if (using) {
        throw new AnnealError(
          'Forbidden',
          `Could not delete the access rule ${id}: the application credential ${using.name} uses it.`,
        );
      }
      await accessRules.remove(id);
    },
  });
};

/** The rules that a new application credential names, stored for its user. @throws AnnealError NotFound for an unknown id */
async function storedRules(
  { accessRules }: Directory,
  user_id: string,
  wanted: readonly WantedRule[],
): Promise<AccessRule[]> {
  const rules: AccessRule[] = [];
  for (const each of wanted) {
    // Equal rules of a user have the same id, so that a repeat makes no other.
    const id =
      'id' in each
        ? each.id
        : createHash('sha256')
            .update(JSON.stringify([user_id, each.service, each.method, each.path]))
            .digest('hex')
            .slice(0, 32);
    const known = await accessRules.find(id);
    if ('id' in each) {
      if (known?.user_id !== user_id) throw absentRule(id);
      rules.push(known);
      continue;
    }
    const { service, method, path } = each;
    rules.push(known ?? (await accessRules.insert({ id, user_id, service, method, path }, 'it exists')));
  }
  return rules.map(({ id, service, method, path }) => ({ id, service, method, path }));
}
