/** Users, groups, roles, projects and the catalog of services. */
import { seenIn, type TypeEntry } from './entry.ts';

const described = { name: '@', description: '@', enabled: false };
const provider = 'test/system/identity-provider.test.ts';
const seen = seenIn(provider, 'roles[].role roles[].project roles[].domain');
/** Made before, with these ids and names. */
const roles = [
  { role: 'member', project: 'admin' },
  { role: 'member', domain: 'default' },
];

/** Objects of an identity are found by their values, which everybody who may list them sees. */
export const identityEntries: Readonly<Record<string, TypeEntry>> = {
  'OS::Keystone::Domain': { values: described },
  'OS::Keystone::Endpoint': {
    base: { service: 'store', interface: 'public', url: 'http://example.org' },
    values: {
      name: '@',
      region: 'RegionOne',
      service: 'shop',
      interface: 'internal',
      url: 'http://example.org/@',
      enabled: false,
    },
    seen: seenIn(provider, 'service'),
  },
  'OS::Keystone::Group': { values: { name: '@', domain: 'firm', description: '@', roles }, seen },
  'OS::Keystone::GroupRoleAssignment': {
    base: { group: 'staff', roles: roles.slice(0, 1) },
    values: { group: 'people', roles },
    seen: { ...seen, ...seenIn(provider, 'group') },
  },
  'OS::Keystone::Project': {
    values: { ...described, domain: 'firm', parent: 'admin', tags: ['@'] },
  },
  'OS::Keystone::Region': { values: { id: '@', parent_region: 'RegionOne', description: '@', enabled: false } },
  'OS::Keystone::Role': { values: { name: '@', domain: 'firm' } },
  'OS::Keystone::Service': { base: { type: 'store' }, values: { ...described, type: '@' } },
  'OS::Keystone::User': {
    values: {
      ...described,
      domain: 'firm',
      email: '@',
      password: '@',
      default_project: 'admin',
      groups: ['staff'],
      roles,
    },
    seen,
  },
  'OS::Keystone::UserRoleAssignment': {
    base: { user: 'admin', roles: roles.slice(0, 1) },
    values: { user: 'ann', roles },
    seen: { ...seen, ...seenIn(provider, 'user') },
  },
};
