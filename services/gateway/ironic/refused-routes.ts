/** Addresses of Ironic's API that Anneal does not offer: lists are empty, and a change says what to do instead. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance } from 'fastify';

/** The collections, and what an operator does instead. */
const collections: Readonly<Record<string, string>> = {
  inspection_rules: 'Set traits and properties of the node: PATCH of the node.',
};

/** Addresses below a node, with the key of its list where it has one. `read`: another file serves its GET. */
const belowNode: Readonly<Record<string, { readonly list?: string; readonly read?: true; readonly instead: string }>> =
  {
    vifs: { list: 'vifs', instead: 'Networks of machines are configured at the switch.' },
    'vifs/:vif': { instead: 'Networks of machines are configured at the switch.' },
    children: { list: 'children', instead: 'A node has no children.' },
    bios: { read: true, instead: 'Change settings with the step bios.apply_configuration of clean or service.' },
    firmware: { read: true, instead: 'Update firmware with the step firmware.update of clean or service.' },
    vmedia: { instead: 'Anneal inserts its own boot media.' },
    'management/inject_nmi': { instead: 'Send the NMI at the BMC.' },
    'vendor_passthru/methods': { read: true, instead: 'Anneal calls no commands of vendors.' },
    vendor_passthru: { instead: 'Anneal calls no commands of vendors.' },
    'vendor_passthru/:method': { instead: 'Anneal calls no commands of vendors.' },
    'bios/:name': {
      read: true,
      instead: 'Change settings with the step bios.apply_configuration of clean or service.',
    },
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
    const what = path.replace(/\/:.*$/, '').replaceAll(/[_/]/g, ' ');
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
  for (const path of ['vendor_passthru', 'vendor_passthru/:method'])
    scope.route({
      method: ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'],
      url: `/v1/drivers/:name/${path}`,
      handler: () => {
        throw refused('commands of vendors', 'Use the tools of the vendor.');
      },
    });
  const readsVendor = '/v1/nodes/:node/vendor_passthru/methods';
  scope.get(readsVendor, () => ({}));
  for (const path of ['/v1/heartbeat', '/v1/heartbeat/:node'])
    scope.post(path, () => {
      throw refused(
        'heartbeats of ironic-python-agent',
        'Machines report to Anneal by the boot protocol of its own agent.',
      );
    });
  scope.get('/v1/lookup', () => {
    throw refused('the look-up of ironic-python-agent', 'Machines exchange the secret of their boot address.');
  });
}
