/** The errors for objects that do not exist, in Keystone's words. Those of whole kinds are in `reader.ts`. */
import { AnnealError } from '@anneal/contracts/errors.ts';

/** The error for a role that a user or group does not have there, in Keystone's words. */
export const absentGrant = (role: string, holder: string, on: string): AnnealError =>
  new AnnealError(
    'NotFound',
    `Could not find role assignment with role: ${role}, user or group: ${holder}, project, domain, or system: ${on}.`,
  );

/** The error for an application credential that the user does not have. */
export const absentCredential = (id: string): AnnealError =>
  new AnnealError('NotFound', `Could not find Application Credential: ${id}.`);

/** The error for an access rule that the user does not have. */
export const absentRule = (id: string): AnnealError =>
  new AnnealError('NotFound', `Could not find Access Rule: ${id}.`);

/** The error for a user who is no member of a group. */
export const absentMember = (user: string, group: string): AnnealError =>
  new AnnealError('NotFound', `User '${user}' not found in group '${group}'`);

/** The error for a tag that a project does not have. */
export const absentTag = (tag: string): AnnealError =>
  new AnnealError('NotFound', `Could not find project tag: ${tag}.`);
