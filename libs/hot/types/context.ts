/** The type that lets the members of a group know each other. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';

/** The type of a context. */
export const contextType: ResourceType = {
  type: 'Anneal::Context',
  actions: ['check', 'suspend', 'resume'],
  description:
    'Facts that hosts publish about themselves, as one versioned map, and configs that run on every member whenever the map changes: when a host enters or leaves, falls silent or returns, or when a chosen fact changes.',
  properties: {
    members: {
      type: 'Map',
      required: true,
      update_allowed: true,
      description:
        'Host ids by role: one id, a list of ids, or a map with ids as values. A host may have several roles.',
    },
    facts: {
      type: 'List',
      default: [],
      update_allowed: true,
      description: 'Names of further facts to include. A change of one of them is a new version.',
      schema: { '*': { type: 'String' } },
    },
    configs: {
      type: 'List',
      default: [],
      update_allowed: true,
      description:
        'Configs of the second phase. They run in this order on each member that is up, again for each version of the context.',
      schema: {
        '*': {
          type: 'Map',
          schema: {
            config: { type: 'String', required: true, description: 'Id of the config.' },
            name: { type: 'String', description: 'Name of the deployments; by default that of the config.' },
            roles: {
              type: 'List',
              description: 'Roles whose members run it; by default all.',
              schema: { '*': { type: 'String' } },
            },
            input_values: { type: 'Map', description: 'Values of the inputs, besides those of the context.' },
          },
        },
      },
    },
  },
  attributes: {
    version: { type: 'Integer', description: 'Grows with each change of the data.' },
    data: { type: 'Map', description: 'The whole context: version, members, and names and addresses by role.' },
    members: { type: 'List', description: 'The members: name, host, roles, state, address, addresses, facts.' },
    names: { type: 'Map', description: 'Names of the members by role.' },
    addresses: { type: 'Map', description: 'First addresses of the members by role.' },
    failures: { type: 'List', description: 'Members on which a config failed for this version, with the reasons.' },
    show: { type: 'Map', description: 'All data of the resource.' },
  },
  follows: ['members'],
  failed_update: 'repair',
};
