/** Identity. The gateway serves all of the types. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, list, listOf, mapOf, oneOf, resourceType, string } from '../schema.ts';
import { explained } from '../texts/texts.ts';

const roles = listOf(
  mapOf({
    role: string({ required: true, constraints: checked('keystone.role') }),
    project: string({ constraints: checked('keystone.project') }),
    domain: string({ constraints: checked('keystone.domain') }),
  }),
  { update_allowed: true },
);

/** A failed update has no effect, and a new object with the same name could not exist beside the old one. */
const repaired = { failed_update: 'repair' } as const;

/** All types. */
export const keystoneTypes: ResourceType[] = explained([
  resourceType(
    'OS::Keystone::Domain',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      enabled: boolean({ default: true, update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Keystone::Endpoint',
    {
      name: string({ update_allowed: true }),
      region: string({ update_allowed: true, constraints: checked('keystone.region') }),
      service: string({ required: true, update_allowed: true, constraints: checked('keystone.service') }),
      interface: string({ required: true, update_allowed: true, constraints: oneOf('public', 'internal', 'admin') }),
      url: string({ required: true, update_allowed: true }),
      enabled: boolean({ default: true, update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Keystone::Group',
    {
      name: string({ update_allowed: true }),
      domain: string({ default: 'default', update_allowed: true, constraints: checked('keystone.domain') }),
      description: string({ default: '', update_allowed: true }),
      roles,
    },
    {},
    repaired,
  ),
  resourceType(
    'OS::Keystone::GroupRoleAssignment',
    { group: string({ required: true, update_allowed: true, constraints: checked('keystone.group') }), roles },
    {},
    repaired,
  ),
  resourceType(
    'OS::Keystone::Project',
    {
      name: string({ update_allowed: true }),
      domain: string({ default: 'default', update_allowed: true, constraints: checked('keystone.domain') }),
      description: string({ default: '', update_allowed: true }),
      enabled: boolean({ default: true, update_allowed: true }),
      parent: string({ constraints: checked('keystone.project') }),
      tags: list({ default: [], update_allowed: true }),
    },
    { name: 'String', parent_id: 'String', domain_id: 'String', enabled: 'Boolean', is_domain: 'Boolean' },
    { ...repaired, name_limit: 64 },
  ),
  resourceType(
    'OS::Keystone::Region',
    {
      id: string(),
      parent_region: string({ update_allowed: true, constraints: checked('keystone.region') }),
      description: string({ update_allowed: true }),
      enabled: boolean({ default: true, update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Keystone::Role',
    { name: string({ update_allowed: true }), domain: string({ constraints: checked('keystone.domain') }) },
    {},
    repaired,
  ),
  resourceType(
    'OS::Keystone::Service',
    {
      name: string({ update_allowed: true }),
      description: string({ update_allowed: true }),
      type: string({ required: true, update_allowed: true }),
      enabled: boolean({ default: true, update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'OS::Keystone::User',
    {
      name: string({ update_allowed: true }),
      domain: string({ default: 'default', update_allowed: true, constraints: checked('keystone.domain') }),
      description: string({ default: '', update_allowed: true }),
      enabled: boolean({ default: true, update_allowed: true }),
      email: string({ update_allowed: true }),
      password: string({ update_allowed: true }),
      default_project: string({ update_allowed: true, constraints: checked('keystone.project') }),
      groups: listOf(string({ constraints: checked('keystone.group') }), { update_allowed: true }),
      roles,
    },
    {
      name: 'String',
      default_project_id: 'String',
      domain_id: 'String',
      enabled: 'Boolean',
      password_expires_at: 'String',
    },
    repaired,
  ),
  resourceType(
    'OS::Keystone::UserRoleAssignment',
    { user: string({ required: true, update_allowed: true, constraints: checked('keystone.user') }), roles },
    {},
    repaired,
  ),
]);
