/** Addresses of Ironic's API that Anneal does not offer: lists are empty, and a change says what to do instead. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance } from 'fastify';

/** The collections, and what an operator does instead. */
const collections: Readonly<Record<string, string>> = {
  allocations: 'Servers of a stack claim nodes by themselves: OS::Nova::Server with a flavor and scheduler_hints.',
  chassis: 'Put the place of a machine into its properties or its extra: anneal node set, or PATCH of the node.',
  portgroups: 'Configure bonds on the host, with a config.',
  'volume/connectors': 'Anneal deploys to the disks of a machine.',
  'volume/targets': 'Anneal deploys to the disks of a machine.',
  inspection_rules: 'Set traits and properties of the node: PATCH of the node.',
};

/** Addresses below a node, with the key of its list where it has one. `read`: another file serves its GET. */
const belowNode: Readonly<Record<string, { readonly list?: string; readonly read?: true; readonly instead: string }>> =
  {
    portgroups: { list: 'portgroups', instead: 'Configure bonds on the host, with a config.' },
    vifs: { list: 'vifs', instead: 'Networks of machines are configured at the switch.' },
    children: { list: 'children', instead: 'A node has no children.' },
    bios: { list: 'bios', instead: 'Change settings with the step bios.apply_configuration of clean or service.' },
    firmware: { list: 'firmware', instead: 'Update firmware with the step firmware.update of clean or service.' },
    vmedia: { instead: 'Anneal inserts its own boot media.' },
    allocation: { instead: 'The field instance_uuid of the node names its server.' },
    'states/console': { read: true, instead: 'The BMC serves its consoles itself: anneal node console NODE.' },
    'states/raid': { instead: 'Use the step raid.create_configuration of clean.' },
    'states/boot_mode': { instead: 'Use the step management.set_boot_mode of clean or service.' },
    'states/secure_boot': { instead: 'Use the step management.set_secure_boot of clean or service.' },
    'management/inject_nmi': { instead: 'Send the NMI at the BMC.' },
    'management/indicators': { instead: 'Switch the light at the BMC.' },
    'vendor_passthru/methods': { instead: 'Anneal calls no commands of vendors.' },
    vendor_passthru: { instead: 'Anneal calls no commands of vendors.' },
  };

const refused = (what: string, instead: string): AnnealError =>
  new AnnealError('NotSupported', `Anneal does not offer ${what}. ${instead}`);

export function refusedRoutes(scope: FastifyInstance): void {
  for (const [path, instead] of Object.entries(collections)) {
    const name = path.split('/').at(-1) ?? path;
    const what = name.replaceAll('_', ' ');
    scope.get(`/v1/${path}`, () => ({ [name]: [] }));
    scope.post(`/v1/${path}`, () => {
      throw refused(what, instead);
    });
    scope.route({
      method: ['GET', 'PATCH', 'DELETE'],
      url: `/v1/${path}/:id`,
      handler: () => {
        throw refused(what, instead);
      },
    });
  }
  for (const [path, { list, read, instead }] of Object.entries(belowNode)) {
    const what = path.replaceAll(/[_/]/g, ' ');
    const isRead = list !== undefined || read === true;
    scope.route({
      method: isRead ? ['PUT', 'POST', 'DELETE'] : ['GET', 'PUT', 'POST', 'DELETE'],
      url: `/v1/nodes/:node/${path}`,
      handler: () => {
        throw refused(what, instead);
      },
    });
    if (list !== undefined) scope.get(`/v1/nodes/:node/${path}`, () => ({ [list]: [] }));
  }
  scope.get('/v1/shards', () => ({ shards: [] }));
  scope.route({
    method: ['POST', 'PATCH', 'DELETE', 'PUT'],
    url: '/v1/ports',
    handler: () => {
      throw refused(
        'changes of ports',
        'They show the interfaces of the node: declare them in its properties.interfaces, or inspect the node.',
      );
    },
  });
}
