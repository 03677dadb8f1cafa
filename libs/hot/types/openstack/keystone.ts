/** Identity. The gateway serves all of the types. */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, list, listOf, mapOf, oneOf, string } from '../schema.ts';

const name = string({
  update_allowed: true,
  description: 'Its name. The default is the physical name of the resource.',
});
const domain = string({
  default: 'default',
  update_allowed: true,
  constraints: checked('keystone.domain'),
  description: 'The domain of the object: its id or name. Another one is a new object.',
});
const description = string({ default: '', update_allowed: true, description: 'For people.' });
const roles = (text: string): PropertySchema =>
  listOf(
    mapOf({
      role: string({ required: true, constraints: checked('keystone.role'), description: 'The role: its id or name.' }),
      project: string({
        constraints: checked('keystone.project'),
        description: 'The project in which the role counts: its id or name. Either this or `domain`.',
      }),
      domain: string({
        constraints: checked('keystone.domain'),
        description: 'The domain in which the role counts: its id or name. Either this or `project`.',
      }),
    }),
    { update_allowed: true, description: text },
  );

/** A failed update has no effect, and a new object with the same name could not exist beside the old one. */
const repaired = { failed_update: 'repair' } as const;

/** All types. */
export const keystoneTypes: ResourceType[] = [
  {
    type: 'OS::Keystone::Domain',
    description:
      'A domain: a separate set of users and projects. Its deletion removes what is in it. Only the stack of an operator has it.',
    properties: {
      name,
      description: string({ update_allowed: true, description: 'A text about it.' }),
      enabled: boolean({ default: true, update_allowed: true, description: 'False: no user of the domain logs in.' }),
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::Endpoint',
    description:
      'An address of a service, which the catalog of each token lists. Only the stack of an operator has it.',
    properties: {
      name,
      region: string({
        update_allowed: true,
        constraints: checked('keystone.region'),
        description: 'The id of the region. The default is none.',
      }),
      service: string({
        required: true,
        update_allowed: true,
        constraints: checked('keystone.service'),
        description: 'The service: its id, name or type.',
      }),
      interface: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('public', 'internal', 'admin'),
        description: 'Who the address is for.',
      }),
      url: string({
        required: true,
        update_allowed: true,
        description: 'The address. The catalog replaces `$(project_id)s` by the project of the token.',
      }),
      enabled: boolean({ default: true, update_allowed: true, description: 'False: the catalog leaves it out.' }),
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::Group',
    description: 'A group of users. Only the stack of an operator has it.',
    properties: {
      name,
      domain,
      description,
      roles: roles('Roles of each member of the group.'),
    },
    attributes: {},
    ...repaired,
  },
  {
    type: 'OS::Keystone::GroupRoleAssignment',
    description: 'Roles of a group. Only the stack of an operator has it.',
    properties: {
      group: string({
        required: true,
        update_allowed: true,
        constraints: checked('keystone.group'),
        description:
          'The group: its id or name. A name is one in the domain Default; `name{domain}` names another domain.',
      }),
      roles: roles('The roles. One that the group has already stays when the resource is deleted.'),
    },
    attributes: {},
    ...repaired,
  },
  {
    type: 'OS::Keystone::Project',
    description:
      'A project. It is deleted only without stacks and without projects below it. Only the stack of an operator has it.',
    properties: {
      name,
      domain,
      description,
      enabled: boolean({
        default: true,
        update_allowed: true,
        description: 'False: no user works in the project, and its tokens end.',
      }),
      parent: string({
        constraints: checked('keystone.project'),
        description: 'The project above: its id or name. The default is none.',
      }),
      tags: list({ default: [], update_allowed: true, description: 'Tags of the project.' }),
    },
    attributes: {
      name: { type: 'String', description: 'The name.' },
      parent_id: { type: 'String', description: 'The id of the project above, or of the domain.' },
      domain_id: { type: 'String', description: 'The id of the domain.' },
      enabled: { type: 'Boolean', description: 'Whether it is enabled.' },
      is_domain: { type: 'Boolean', description: 'Always false.' },
    },
    ...repaired,
    name_limit: 64,
  },
  {
    type: 'OS::Keystone::Region',
    description:
      'A region, which endpoints name. It is deleted only without endpoints and regions below it. Only the stack of an operator has it.',
    properties: {
      id: string({ description: 'Its id. The default follows from the id of the resource.' }),
      parent_region: string({
        update_allowed: true,
        constraints: checked('keystone.region'),
        description: 'The id of the region above. The default is none.',
      }),
      description: string({ update_allowed: true, description: 'A text about it.' }),
      enabled: boolean({
        default: true,
        update_allowed: true,
        description: 'Whether clients shall use it. Anneal keeps and shows it.',
      }),
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::Role',
    description: 'A role. Only the stack of an operator has it.',
    properties: {
      name,
      domain: string({
        constraints: checked('keystone.domain'),
        description: 'The domain of the role: its id or name. Absent: every domain.',
      }),
    },
    attributes: {},
    ...repaired,
  },
  {
    type: 'OS::Keystone::Service',
    description: 'A service in the catalog. Its deletion removes its endpoints. Only the stack of an operator has it.',
    properties: {
      name,
      description: string({ update_allowed: true, description: 'A text about it.' }),
      type: string({
        required: true,
        update_allowed: true,
        description: 'Its type, by which clients find it: `shop`.',
      }),
      enabled: boolean({ default: true, update_allowed: true, description: 'False: the catalog leaves it out.' }),
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::User',
    description: 'A user. Only the stack of an operator has it.',
    properties: {
      name: string({
        update_allowed: true,
        description: 'The name for logins. The default is the physical name of the resource.',
      }),
      domain,
      description,
      enabled: boolean({
        default: true,
        update_allowed: true,
        description: 'False: the user cannot log in, and the tokens of the user end.',
      }),
      email: string({ update_allowed: true, description: 'Address of the user. Anneal keeps and shows it.' }),
      password: string({
        update_allowed: true,
        description:
          'The password. Pass it by a hidden parameter. Another one ends the tokens of the user. Absent: no login by password.',
      }),
      default_project: string({
        update_allowed: true,
        constraints: checked('keystone.project'),
        description: 'The project of a login that names none: its id or name.',
      }),
      groups: listOf(string({ constraints: checked('keystone.group') }), {
        update_allowed: true,
        description: 'Groups that the user joins: their ids or names. The user leaves those that an update removes.',
      }),
      roles: roles('Roles of the user. One that the user has already stays.'),
    },
    attributes: {
      name: { type: 'String', description: 'The name.' },
      default_project_id: { type: 'String', description: 'The id of the project of a login that names none.' },
      domain_id: { type: 'String', description: 'The id of the domain.' },
      enabled: { type: 'Boolean', description: 'Whether it is enabled.' },
      password_expires_at: { type: 'String', description: 'Always null: passwords do not expire.' },
    },
    ...repaired,
  },
  {
    type: 'OS::Keystone::UserRoleAssignment',
    description: 'Roles of a user. Only the stack of an operator has it.',
    properties: {
      user: string({
        required: true,
        update_allowed: true,
        constraints: checked('keystone.user'),
        description:
          'The user: its id or name. A name is one in the domain Default; `name{domain}` names another domain.',
      }),
      roles: roles('The roles. One that the user has already stays when the resource is deleted.'),
    },
    attributes: {},
    ...repaired,
  },
];
