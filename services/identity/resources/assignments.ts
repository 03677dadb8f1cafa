/** Role assignments as resources. Each grant names the resource that made it, which alone revokes it. */
import { z } from 'zod';
import type { Grant, UserDocument, UserGroupDocument } from '@anneal/directory/documents.ts';
import type { Directory } from '../directory/directory.ts';
import type { Records } from '../directory/records.ts';
import { parseField } from '@anneal/contracts/field-mistakes.ts';
import type { IdentityKind } from './kind.ts';
import { grantsAfter, grantsOf, idIn, isSameGrant } from './references.ts';

const namedRole = z.object({
  role: z.string(),
  project: z.string().nullable().optional(),
  domain: z.string().nullable().optional(),
});
/** The property `roles`. */
export const rolesField = z.array(namedRole).nullish();

type Holder = UserDocument | UserGroupDocument;

const setGrants = <T extends Holder>(records: Records<T>, id: string, change: (grants: readonly Grant[]) => Grant[]) =>
  records.update(id, (present) => ({ ...present, grants: change(present.grants) }));

const withGrantsBy = async <T extends Holder>(records: Records<T>, by: string): Promise<T[]> =>
  (await records.list()).filter(({ grants }) => grants.some((grant) => grant.by === by));

function assignmentKind<T extends Holder>(
  property: 'user' | 'group',
  recordsOf: (directory: Directory) => Records<T>,
): IdentityKind {
  const fields = z.object({ [property]: z.string(), roles: rolesField });
  return {
    owns: async ({ directory }, id) => (await withGrantsBy(recordsOf(directory), id)).length > 0,
    async apply({ directory }, { id, properties }) {
      const records = recordsOf(directory);
      const given = parseField(fields, properties, 'The role assignment');
      const holder = await idIn(directory, records, given[property] as string);
      const wanted = await grantsOf(directory, (given['roles'] as z.infer<typeof rolesField>) ?? []);
      await setGrants(records, holder, (grants) => grantsAfter(grants, wanted, id));
      for (const other of await withGrantsBy(records, id)) {
        if (other.id !== holder) await setGrants(records, other.id, (grants) => grantsAfter(grants, [], id));
      }
      return { kind: 'complete', physical_id: id, attributes: {} };
    },
    async remove({ directory }, id) {
      const records = recordsOf(directory);
      for (const { id: holder } of await withGrantsBy(records, id)) {
        await setGrants(records, holder, (grants) => grantsAfter(grants, [], id));
      }
    },
    async isWhole({ directory }, { properties }) {
      const given = parseField(fields, properties, 'The role assignment');
      const records = recordsOf(directory);
      const { grants } = await records.get(await idIn(directory, records, given[property] as string));
      const wanted = await grantsOf(directory, (given['roles'] as z.infer<typeof rolesField>) ?? []);
      return wanted.every((grant) => grants.some((each) => isSameGrant(each, grant)));
    },
  };
}

/** `OS::Keystone::UserRoleAssignment`. */
export const userAssignmentKind = assignmentKind('user', ({ users }) => users);
/** `OS::Keystone::GroupRoleAssignment`. */
export const groupAssignmentKind = assignmentKind('group', ({ groups }) => groups);
