/** Addresses of Ironic's API that Anneal does not offer: lists are empty, and a change says what to do instead. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { described } from '../http/document.ts';

/** A VIF is a port of Neutron. One that is only recorded would let its client believe that it connects the machine. */
const withoutVifs =
  'A VIF connects a machine to a network of Neutron, and Anneal has no Neutron (network interface noop), so nothing would be connected. Connect the machine at the switch, and declare its networks and addresses in the property interfaces of the node, which its servers and hosts get: openstack baremetal node set NODE --property interfaces=…';

/** Addresses below a node, with the key of its list where it has one. `read`: another file serves its GET. */
const belowNode: Readonly<Record<string, { readonly list?: string; readonly read?: true; readonly instead: string }>> =
  {
    vifs: { list: 'vifs', instead: withoutVifs },
    'vifs/:vif': { instead: withoutVifs },
    children: { list: 'children', instead: 'A node has no children.' },
    bios: { read: true, instead: 'Change settings with the step bios.apply_configuration of clean or service.' },
    firmware: { read: true, instead: 'Update firmware with the step firmware.update of clean or service.' },
    vmedia: { instead: 'Anneal inserts its own boot media.' },
    'vendor_passthru/methods': { read: true, instead: 'Anneal calls no commands of vendors.' },
    vendor_passthru: { instead: 'Anneal calls no commands of vendors.' },
    'vendor_passthru/:method': { instead: 'Anneal calls no commands of vendors.' },
    'bios/:name': {
      read: true,
      instead: 'Change settings with the step bios.apply_configuration of clean or service.',
    },
  };

/** The description of a route that refuses every request. */
const refuses = (what: string) => described({ summary: `Refused: Anneal does not offer ${what}.`, isRefusal: true });
const empty = (list: string) =>
  described({ summary: 'List nothing: Anneal has none.', answer: z.object({ [list]: z.array(z.looseObject({})) }) });

const refused = (what: string, instead: string): AnnealError =>
  new AnnealError('NotSupported', `Anneal does not offer ${what}. ${instead}`);

export function refusedRoutes(scope: FastifyInstance): void {
  for (const [path, { list, read, instead }] of Object.entries(belowNode)) {
    const what = path.replace(/\/:.*$/, '').replaceAll(/[_/]/g, ' ');
    const isRead = list !== undefined || read === true;
    scope.route({
      method: isRead ? ['PUT', 'POST', 'DELETE'] : ['GET', 'PUT', 'POST', 'DELETE'],
      url: `/v1/nodes/:node/${path}`,
      ...refuses(what),
      handler: () => {
        throw refused(what, instead);
      },
    });
    if (list !== undefined) scope.get(`/v1/nodes/:node/${path}`, empty(list), () => ({ [list]: [] }));
  }
  for (const path of ['vendor_passthru', 'vendor_passthru/:method'])
    scope.route({
      method: ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'],
      url: `/v1/drivers/:name/${path}`,
      ...refuses('commands of vendors'),
      handler: () => {
        throw refused('commands of vendors', 'Use the tools of the vendor.');
      },
    });
  const readsVendor = '/v1/nodes/:node/vendor_passthru/methods';
  const none = described({ summary: 'List the commands of vendors of a node: there are none.', answer: z.object({}) });
  scope.get(readsVendor, none, () => ({}));
  for (const path of ['/v1/heartbeat', '/v1/heartbeat/:node'])
    scope.post(path, refuses('heartbeats of ironic-python-agent'), () => {
      throw refused(
        'heartbeats of ironic-python-agent',
        'Machines report to Anneal by the boot protocol of its own agent.',
      );
    });
  scope.get('/v1/lookup', refuses('the look-up of ironic-python-agent'), () => {
    throw refused('the look-up of ironic-python-agent', 'Machines exchange the secret of their boot address.');
  });
}
