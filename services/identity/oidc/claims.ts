/** The claims of an OpenID provider as Anneal reads them: pure functions. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';

/** A role that the members of a group of the provider get in a project. */
export interface MappedRole {
  /** The name of the group; `*` for every user of the provider. */
  readonly group: string;
  readonly role: string;
  /** The name of a project in the domain Default, or an id. */
  readonly project: string;
}

/** Where to read what in the claims. */
export interface ClaimMapping {
  readonly nameClaim: string;
  /** May contain dots, for a claim within a claim. */
  readonly groupsClaim: string;
  readonly roles: readonly MappedRole[];
}

/** A user as the provider describes it. */
export interface ClaimedUser {
  /** Identifies the user at the provider for ever; the name may change. */
  readonly subject: string;
  readonly name: string;
  /** Undefined when the claims do not say: a token may have been issued without the scope of groups. */
  readonly groups: readonly string[] | undefined;
  /** The roles of the mapping that the groups give. */
  readonly roles: readonly MappedRole[];
}

const longestName = 255;

/** @throws AnnealError Unauthorized when the claims do not name the user */
export function claimedUser(claims: JsonObject, mapping: ClaimMapping): ClaimedUser {
  const subject = claims['sub'];
  const name = claimAt(claims, mapping.nameClaim);
  if (typeof subject !== 'string' || subject === '') throw lacks('sub');
  if (typeof name !== 'string' || name.trim() === '') throw lacks(mapping.nameClaim);
  if (name.length > longestName) {
    throw new AnnealError('Unauthorized', `The claim ${mapping.nameClaim} has more than ${longestName} characters.`);
  }
  const claim = claimAt(claims, mapping.groupsClaim);
  const groups = claim === undefined ? undefined : groupsOf(claim);
  const roles = mapping.roles.filter(({ group }) => group === '*' || groups?.includes(group));
  return { subject, name: name.trim(), groups, roles };
}

/** The claims with an empty list of groups in place of none. */
export const withGroups = (claims: JsonObject, { groupsClaim }: ClaimMapping): JsonObject =>
  claimAt(claims, groupsClaim) === undefined ? { ...claims, [groupsClaim]: [] } : claims;

/** Reads `group=role@project`, separated by commas. Undefined for a text of another form. */
export function mappedRoles(text: string): MappedRole[] | undefined {
  const parts = text.split(',').map((each) => each.trim());
  const read = parts.map((part) => /^(?<group>[^=]+)=(?<role>[^@]+)@(?<project>.+)$/.exec(part)?.groups);
  if (read.some((each) => each === undefined)) return undefined;
  return read.map((each) => ({
    group: each?.['group']?.trim() ?? '',
    role: each?.['role']?.trim() ?? '',
    project: each?.['project']?.trim() ?? '',
  }));
}

/** The claim of that name, or the one at that path of names. */
function claimAt(claims: JsonObject, path: string): Json | undefined {
  if (path in claims) return claims[path];
  let at: Json | undefined = claims;
  for (const name of path.split('.')) at = isObject(at) ? at[name] : undefined;
  return at;
}

/** Providers send one group as a text. Anything but texts is no group. */
function groupsOf(claim: Json): string[] {
  const list = Array.isArray(claim) ? claim : [claim];
  return [...new Set(list.filter((each): each is string => typeof each === 'string' && each !== ''))];
}

const lacks = (claim: string): AnnealError =>
  new AnnealError('Unauthorized', `The OpenID provider gave no claim ${claim}, which identifies the user.`);
