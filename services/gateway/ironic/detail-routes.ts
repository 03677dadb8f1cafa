/** Details of nodes in Ironic's API: history, inventory and checks; also drivers and conductors. */
import { driverList, nodeHistory, type NodeHistoryEntry, type NodeView } from '@anneal/contracts/calls/provisioning.ts';
import {
  driverInterfaces,
  driverProperties,
  interfaceKinds,
  lackOf,
  type DriverName,
} from '@anneal/contracts/drivers.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { inventoryIn } from '@anneal/contracts/inventory.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { queryBoolean } from '../http/body.ts';
import { consolesOf } from './consoles.ts';
import { conductor, ironicPrefix, ironicLinks, ironicLinksSchema } from './node-view.ts';
import { showNode, type NodePath } from './node-path.ts';
import { described } from '../http/document.ts';
import { json, jsonObject } from '@anneal/contracts/json.ts';
import { z } from 'zod';

interface NamedPath {
  Params: { name: string };
}

const historySchema = z.looseObject({
  uuid: z.string(),
  created_at: z.string(),
  severity: z.enum(['ERROR', 'INFO']),
  event: z.string(),
  links: ironicLinksSchema,
});
const showsInventory = described({
  summary: 'Show what the inspection found in a machine.',
  answer: z.object({
    inventory: z.looseObject({ interfaces: z.array(z.looseObject({})), disks: z.array(json) }),
    plugin_data: jsonObject,
  }),
});
const validates = described({
  summary: 'Check whether each kind of work is possible on a node.',
  answer: z.record(z.string(), z.object({ result: z.boolean(), reason: z.string().optional() })),
});
const listsHistory = described({
  summary: 'List the changes of state of a node.',
  answer: z.object({ history: z.array(historySchema) }),
});
const showsHistory = described({ summary: 'Show a change of state of a node.', answer: historySchema });
const detail = z.object({ detail: z.boolean().optional() });
const driverSchema = z.looseObject({
  name: z.string(),
  hosts: z.array(z.string()),
  type: z.string(),
  links: ironicLinksSchema,
  properties: ironicLinksSchema,
});
const listsDrivers = described({
  summary: 'List the drivers.',
  query: detail.extend({ type: z.string().optional() }),
  answer: z.object({ drivers: z.array(driverSchema) }),
});
const showsDriver = described({ summary: 'Show a driver.', answer: driverSchema });
const texts = z.record(z.string(), z.string());
const showsProperties = described({ summary: 'Show the fields of driver_info of a driver.', answer: texts });
const showsDisks = described({ summary: 'Show the fields of a RAID volume.', answer: texts });
const listsMethods = described({
  summary: 'List the commands of vendors of a driver: there are none.',
  answer: z.object({}),
});
const conductorSchema = z.looseObject({
  hostname: z.string(),
  conductor_group: z.string(),
  alive: z.boolean(),
  drivers: z.array(z.string()).optional(),
  links: ironicLinksSchema,
});
const listsConductors = described({
  summary: 'List the conductors: there is one.',
  query: detail,
  answer: z.object({ conductors: z.array(conductorSchema) }),
});
const showsConductor = described({ summary: 'Show a conductor.', answer: conductorSchema });

/** Registers the routes. */
export function detailRoutes(scope: FastifyInstance, ask: Ask): void {
  historyRoutes(scope, ask);
  scope.get<NodePath>('/v1/nodes/:node/inventory', showsInventory, async (request) =>
    inventoryOf(await showNode(ask, request)),
  );
  scope.get<NodePath>('/v1/nodes/:node/validate', validates, async (request) =>
    validationOf(await showNode(ask, request)),
  );
  driverRoutes(scope, ask);
}

function historyRoutes(scope: FastifyInstance, ask: Ask): void {
  const linesOf = async (request: FastifyRequest<NodePath>): Promise<readonly NodeHistoryEntry[]> =>
    (await ask('provisioning', nodeHistory, { data: { node: request.params.node } })).history;
  scope.get<NodePath>('/v1/nodes/:node/history', listsHistory, async (request) => ({
    history: (await linesOf(request)).map((line) => historyRow(baseUrl(request), request.params.node, line)),
  }));
  scope.get<{ Params: { node: string; id: string } }>('/v1/nodes/:node/history/:id', showsHistory, async (request) => {
    const { node, id } = request.params;
    const line = (await linesOf(request)).find((each) => each.id === id);
    if (!line) throw new AnnealError('NotFound', `Node history entry ${id} of node ${node} could not be found.`);
    return historyRow(baseUrl(request), node, line);
  });
}

const historyRow = (base: string, node: string, line: NodeHistoryEntry): object => ({
  uuid: line.id,
  created_at: `${line.at.slice(0, 19)}+00:00`,
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

function driverRoutes(scope: FastifyInstance, ask: Ask): void {
  const names = async (): Promise<readonly DriverName[]> =>
    (await ask('provisioning', driverList, { data: {} })).drivers;
  const known = async (wanted: string): Promise<DriverName> => {
    const name = (await names()).find((each) => each === wanted);
    if (name !== undefined) return name;
    throw new AnnealError('NotFound', `Could not find the following driver(s) or hardware type(s): ${wanted}.`);
  };
  scope.get('/v1/drivers', listsDrivers, async (request) => {
    const { type } = request.query as { type?: string };
    const drivers = type === 'classic' ? [] : await names();
    const isDetailed = queryBoolean(request, 'detail') ?? false;
    return { drivers: drivers.map((name) => driverBody(request, name, isDetailed)) };
  });
  scope.get<NamedPath>('/v1/drivers/:name', showsDriver, async (request) =>
    driverBody(request, await known(request.params.name), true),
  );
  scope.get<NamedPath>(
    '/v1/drivers/:name/properties',
    showsProperties,
    async ({ params }) => driverProperties[await known(params.name)],
  );
  scope.get<NamedPath>('/v1/drivers/:name/raid/logical_disk_properties', showsDisks, async ({ params }) => {
    const lack = lackOf(await known(params.name), 'raid');
    if (lack !== undefined)
      throw new AnnealError('NotFound', `The driver ${params.name} has no RAID interface: ${lack}`);
    return diskProperties;
  });
  scope.get<NamedPath>('/v1/drivers/:name/vendor_passthru/methods', listsMethods, async ({ params }) => {
    await known(params.name);
    return {};
  });
  scope.get('/v1/conductors', listsConductors, async (request) => ({
    conductors: [
      { ...conductorRow(request), ...((queryBoolean(request, 'detail') ?? false) && { drivers: await names() }) },
    ],
  }));
  scope.get<NamedPath>('/v1/conductors/:name', showsConductor, async (request) => {
    if (request.params.name !== conductor)
      throw new AnnealError('NotFound', `Conductor ${request.params.name} could not be found.`);
    return { ...conductorRow(request), drivers: await names(), created_at: null, updated_at: null };
  });
}

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
