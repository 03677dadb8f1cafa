/** Users, projects and roles: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';

export const keystoneTypes: ResourceType[] = [
  {
    type: 'OS::Keystone::User',
    properties: {
      name: { type: 'String', update_allowed: true },
      domain: {
        type: 'String',
        default: 'default',
        update_allowed: true,
        constraints: [{ custom_constraint: 'keystone.domain' }],
      },
      description: { type: 'String', default: '', update_allowed: true },
      enabled: { type: 'Boolean', default: true, update_allowed: true },
      email: { type: 'String', update_allowed: true },
      password: { type: 'String', update_allowed: true },
      default_project: {
        type: 'String',
        update_allowed: true,
        constraints: [{ custom_constraint: 'keystone.project' }],
      },
      groups: {
        type: 'List',
        update_allowed: true,
        schema: { '*': { type: 'String', constraints: [{ custom_constraint: 'keystone.group' }] } },
      },
      roles: {
        type: 'List',
        update_allowed: true,
        schema: {
          '*': {
            type: 'Map',
            schema: {
              role: { type: 'String', required: true, constraints: [{ custom_constraint: 'keystone.role' }] },
              project: { type: 'String', constraints: [{ custom_constraint: 'keystone.project' }] },
              domain: { type: 'String', constraints: [{ custom_constraint: 'keystone.domain' }] },
            },
          },
        },
      },
    },
    attributes: {
      name: { type: 'String' },
      default_project_id: { type: 'String' },
      domain_id: { type: 'String' },
      enabled: { type: 'Boolean' },
      password_expires_at: { type: 'String' },
    },
  },
  {
    type: 'OS::Keystone::Project',
    properties: {
      name: { type: 'String', update_allowed: true },
      domain: {
        type: 'String',
        default: 'default',
        update_allowed: true,
        constraints: [{ custom_constraint: 'keystone.domain' }],
      },
      description: { type: 'String', default: '', update_allowed: true },
      enabled: { type: 'Boolean', default: true, update_allowed: true },
      parent: { type: 'String', constraints: [{ custom_constraint: 'keystone.project' }] },
      tags: { type: 'List', default: [], update_allowed: true },
    },
    attributes: {
      name: { type: 'String' },
      parent_id: { type: 'String' },
      domain_id: { type: 'String' },
      enabled: { type: 'Boolean' },
      is_domain: { type: 'Boolean' },
    },
  },
  {
    type: 'OS::Keystone::Role',
    properties: {
      name: { type: 'String', update_allowed: true },
      domain: { type: 'String', constraints: [{ custom_constraint: 'keystone.domain' }] },
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::Group',
    properties: {
      name: { type: 'String', update_allowed: true },
      domain: {
        type: 'String',
        default: 'default',
        update_allowed: true,
        constraints: [{ custom_constraint: 'keystone.domain' }],
      },
      description: { type: 'String', default: '', update_allowed: true },
      roles: {
        type: 'List',
        update_allowed: true,
        schema: {
          '*': {
            type: 'Map',
            schema: {
              role: { type: 'String', required: true, constraints: [{ custom_constraint: 'keystone.role' }] },
              project: { type: 'String', constraints: [{ custom_constraint: 'keystone.project' }] },
              domain: { type: 'String', constraints: [{ custom_constraint: 'keystone.domain' }] },
            },
          },
        },
      },
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::Domain',
    properties: {
      name: { type: 'String', update_allowed: true },
      description: { type: 'String', update_allowed: true },
      enabled: { type: 'Boolean', default: true, update_allowed: true },
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::Service',
    properties: {
      name: { type: 'String', update_allowed: true },
      description: { type: 'String', update_allowed: true },
      type: { type: 'String', required: true, update_allowed: true },
      enabled: { type: 'Boolean', default: true, update_allowed: true },
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::Endpoint',
    properties: {
      name: { type: 'String', update_allowed: true },
      region: { type: 'String', update_allowed: true, constraints: [{ custom_constraint: 'keystone.region' }] },
      service: {
        type: 'String',
        required: true,
        update_allowed: true,
        constraints: [{ custom_constraint: 'keystone.service' }],
      },
      interface: {
        type: 'String',
        required: true,
        update_allowed: true,
        constraints: [{ allowed_values: ['public', 'internal', 'admin'] }],
      },
      url: { type: 'String', required: true, update_allowed: true },
      enabled: { type: 'Boolean', default: true, update_allowed: true },
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::Region',
    properties: {
      id: { type: 'String' },
      parent_region: { type: 'String', update_allowed: true, constraints: [{ custom_constraint: 'keystone.region' }] },
      description: { type: 'String', update_allowed: true },
      enabled: { type: 'Boolean', default: true, update_allowed: true },
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::UserRoleAssignment',
    properties: {
      user: {
        type: 'String',
        required: true,
        update_allowed: true,
        constraints: [{ custom_constraint: 'keystone.user' }],
      },
      roles: {
        type: 'List',
        update_allowed: true,
        schema: {
          '*': {
            type: 'Map',
            schema: {
              role: { type: 'String', required: true, constraints: [{ custom_constraint: 'keystone.role' }] },
              project: { type: 'String', constraints: [{ custom_constraint: 'keystone.project' }] },
              domain: { type: 'String', constraints: [{ custom_constraint: 'keystone.domain' }] },
            },
          },
        },
      },
    },
    attributes: {},
  },
  {
    type: 'OS::Keystone::GroupRoleAssignment',
    properties: {
      group: {
        type: 'String',
        required: true,
        update_allowed: true,
        constraints: [{ custom_constraint: 'keystone.group' }],
      },
      roles: {
        type: 'List',
        update_allowed: true,
        schema: {
          '*': {
            type: 'Map',
            schema: {
              role: { type: 'String', required: true, constraints: [{ custom_constraint: 'keystone.role' }] },
              project: { type: 'String', constraints: [{ custom_constraint: 'keystone.project' }] },
              domain: { type: 'String', constraints: [{ custom_constraint: 'keystone.domain' }] },
            },
          },
        },
      },
    },
    attributes: {},
  },
];
