/** Details of nodes in Ironic's API: history, inventory, ports and checks; also drivers and conductors. */
import {
  nodeHistory,
  nodeList,
  nodeShow,
  type NodeHistoryEntry,
  type NodeView,
} from '@anneal/contracts/calls/provisioning.ts';
import { driverNames, driverProperties, lackOf, type DriverName } from '@anneal/contracts/drivers.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { portId } from '@anneal/contracts/port-id.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { queryValue } from '../http/body.ts';
import { consolesOf } from './consoles.ts';
import { ironicPrefix } from './node-view.ts';
import { showNode, type NodePath } from './node-path.ts';

interface NamedPath {
  Params: { name: string };
}

/** The only conductor: the provisioning service, whatever the number of its replicas. */
const conductor = 'anneal';

/** Registers the routes. */
export function detailRoutes(scope: FastifyInstance, ask: Ask): void {
  historyRoutes(scope, ask);
  scope.get<NodePath>('/v1/nodes/:node/inventory', async (request) => inventoryOf(await showNode(ask, request)));
  scope.get<NodePath>('/v1/nodes/:node/validate', async (request) => validationOf(await showNode(ask, request)));
  portRoutes(scope, ask);
  driverRoutes(scope);
}

function historyRoutes(scope: FastifyInstance, ask: Ask): void {
  const linesOf = async (request: FastifyRequest<NodePath>): Promise<readonly NodeHistoryEntry[]> =>
    (await ask('provisioning', nodeHistory, { data: { node: request.params.node } })).history;
  scope.get<NodePath>('/v1/nodes/:node/history', async (request) => ({
    history: (await linesOf(request)).map((line) => historyRow(baseUrl(request), request.params.node, line)),
  }));
  scope.get<{ Params: { node: string; id: string } }>('/v1/nodes/:node/history/:id', async (request) => {
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
  const { interfaces, cpus, cpu_arch, cpu_model, memory_mb, manufacturer, model, serial_number, disks } = properties;
  return {
    inventory: {
      interfaces: nicsIn({ interfaces }),
      cpu: { count: cpus ?? null, architecture: cpu_arch ?? null, model_name: cpu_model ?? null },
      memory: { physical_mb: memory_mb ?? null },
      disks: disks ?? [],
      system_vendor: {
        manufacturer: manufacturer ?? null,
        product_name: model ?? null,
        serial_number: serial_number ?? null,
      },
    },
    plugin_data: properties,
  };
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

const nicsIn = ({ interfaces }: { interfaces?: Json | undefined }): JsonObject[] =>
  Array.isArray(interfaces) ? interfaces.filter(isObject) : [];

function portsOf(base: string, node: NodeView): (Record<string, unknown> & { uuid: string; address: string })[] {
  return nicsIn(node.properties).flatMap((nic) => {
    const { mac_address: mac, name, network } = nic;
    if (typeof mac !== 'string' || mac === '') return [];
    const uuid = portId(node.id, mac);
    const port = isObject(nic['port']) ? nic['port'] : {};
    return [
      {
        uuid,
        address: mac.toLowerCase(),
        node_uuid: node.id,
        name: null,
        physical_network: typeof network === 'string' ? network : null,
        pxe_enabled: port['pxe_enabled'] ?? true,
        extra: { ...(typeof name === 'string' && { interface: name }), ...(isObject(port['extra']) && port['extra']) },
        internal_info: {},
        local_link_connection: port['local_link_connection'] ?? {},
        is_smartnic: port['is_smartnic'] ?? false,
        portgroup_uuid: null,
        created_at: null,
        updated_at: null,
        links: [{ href: `${base}${ironicPrefix}/v1/ports/${uuid}`, rel: 'self' }],
      },
    ];
  });
}

function portRoutes(scope: FastifyInstance, ask: Ask): void {
  const all = async (request: FastifyRequest) => {
    const ports: ReturnType<typeof portsOf> = [];
    for (let marker: string | undefined; ;) {
      const data = { limit: 1000, ...(marker !== undefined && { marker }) };
      const { nodes } = await ask('provisioning', nodeList, { data });
      for (const node of nodes) ports.push(...portsOf(baseUrl(request), node));
      marker = nodes.at(-1)?.id;
      if (nodes.length < 1000) return ports;
    }
  };
  const list = async (request: FastifyRequest) => {
    const address = queryValue(request, 'address')?.toLowerCase();
    const node = queryValue(request, 'node') ?? queryValue(request, 'node_uuid');
    const ports =
      node === undefined
        ? await all(request)
        : portsOf(baseUrl(request), await ask('provisioning', nodeShow, { data: { node } }));
    return { ports: ports.filter((port) => address === undefined || port.address === address) };
  };
  scope.get('/v1/ports', list);
  scope.get('/v1/ports/detail', list);
  scope.get<NodePath>('/v1/nodes/:node/ports', async (request) => ({
    ports: portsOf(baseUrl(request), await showNode(ask, request)),
  }));
  scope.get<NamedPath>('/v1/ports/:name', async (request) => {
    const port = (await all(request)).find(({ uuid }) => uuid === request.params.name);
    if (!port) throw new AnnealError('NotFound', `Port ${request.params.name} could not be found.`);
    return port;
  });
}

const diskProperties = {
  size_gb: 'Size in GiB, or MAX.',
  raid_level: 'RAID level: 0, 1, 5, 6, 1+0, 5+0 or 6+0.',
  volume_name: 'Name of the volume.',
} as const;

function driverRoutes(scope: FastifyInstance): void {
  const driver = (request: FastifyRequest, name: DriverName) => ({
    name,
    hosts: [conductor],
    type: 'dynamic',
    links: [{ href: `${baseUrl(request)}${ironicPrefix}/v1/drivers/${name}`, rel: 'self' }],
    properties: [{ href: `${baseUrl(request)}${ironicPrefix}/v1/drivers/${name}/properties`, rel: 'self' }],
  });
  const known = (wanted: string): DriverName => {
    const name = driverNames.find((each) => each === wanted);
    if (name !== undefined) return name;
    throw new AnnealError('NotFound', `Could not find the following driver(s) or hardware type(s): ${wanted}.`);
  };
  scope.get('/v1/drivers', (request) => ({ drivers: driverNames.map((name) => driver(request, name)) }));
  scope.get<NamedPath>('/v1/drivers/:name', (request) => driver(request, known(request.params.name)));
  scope.get<NamedPath>('/v1/drivers/:name/properties', ({ params }) => driverProperties[known(params.name)]);
  scope.get<NamedPath>('/v1/drivers/:name/raid/logical_disk_properties', ({ params }) => {
    const lack = lackOf(known(params.name), 'raid');
    if (lack !== undefined)
      throw new AnnealError('NotFound', `The driver ${params.name} has no RAID interface: ${lack}`);
    return diskProperties;
  });
  scope.get<NamedPath>('/v1/drivers/:name/vendor_passthru/methods', ({ params }) => {
    known(params.name);
    return {};
  });
  const host = { hostname: conductor, conductor_group: '', alive: true, links: [] };
  scope.get('/v1/conductors', () => ({ conductors: [host] }));
  scope.get<NamedPath>('/v1/conductors/:name', ({ params }) => {
    if (params.name !== conductor) throw new AnnealError('NotFound', `Conductor ${params.name} could not be found.`);
    return { ...host, drivers: driverNames, created_at: null, updated_at: null };
  });
}
