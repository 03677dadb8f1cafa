/** The present rights of the user of a token, read from the directory at each request. */
import type {
  ApplicationCredentialDocument,
  DomainDocument,
  Grant,
  ProjectDocument,
  RoleDocument,
  TrustDocument,
  UserDocument,
} from './documents.ts';
import { fixedRoles } from './principals.ts';
import type { DirectoryReader } from './reader.ts';
import { countsIn, withImplied, type RoleScope } from './roles.ts';
import type { TokenDocument, TokenScope } from './tokens.ts';

/** A user with the roles in one scope. */
export interface UserAccess {
  readonly user: UserDocument;
  readonly userDomain: DomainDocument;
  readonly project?: ProjectDocument;
  /** The domain of the project, or the domain that is the scope. */
  readonly domain?: DomainDocument;
  readonly system: boolean;
  /** With those that they imply. Empty without a scope. */
  readonly roles: readonly RoleDocument[];
  readonly applicationCredential?: ApplicationCredentialDocument;
  readonly trust?: TrustDocument;
}

/** Projects may be nested this deep, as in Keystone. */
export const deepestProject = 5;

/**
 * The access of a token. Undefined when its user, project or domain is gone or disabled, when the password has changed
 * since, when its application credential or trust is gone or expired, or when no role is left in its scope.
 */
export async function accessOfToken(
  directory: DirectoryReader,
  token: TokenDocument,
  now: Date,
): Promise<UserAccess | undefined> {
  const [user, credential] = await Promise.all([
    directory.users.find(token.user_id),
    token.application_credential_id === undefined
      ? undefined
      : directory.applicationCredentials.find(token.application_credential_id),
  ]);
  if (!user || token.issued_at < user.tokens_from) return undefined;
  if (token.trust_id !== undefined) {
    const trust = await directory.trusts.find(token.trust_id);
    return trust && !isExpired(trust, now) ? accessOfTrust(directory, trust) : undefined;
  }
  if (token.application_credential_id === undefined) return accessOfUser(directory, user, token);
  if (!credential || isExpired(credential, now)) return undefined;
  return accessOfCredential(directory, user, credential);
}

/** True from the end of an application credential or a trust on. */
export const isExpired = ({ expires_at }: { readonly expires_at: string | null }, now: Date): boolean =>
  expires_at !== null && expires_at <= now.toISOString();

/** The access that an application credential gives: those of its roles that its user still has in its project. */
export async function accessOfCredential(
  directory: DirectoryReader,
  user: UserDocument,
  applicationCredential: ApplicationCredentialDocument,
): Promise<UserAccess | undefined> {
  const access = await accessOfUser(directory, user, { project_id: applicationCredential.project_id });
  if (!access) return undefined;
  const held = new Map(access.roles.map((role) => [role.id, role]));
  const roles = withImplied(applicationCredential.roles, held);
  return roles.length === 0 ? undefined : { ...access, roles, applicationCredential };
}

/**
 * The access that a trust gives: those of its roles that the trustor still has in its project. Undefined without any, or
 * when one of the two users is gone or disabled.
 */
export async function accessOfTrust(directory: DirectoryReader, trust: TrustDocument): Promise<UserAccess | undefined> {
  const [trustor, trustee] = await Promise.all([
    directory.users.find(trust.trustor_user_id),
    directory.users.find(trust.trustee_user_id),
  ]);
  const own = trustee && (await accessOfUser(directory, trustee, { project_id: null }));
  const access = trustor && (await accessOfUser(directory, trustor, { project_id: trust.project_id }));
  if (!own || !access) return undefined;
  const roles = withImplied(trust.roles, new Map(access.roles.map((role) => [role.id, role])));
  if (roles.length === 0) return undefined;
  const { user, userDomain } = trust.impersonation ? access : own;
  return { ...access, user, userDomain, roles, trust };
}

/** The access of a user in a scope. Undefined when one of them is gone or disabled, or the user has no role there. */
export async function accessOfUser(
  directory: DirectoryReader,
  user: UserDocument,
  scope: TokenScope,
): Promise<UserAccess | undefined> {
  if (!user.enabled) return undefined;
  const project = scope.project_id === null ? undefined : await directory.projects.find(scope.project_id);
  if (scope.project_id !== null && !project?.enabled) return undefined;
  const domainId = project?.domain_id ?? scope.domain_id;
  const [domains, projectScope] = await Promise.all([
    directory.domains.findMany([...new Set([user.domain_id, ...(domainId === undefined ? [] : [domainId])])]),
    project && scopeOfProject(directory, project),
  ]);
  const userDomain = domains.find(({ id }) => id === user.domain_id);
  const domain = domains.find(({ id }) => id === domainId);
  if (!userDomain?.enabled || (domainId !== undefined && !domain?.enabled)) return undefined;
  const who = { user, userDomain };
  const on: RoleScope | undefined =
    projectScope ?? (domain ? { on: 'domain', id: domain.id } : scope.system ? { on: 'system' } : undefined);
  if (!on) return { ...who, system: false, roles: [] };
  const roles = await rolesIn(directory, user, on);
  if (roles.length === 0) return undefined;
  return { ...who, ...(project && { project }), ...(domain && { domain }), system: on.on === 'system', roles };
}

/** The roles of a user in a scope, own and by group, with those that they imply. */
export async function rolesIn(
  directory: DirectoryReader,
  user: UserDocument,
  scope: RoleScope,
): Promise<RoleDocument[]> {
  const groups = await directory.groups.findMany(user.groups);
  const grants = [user, ...groups].flatMap((each) => each.grants).filter((grant) => countsIn(grant, scope));
  return withImplied(new Set(grants.map(({ role_id }) => role_id)), await rolesById(directory, grants));
}

/** The scope in which grants count for a project. */
export async function scopeOfProject(directory: DirectoryReader, project: ProjectDocument): Promise<RoleScope> {
  const above = (await projectsAbove(directory, project)).map(({ id }) => id);
  return { on: 'project', id: project.id, above, domain: project.domain_id };
}

/** The projects above one, nearest first. */
export async function projectsAbove(directory: DirectoryReader, project: ProjectDocument): Promise<ProjectDocument[]> {
  const found: ProjectDocument[] = [];
  for (let { parent_id: id, domain_id } = project; id !== domain_id && found.length < deepestProject;) {
    const parent = await directory.projects.find(id);
    if (!parent) break;
    found.push(parent);
    id = parent.parent_id;
  }
  return found;
}

const fixed: ReadonlyMap<string, RoleDocument> = new Map(
  fixedRoles.map((role) => [role.id, { ...role, version: 1, domain_id: '', description: null, extra: {} }]),
);

/** Every role by its id. The fixed ones never change, so most requests read no role. */
async function rolesById(
  directory: DirectoryReader,
  grants: readonly Grant[],
): Promise<ReadonlyMap<string, RoleDocument>> {
  if (grants.every(({ role_id }) => fixed.has(role_id))) return fixed;
  return new Map((await directory.roles.list()).map((role) => [role.id, role]));
}

/** Whether the user is an operator, who may read, or change, what belongs to no project. */
export const isOperator = ({ system, roles }: UserAccess, role: 'reader' | 'member'): boolean =>
  roles.some(
    ({ name, domain_id }) =>
      domain_id === '' && (name === 'admin' || (system && role === 'reader' && name === 'reader')),
  );

/** Whether the user has the role in the scope of the request, itself or implied. */
export const hasRole = ({ roles }: UserAccess, role: 'reader' | 'member'): boolean =>
  roles.some(({ name, domain_id }) => domain_id === '' && name === role);
