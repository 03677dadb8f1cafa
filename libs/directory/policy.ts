/** The rights at the identity API: one table, with the rules and the defaults of Keystone 30. */
import { AnnealError } from '@anneal/contracts/errors.ts';

/**
 * - `admin`: the role admin in a project or the system; a domain's admin only for objects of that domain.
 * - `cloud admin`: the role admin in a project or the system.
 * - `system reader`: the role reader in the system, which member and admin imply.
 * - `domain manager`, `domain reader`: the role in the domain that the object belongs to.
 * - `self`: the user whom the object belongs to.
 * - `anyone`: every user with a valid token.
 */
type Who = 'admin' | 'cloud admin' | 'system reader' | 'domain manager' | 'domain reader' | 'self' | 'anyone';

const readDomain: readonly Who[] = ['admin', 'system reader', 'domain reader'];
const manageDomain: readonly Who[] = ['admin', 'domain manager'];
const readOwn: readonly Who[] = [...readDomain, 'self'];
const readCloud: readonly Who[] = ['cloud admin', 'system reader'];
const changeCloud: readonly Who[] = ['cloud admin'];
const readSelf: readonly Who[] = ['admin', 'system reader', 'self'];

export const identityPolicy = {
  list_users: readDomain,
  get_user: readOwn,
  create_user: manageDomain,
  update_user: manageDomain,
  delete_user: manageDomain,
  list_groups: readDomain,
  list_groups_for_user: readOwn,
  get_group: readDomain,
  create_group: manageDomain,
  update_group: manageDomain,
  delete_group: manageDomain,
  list_users_in_group: readDomain,
  check_user_in_group: readOwn,
  add_user_to_group: manageDomain,
  remove_user_from_group: manageDomain,
  list_projects: readDomain,
  list_user_projects: readOwn,
  get_project: readOwn,
  create_project: manageDomain,
  update_project: manageDomain,
  delete_project: manageDomain,
  list_domains: readCloud,
  get_domain: readOwn,
  create_domain: changeCloud,
  update_domain: changeCloud,
  delete_domain: changeCloud,
  list_roles: [...readDomain, 'domain manager'],
  get_role: [...readDomain, 'domain manager'],
  create_role: changeCloud,
  update_role: changeCloud,
  delete_role: changeCloud,
  check_grant: readDomain,
  list_grants: readDomain,
  create_grant: manageDomain,
  revoke_grant: manageDomain,
  check_system_grant: readCloud,
  create_system_grant: changeCloud,
  list_role_assignments: readDomain,
  list_services: readCloud,
  get_service: readCloud,
  list_endpoints: readCloud,
  get_endpoint: readCloud,
  list_regions: ['anyone'],
  get_region: ['anyone'],
  change_catalog: changeCloud,
  validate_token: readSelf,
  revoke_token: ['admin', 'self'],
  list_application_credentials: readSelf,
  get_application_credential: readSelf,
  create_application_credential: ['self'],
  delete_application_credential: ['admin', 'self'],
  list_trusts: readCloud,
  get_trust: [...readCloud, 'self'],
  create_trust: ['self'],
  delete_trust: ['cloud admin', 'self'],
  list_credentials: [...readCloud, 'self'],
  get_credential: [...readCloud, 'self'],
  change_credential: ['cloud admin', 'self'],
  ec2tokens_validate: changeCloud,
} as const satisfies Record<string, readonly Who[]>;

export type IdentityRule = keyof typeof identityPolicy;

/** The user who uses a rule: of `UserAccess`, or as a question to the identity service describes it. */
export interface PolicyCaller {
  readonly user: { readonly id: string };
  readonly project?: { readonly id: string } | undefined;
  /** The domain of the project, or the domain that is the scope. */
  readonly domain?: { readonly id: string } | undefined;
  readonly system: boolean;
  readonly roles: readonly { readonly name: string; readonly domain_id: string }[];
}

/** The object that a rule is about: the domain and the user that it belongs to. */
export interface PolicyTarget {
  readonly domainId?: string | undefined;
  readonly userId?: string | undefined;
}

/** Whether the caller may use a rule on this object. A pure function. */
export function mayUse(
  rule: IdentityRule,
  { user, domain, project, system, roles }: PolicyCaller,
  target: PolicyTarget,
): boolean {
  const has = (name: string): boolean => roles.some((role) => role.name === name && role.domain_id === '');
  const ofDomain = domain !== undefined && project === undefined;
  const inDomain = ofDomain && target.domainId === domain.id;
  const holds: Record<Who, () => boolean> = {
    admin: () => has('admin') && (!ofDomain || inDomain),
    'cloud admin': () => has('admin') && !ofDomain,
    'system reader': () => system && has('reader'),
    'domain manager': () => inDomain && has('manager'),
    'domain reader': () => inDomain && has('reader'),
    self: () => target.userId === user.id,
    anyone: () => true,
  };
  return identityPolicy[rule].some((who) => holds[who]());
}

/** @throws AnnealError Forbidden in Keystone's words, which name the rule */
export function authorize(rule: IdentityRule, caller: PolicyCaller, target: PolicyTarget): void {
  if (!mayUse(rule, caller, target)) throw notAuthorized(`identity:${rule}`);
}

/** Keystone's refusal. `action` names the rule or the reason. */
export const notAuthorized = (action: string): AnnealError =>
  new AnnealError('Forbidden', `You are not authorized to perform the requested action: ${action}.`);

/**
 * Refuses a program that acts for a user, by a trust or by a credential that is not unrestricted.
 * @param what it must not do
 * @throws AnnealError Forbidden
 */
export function refuseDelegated(
  { trust, credential }: { trust: unknown; credential: { readonly unrestricted: boolean } | undefined },
  what: string,
): void {
  if (trust || (credential && !credential.unrestricted)) throw notAuthorized(`Delegated tokens cannot ${what}.`);
}

/** The domain that a caller with a domain as scope is limited to. */
export const domainOfScope = ({ project, domain }: PolicyCaller): string | undefined =>
  project ? undefined : domain?.id;
