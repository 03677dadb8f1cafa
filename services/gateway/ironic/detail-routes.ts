/** Details of nodes in Ironic's API: history, inventory and checks; also drivers and conductors. */
import { driverList, nodeHistory, type NodeHistoryEntry, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import {
  driverInterfaces,
  driverProperties,
  interfaceKinds,
  lackOf,
  type DriverName,
} from '@anneal/contracts/drivers.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { inventoryIn } from '@anneal/contracts/inventory.ts';
import type { FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { route, type Route } from '../http/route.ts';
import { consolesOf } from './consoles.ts';
import { conductor, ironicPrefix, ironicLinks, ironicLinksSchema, ironicSeconds } from './node-view.ts';
import { showNode } from './node-path.ts';
import { json, jsonObject } from '@anneal/contracts/json.ts';
import { z } from 'zod';

const historySchema = z.looseObject({
  uuid: z.string(),
  created_at: z.string(),
  severity: z.enum(['ERROR', 'INFO']),
  event: z.string(),
  links: ironicLinksSchema,
});
const flag = z.boolean().optional();
const driverSchema = z.looseObject({
  name: z.string(),
  hosts: z.array(z.string()),
  type: z.string(),
  links: ironicLinksSchema,
  properties: ironicLinksSchema,
});
const texts = z.record(z.string(), z.string());
const conductorSchema = z.looseObject({
  hostname: z.string(),
  conductor_group: z.string(),
  alive: z.boolean(),
  drivers: z.array(z.string()).optional(),
  links: ironicLinksSchema,
});

/** The routes of history, inventory, checks, drivers and conductors. */
export const detailRoutes = (ask: Ask): Route[] => [
  ...historyRoutes(ask),
  route({
    method: 'GET',
    path: '/v1/nodes/{node}/inventory',
    summary: 'Show what the inspection found in a machine.',
    answer: z.object({
      inventory: z.looseObject({ interfaces: z.array(z.looseObject({})), disks: z.array(json) }),
      plugin_data: jsonObject,
    }),
    handle: async ({ params }) => inventoryOf(await showNode(ask, params.node)),
  }),
  route({
    method: 'GET',
    path: '/v1/nodes/{node}/validate',
    summary: 'Check whether each kind of work is possible on a node.',
    answer: z.record(z.string(), z.object({ result: z.boolean(), reason: z.string().optional() })),
    handle: async ({ params }) => validationOf(await showNode(ask, params.node)),
  }),
  ...driverRoutes(ask),
  ...conductorRoutes(ask),
];

function historyRoutes(ask: Ask): Route[] {
  const linesOf = async (node: string): Promise<readonly NodeHistoryEntry[]> =>
    (await ask('provisioning', nodeHistory, { data: { node } })).history;
  return [
    route({
      method: 'GET',
      path: '/v1/nodes/{node}/history',
      summary: 'List the changes of state of a node.',
      answer: z.object({ history: z.array(historySchema) }),
      handle: async ({ params: { node }, request }) => ({
        history: (await linesOf(node)).map((line) => historyRow(baseUrl(request), node, line)),
      }),
    }),
    route({
      method: 'GET',
      path: '/v1/nodes/{node}/history/{id}',
      summary: 'Show a change of state of a node.',
      answer: historySchema,
      handle: async ({ params: { node, id }, request }) => {
        const line = (await linesOf(node)).find((each) => each.id === id);
        if (!line) throw new AnnealError('NotFound', `Node history entry ${id} of node ${node} could not be found.`);
        return historyRow(baseUrl(request), node, line);
      },
    }),
  ];
}

const historyRow = (base: string, node: string, line: NodeHistoryEntry): object => ({
  uuid: line.id,
  created_at: ironicSeconds(line.at),
  severity: line.failed ? 'ERROR' : 'INFO',
  event: `${line.from} → ${line.to}: ${line.reason}`,
  event_type: line.to,
  state: line.to,
  conductor,
  user: line.actor,
  links: [{ href: `${base}${ironicPrefix}/v1/nodes/${encodeURIComponent(node)}/history/${line.id}`, rel: 'self' }],
});

/** @throws AnnealError NotFound before the first inspection. */
function inventoryOf({ name, properties }: NodeView): object {
  if (!('inspected_at' in properties))
    throw new AnnealError(
      'NotFound',
      `Node ${name} has no inventory: it was not inspected yet. Send the verb "inspect".`,
    );
  return { inventory: inventoryIn(properties), plugin_data: properties };
}

/** The problem, if any, with each kind of work on the node. */
function validationOf(node: NodeView): object {
  const identity = node.conditions.find(({ type }) => type === 'Identity');
  const reachable = node.conditions.find(({ type }) => type === 'Reachable');
  const problems = [identity, reachable].flatMap((condition) =>
    condition && condition.status !== 'True' ? [condition.message || `${condition.type}: ${condition.reason}`] : [],
  );
  const [problem] = problems;
  const state = problem === undefined ? { result: true } : { result: false, reason: problem };
  const kinds = ['boot', 'deploy', 'management', 'power', 'bios', 'firmware', 'inspect', 'raid', 'rescue'];
  const absent = { result: false, reason: 'Anneal has no such interface.' };
  return {
    ...Object.fromEntries(
      kinds.map((kind) => {
        const lack = lackOf(node.driver, kind);
        return [kind, lack === undefined ? state : { result: false, reason: lack }];
      }),
    ),
    console: consolesOf(node)?.length
      ? { result: true }
      : { result: false, reason: 'The inspection found no console at the BMC.' },
    network: { result: true },
    storage: absent,
  };
}

const diskProperties = {
  size_gb: 'Size in GiB, or MAX.',
  raid_level: 'RAID level: 0, 1, 5, 6, 1+0, 5+0 or 6+0.',
  volume_name: 'Name of the volume.',
} as const;

const namesOf = async (ask: Ask): Promise<readonly DriverName[]> =>
  (await ask('provisioning', driverList, { data: {} })).drivers;

function driverRoutes(ask: Ask): Route[] {
  const known = async (wanted: string): Promise<DriverName> => {
    const name = (await namesOf(ask)).find((each) => each === wanted);
    if (name !== undefined) return name;
    throw new AnnealError('NotFound', `Could not find the following driver(s) or hardware type(s): ${wanted}.`);
  };
  return [
    route({
      method: 'GET',
      path: '/v1/drivers',
      summary: 'List the drivers.',
      query: z.object({ detail: flag, type: z.string().optional() }),
      answer: z.object({ drivers: z.array(driverSchema) }),
      handle: async ({ query: { detail = false, type }, request }) => {
        const drivers = type === 'classic' ? [] : await namesOf(ask);
        return { drivers: drivers.map((name) => driverBody(request, name, detail)) };
      },
    }),
    route({
      method: 'GET',
      path: '/v1/drivers/{name}',
      summary: 'Show a driver.',
      answer: driverSchema,
      handle: async ({ params, request }) => driverBody(request, await known(params.name), true),
    }),
    route({
      method: 'GET',
      path: '/v1/drivers/{name}/properties',
      summary: 'Show the fields of driver_info of a driver.',
      answer: texts,
      handle: async ({ params }) => driverProperties[await known(params.name)],
    }),
    route({
      method: 'GET',
      path: '/v1/drivers/{name}/raid/logical_disk_properties',
      summary: 'Show the fields of a RAID volume.',
      answer: texts,
      handle: async ({ params }) => {
        const lack = lackOf(await known(params.name), 'raid');
        if (lack === undefined) return diskProperties;
        throw new AnnealError('NotFound', `The driver ${params.name} has no RAID interface: ${lack}`);
      },
    }),
    route({
      method: 'GET',
      path: '/v1/drivers/{name}/vendor_passthru/methods',
      summary: 'List the commands of vendors of a driver: there are none.',
      answer: z.object({}),
      handle: async ({ params }) => {
        await known(params.name);
        return {};
      },
    }),
  ];
}

const conductorRoutes = (ask: Ask): Route[] => [
  route({
    method: 'GET',
    path: '/v1/conductors',
    summary: 'List the conductors: there is one.',
    query: z.object({ detail: flag }),
    answer: z.object({ conductors: z.array(conductorSchema) }),
    handle: async ({ query: { detail }, request }) => ({
      conductors: [{ ...conductorRow(request), ...(detail && { drivers: await namesOf(ask) }) }],
    }),
  }),
  route({
    method: 'GET',
    path: '/v1/conductors/{name}',
    summary: 'Show a conductor.',
    answer: conductorSchema,
    handle: async ({ params: { name }, request }) => {
      if (name !== conductor) throw new AnnealError('NotFound', `Conductor ${name} could not be found.`);
      return { ...conductorRow(request), drivers: await namesOf(ask), created_at: null, updated_at: null };
    },
  }),
];

const conductorRow = (request: FastifyRequest): object => ({
  hostname: conductor,
  conductor_group: '',
  alive: true,
  links: ironicLinks(baseUrl(request), `conductors/${conductor}`),
});

const driverBody = (request: FastifyRequest, name: DriverName, detailed: boolean): object => ({
  name,
  hosts: [conductor],
  type: 'dynamic',
  links: ironicLinks(baseUrl(request), `drivers/${name}`),
  properties: ironicLinks(baseUrl(request), `drivers/${name}/properties`),
  ...(detailed &&
    Object.fromEntries(
      interfaceKinds.flatMap((kind): [string, unknown][] => [
        [`default_${kind}_interface`, driverInterfaces[name][kind][0]],
        [`enabled_${kind}_interfaces`, driverInterfaces[name][kind]],
      ]),
    )),
});
