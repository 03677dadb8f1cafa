/** Users, groups, roles, projects and the catalog of services. */
import type { TypeEntry } from './twins.ts';

const described = { name: '@', description: '@', enabled: false };
/** Made before, with these ids and names. */
const roles = [{ role: 'member', project: 'admin' }];

/** Objects of an identity are found by their values, which everybody who may list them sees. */
export const identityEntries: Readonly<Record<string, TypeEntry>> = {
  'OS::Keystone::Domain': { values: described },
  'OS::Keystone::Endpoint': {
    base: { service: 'store', interface: 'public', url: 'http://example.org' },
    values: {
      name: '@',
      region: 'RegionOne',
      service: 'store',
      interface: 'internal',
      url: 'http://example.org/@',
      enabled: false,
    },
  },
  'OS::Keystone::Group': { values: { name: '@', domain: 'default', description: '@', roles } },
  'OS::Keystone::GroupRoleAssignment': { base: { group: 'staff', roles }, values: { group: 'staff', roles } },
  'OS::Keystone::Project': {
    values: { ...described, domain: 'default', parent: 'admin', tags: ['@'] },
  },
  'OS::Keystone::Region': { values: { id: '@', parent_region: 'RegionOne', description: '@', enabled: false } },
  'OS::Keystone::Role': { values: { name: '@', domain: 'default' } },
  'OS::Keystone::Service': { base: { type: 'store' }, values: { ...described, type: '@' } },
  'OS::Keystone::User': {
    values: {
      ...described,
      domain: 'default',
      email: '@',
      password: '@',
      default_project: 'admin',
      groups: ['staff'],
      roles,
    },
  },
  'OS::Keystone::UserRoleAssignment': { base: { user: 'admin', roles }, values: { user: 'admin', roles } },
};
