/** Addresses of Ironic's API that Anneal does not offer: lists are empty, and a change says what to do instead. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { route, type Route } from '../http/route.ts';

/** A VIF is a port of Neutron. One that is only recorded would let its client believe that it connects the machine. */
const withoutVifs =
  'A VIF connects a machine to a network of Neutron, and Anneal has no Neutron (network interface noop), so nothing would be connected. Connect the machine at the switch, and declare its networks and addresses in the property interfaces of the node, which its servers and hosts get: openstack baremetal node set NODE --property interfaces=…';

const vendors = 'Anneal calls no commands of vendors.';
const bySteps = 'Change settings with the step bios.apply_configuration of clean or service.';

/** Addresses below a node, with the key of its list where it has one. `read`: another route serves its GET. */
const belowNode: Readonly<Record<string, { readonly list?: string; readonly read?: true; readonly instead: string }>> =
  {
    vifs: { list: 'vifs', instead: withoutVifs },
    'vifs/{vif}': { instead: withoutVifs },
    children: { list: 'children', instead: 'A node has no children.' },
    bios: { read: true, instead: bySteps },
    firmware: { read: true, instead: 'Update firmware with the step firmware.update of clean or service.' },
    vmedia: { instead: 'Anneal inserts its own boot media.' },
    'vendor_passthru/methods': { read: true, instead: vendors },
    vendor_passthru: { instead: vendors },
    'vendor_passthru/{method}': { instead: vendors },
    'bios/{name}': { read: true, instead: bySteps },
  };

/** Other addresses: what Anneal does not offer there, and what to do instead. */
const elsewhere: readonly (readonly [
  method: Route['method'],
  paths: readonly string[],
  what: string,
  instead: string,
])[] = [
  [
    ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'],
    ['/v1/drivers/{name}/vendor_passthru', '/v1/drivers/{name}/vendor_passthru/{method}'],
    'commands of vendors',
    'Use the tools of the vendor.',
  ],
  [
    'POST',
    ['/v1/heartbeat', '/v1/heartbeat/{node}'],
    'heartbeats of ironic-python-agent',
    'Machines report to Anneal by the boot protocol of its own agent.',
  ],
  ['GET', ['/v1/lookup'], 'the look-up of ironic-python-agent', 'Machines exchange the secret of their boot address.'],
];

const refuses = ({ method, path }: Pick<Route, 'method' | 'path'>, what: string, instead: string): Route =>
  route({
    method,
    path,
    summary: `Refused: Anneal does not offer ${what}.`,
    isRefusal: true,
    handle: () => {
      throw new AnnealError('NotSupported', `Anneal does not offer ${what}. ${instead}`);
    },
  });

const empty = (path: string, list: string): Route =>
  route({
    method: 'GET',
    path,
    summary: 'List nothing: Anneal has none.',
    answer: z.object({ [list]: z.array(z.looseObject({})) }),
    handle: () => ({ [list]: [] }),
  });

/** The routes of what Anneal does not offer. */
export const refusedRoutes: readonly Route[] = [
  ...Object.entries(belowNode).flatMap(([below, { list, read = false, instead }]) => {
    const path = `/v1/nodes/{node}/${below}`;
    const what = below.replace(/\/\{.*$/, '').replaceAll(/[_/]/g, ' ');
    const changes = ['PUT', 'POST', 'DELETE'] as const;
    const method = read || list !== undefined ? changes : (['GET', ...changes] as const);
    return [refuses({ method, path }, what, instead), ...(list === undefined ? [] : [empty(path, list)])];
  }),
  ...elsewhere.flatMap(([method, paths, what, instead]) =>
    paths.map((path) => refuses({ method, path }, what, instead)),
  ),
  route({
    method: 'GET',
    path: '/v1/nodes/{node}/vendor_passthru/methods',
    summary: 'List the commands of vendors of a node: there are none.',
    answer: z.object({}),
    handle: () => ({}),
  }),
];
