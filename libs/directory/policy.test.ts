import { describe, expect, it } from 'vitest';
import type { UserAccess } from './access.ts';
import type { RoleDocument } from './documents.ts';
import { mayUse, type IdentityRule, type PolicyTarget } from './policy.ts';

const order = ['admin', 'manager', 'member', 'reader'];
const rolesFrom = (name: string): RoleDocument[] =>
  order
    .slice(order.indexOf(name))
    .map((each) => ({ id: each, version: 1, name: each, description: null, domain_id: '', implies: [], extra: {} }));
const domain = { id: 'd', version: 1, name: 'd', description: null, enabled: true, tags: [], extra: {} };
const project = { ...domain, id: 'p', name: 'p', domain_id: 'd', parent_id: 'd' };
const user = {
  ...domain,
  id: 'u',
  domain_id: 'd',
  default_project_id: null,
  password: null,
  options: {},
  groups: [],
  grants: [],
  tokens_from: '',
};
const access = (scope: 'project' | 'domain' | 'system', role: string): UserAccess => ({
  user,
  userDomain: domain,
  ...(scope === 'project' && { project, domain }),
  ...(scope === 'domain' && { domain }),
  system: scope === 'system',
  roles: rolesFrom(role),
});
const own: PolicyTarget = { domainId: 'd' };
const other: PolicyTarget = { domainId: 'e' };

/** The rows of Keystone's default policy: project admin, system reader, domain manager, domain reader, member. */
const rows: [IdentityRule, PolicyTarget, string][] = [
  ['list_users', own, 'admin sr dm dr'],
  ['create_user', own, 'admin dm'],
  ['create_user', other, 'admin'],
  ['create_project', own, 'admin dm'],
  ['create_domain', {}, 'admin'],
  ['list_domains', {}, 'admin sr'],
  ['list_roles', own, 'admin sr dm dr'],
  ['create_role', {}, 'admin'],
  ['create_grant', own, 'admin dm'],
  ['create_grant', other, 'admin'],
  ['list_services', {}, 'admin sr'],
  ['list_regions', {}, 'admin sr dm dr member'],
  ['list_role_assignments', own, 'admin sr dm dr'],
  ['get_user', { domainId: 'e', userId: 'u' }, 'admin sr dm dr member'],
  ['create_application_credential', { userId: 'u' }, 'admin sr dm dr member'],
  ['create_application_credential', { userId: 'v' }, ''],
  ['validate_token', { userId: 'v' }, 'admin sr'],
  ['revoke_token', { userId: 'v' }, 'admin'],
];

describe('the policy of the identity API', () => {
  const callers = {
    admin: access('project', 'admin'),
    sr: access('system', 'reader'),
    dm: access('domain', 'manager'),
    dr: access('domain', 'reader'),
    member: access('project', 'member'),
  };

  it.each(rows)('lets %s on %j be used by: %s', (rule, target, expected) => {
    const allowed = Object.entries(callers).filter(([, caller]) => mayUse(rule, caller, target));
    expect(allowed.map(([name]) => name).join(' ')).toBe(expected);
  });

  it('limits the admin of a domain to that domain', () => {
    const admin = access('domain', 'admin');
    expect(mayUse('create_user', admin, own)).toBe(true);
    expect(mayUse('create_user', admin, other)).toBe(false);
    expect(mayUse('create_domain', admin, {})).toBe(false);
  });

  it('ignores a role of one domain that is called admin', () => {
    const [admin] = rolesFrom('admin');
    const pretender = { ...access('project', 'reader'), roles: admin ? [{ ...admin, domain_id: 'd' }] : [] };
    expect(mayUse('list_users', pretender, own)).toBe(false);
  });
});
