/** The meaning of the types of identity objects. */
import type { TypeTexts } from './type-texts.ts';

const roles: TypeTexts = {
  'roles.role': 'The role: its id or name.',
  'roles.project': 'The project in which the role counts: its id or name. Either this or `domain`.',
  'roles.domain': 'The domain in which the role counts: its id or name. Either this or `project`.',
};
const common: TypeTexts = {
  description: 'For people.',
  domain: 'The domain of the object: its id or name. Another one is a new object.',
  '@name': 'The name.',
  '@domain_id': 'The id of the domain.',
  '@enabled': 'Whether it is enabled.',
};
const operators = 'Only the stack of an operator has it.';

/** By type. */
export const identityTexts: Readonly<Record<string, TypeTexts>> = {
  'OS::Keystone::Domain': {
    '': `A domain: a separate set of users and projects. Its deletion removes what is in it. ${operators}`,
    name: 'Its name. The default is the physical name of the resource.',
    description: 'A text about it.',
    enabled: 'False: no user of the domain logs in.',
  },
  'OS::Keystone::Endpoint': {
    '': `An address of a service, which the catalog of each token lists. ${operators}`,
    name: 'Its name. The default is the physical name of the resource.',
    service: 'The service: its id, name or type.',
    interface: 'Who the address is for.',
    url: 'The address. The catalog replaces `$(project_id)s` by the project of the token.',
    region: 'The id of the region. The default is none.',
    enabled: 'False: the catalog leaves it out.',
  },
  'OS::Keystone::Region': {
    '': `A region, which endpoints name. It is deleted only without endpoints and regions below it. ${operators}`,
    id: 'Its id. The default follows from the id of the resource.',
    parent_region: 'The id of the region above. The default is none.',
    description: 'A text about it.',
    enabled: 'Stored for clients. It has no effect.',
  },
  'OS::Keystone::Service': {
    '': `A service in the catalog. Its deletion removes its endpoints. ${operators}`,
    name: 'Its name. The default is the physical name of the resource.',
    type: 'Its type, by which clients find it: `shop`.',
    description: 'A text about it.',
    enabled: 'False: the catalog leaves it out.',
  },
  'OS::Keystone::Group': {
    ...common,
    ...roles,
    '': `A group of users. ${operators}`,
    name: 'Its name. The default is the physical name of the resource.',
    roles: 'Roles of each member of the group.',
  },
  'OS::Keystone::GroupRoleAssignment': {
    ...roles,
    '': `Roles of a group. ${operators}`,
    group: 'The group: its id or name. A name is one in the domain Default; `name{domain}` names another domain.',
    roles: 'The roles. One that the group has already stays when the resource is deleted.',
  },
  'OS::Keystone::Project': {
    ...common,
    '': `A project. It is deleted only without stacks and without projects below it. ${operators}`,
    name: 'Its name. The default is the physical name of the resource.',
    enabled: 'False: no user works in the project, and its tokens end.',
    parent: 'The project above: its id or name. The default is none.',
    tags: 'Tags of the project.',
    '@parent_id': 'The id of the project above, or of the domain.',
    '@is_domain': 'Always false.',
  },
  'OS::Keystone::Role': {
    '': `A role. ${operators}`,
    name: 'Its name. The default is the physical name of the resource.',
    domain: 'The domain of the role: its id or name. Absent: every domain.',
  },
  'OS::Keystone::User': {
    ...common,
    ...roles,
    '': `A user. ${operators}`,
    name: 'The name for logins. The default is the physical name of the resource.',
    enabled: 'False: the user cannot log in, and the tokens of the user end.',
    email: 'Address of the user. Anneal keeps and shows it.',
    password:
      'The password. Pass it by a hidden parameter. Another one ends the tokens of the user. Absent: no login by password.',
    default_project: 'The project of a login that names none: its id or name.',
    groups: 'Groups that the user joins: their ids or names. The user leaves those that an update removes.',
    roles: 'Roles of the user. One that the user has already stays.',
    '@default_project_id': 'The id of the project of a login that names none.',
    '@password_expires_at': 'Always null: passwords do not expire.',
  },
  'OS::Keystone::UserRoleAssignment': {
    ...roles,
    '': `Roles of a user. ${operators}`,
    user: 'The user: its id or name. A name is one in the domain Default; `name{domain}` names another domain.',
    roles: 'The roles. One that the user has already stays when the resource is deleted.',
  },
};
