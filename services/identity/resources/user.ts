/** `OS::Keystone::User`: users as resources. */
import { nameField, textField } from '@anneal/contracts/calls/identity-fields.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import { parseField } from '@anneal/contracts/field-mistakes.ts';
import { z } from 'zod';
import { newUser, type StoredPassword, type UserDocument } from '@anneal/directory/documents.ts';
import type { Passwords } from '../directory/passwords.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';
import { removeUser } from '../objects/removal.ts';
import { takenInDomain, type IdentityParts } from '../objects/parts.ts';
import { rolesField } from './assignments.ts';
import { insertOwn, needsNew, type IdentityKind, type WantedObject } from './kind.ts';
import { domainId, grantsAfter, grantsOf, idIn } from './references.ts';

const groupsField = z.array(z.string()).nullish();
const fields = z.object({
  name: nameField(255),
  domain: z.string().nullish(),
  description: textField.optional(),
  enabled: z.boolean().nullish(),
  email: z.string().max(65_535).nullish(),
  password: z.string().min(1).max(4096).nullish(),
  default_project: z.string().nullish(),
  groups: groupsField,
  roles: rolesField,
});

export const userKind: IdentityKind = {
  owns: async ({ directory }, id) => (await directory.users.find(id)) !== undefined,
  isWhole: async ({ directory }, { id }) => (await directory.users.find(id)) !== undefined,
  remove: (options, id) => removeUser(options, id),
  async apply(options, wish) {
    const { directory } = options;
    const { id, before, properties, request } = wish;
    const name = properties['name'] ?? request.data.resource.physical_name;
    const wanted = parseField(fields, { ...properties, name }, 'The user');
    const domain_id = await domainId(directory, wanted.domain ?? defaultDomain.id);
    const known = await directory.users.find(id);
    if (before && !known) return needsNew(`The user ${wanted.name} was deleted.`);
    if (known && known.domain_id !== domain_id) {
      return needsNew(`The domain of the user ${wanted.name} cannot change.`);
    }
    const change = await changeOf(options, wish, { wanted, known });
    const taken = takenInDomain({ name: wanted.name, domain_id });
    const fresh = { ...newUser({ id, name: wanted.name, domain_id }), version: 0 };
    if (!known) await insertOwn(directory.users, change(fresh), { name: wanted.name, taken });
    else await directory.users.update(id, change, taken);
    return { kind: 'complete', physical_id: id, attributes: attributesOf(await directory.users.get(id)) };
  },
};

const attributesOf = ({ name, default_project_id, domain_id, enabled }: UserDocument) => ({
  name,
  default_project_id,
  domain_id,
  enabled,
  password_expires_at: null,
});

/** The change of the document. It applies to the present state, because others change users too. */
async function changeOf(
  { directory, now }: IdentityParts,
  { id, before, applies }: WantedObject,
  { wanted, known }: { wanted: z.infer<typeof fields>; known: UserDocument | undefined },
): Promise<(present: UserDocument) => UserDocument> {
  const { name, description = '', email, default_project: project } = wanted;
  const enabled = wanted.enabled ?? true;
  const grants = await grantsOf(directory, wanted.roles ?? []);
  const joins: string[] = [];
  for (const group of wanted.groups ?? []) joins.push(await idIn(directory, directory.groups, group));
  const leaves = before ? await presentGroups(directory, before['groups']) : [];
  const default_project_id = project == null ? null : await idIn(directory, directory.projects, project);
  const password = applies('password')
    ? await passwordOf(directory.passwords, known?.password ?? null, wanted.password ?? null)
    : known?.password;
  const isOther = known !== undefined && password !== known.password;
  return (present) => {
    const ends = isOther || (applies('enabled') && present.enabled && !enabled);
    const { email: former, ...extra } = present.extra;
    const address = applies('email') ? email : former;
    return {
      ...present,
      ...(applies('name') && { name }),
      ...(applies('description') && { description }),
      ...(applies('enabled') && { enabled }),
      ...(applies('default_project') && { default_project_id }),
      ...(applies('password') && { password: password ?? null }),
      ...(applies('groups') && {
        groups: [...new Set([...present.groups.filter((each) => !leaves.includes(each)), ...joins])],
      }),
      grants: grantsAfter(present.grants, grants, id),
      ...(ends && { tokens_from: now().toISOString() }),
      extra: { ...extra, ...(address != null && { email: address }) },
    };
  };
}

/** Keeps the stored hash of the same password, so that a repeat ends no tokens. */
async function passwordOf(
  passwords: Passwords,
  stored: StoredPassword | null,
  given: string | null,
): Promise<StoredPassword | null> {
  if (given === null) return null;
  return stored && (await passwords.matches(stored, given)) ? stored : passwords.hash(given);
}

/** The groups of the earlier properties that still exist. */
async function presentGroups(directory: IdentityParts['directory'], given: unknown): Promise<string[]> {
  const found: string[] = [];
  for (const group of groupsField.parse(given) ?? []) {
    try {
      found.push(await idIn(directory, directory.groups, group));
    } catch (error) {
      if (!hasCode(error, 'InvalidRequest')) throw error;
    }
  }
  return found;
}
