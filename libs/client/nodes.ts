/** Nodes over Ironic's API. */
import type { DriverName } from '@anneal/contracts/drivers.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { GatewayConnection } from './connection.ts';
import { readPage, type PageOf } from './page.ts';
import { read, readList } from './read.ts';
import {
  bootDeviceStateSchema,
  consoleLogRowsSchema,
  nodeHistoryRowSchema,
  nodeSchema,
  offConfirmationSchema,
  sensorRowSchema,
  type BootDeviceState,
  type ConsoleLogRows,
  type NodeHistoryRow,
  type NodeRepresentation,
  type SensorRow,
} from './representation.ts';

/** Nodes. An action resolves when it is accepted; the state of the node shows its end. */
export interface NodeCalls {
  /** `instance`: only the node that a server has, by the id of the server, which its host has too. */
  list(parameters?: {
    state?: string | undefined;
    instance?: string | undefined;
    signal?: AbortSignal;
  }): Promise<NodeRepresentation[]>;
  /** One page of the nodes, by name. Columns: name, state, power, class, maintenance. */
  page(parameters: PageRequest): Promise<PageOf<NodeRepresentation>>;
  show(parameters: { node: string }): Promise<NodeRepresentation>;
  enrol(parameters: {
    name: string;
    /** Absent: redfish. */
    driver?: DriverName | undefined;
    /** The BMC: `https://…` for redfish, a host name or IP address for ipmi. */
    address: string;
    systemId?: string | undefined;
    username?: string | undefined;
    password?: string | undefined;
    verifyCa?: boolean | string | undefined;
    /** The next three only for ipmi. */
    port?: number | string | undefined;
    cipherSuite?: number | string | undefined;
    privLevel?: string | undefined;
    resourceClass?: string | undefined;
    traits?: readonly string[] | undefined;
    /** Properties that the operator declares, e.g. `{capabilities: {profile: 'control'}}`. */
    properties?: JsonObject | undefined;
    /** Continue to available. */
    provide?: boolean | undefined;
  }): Promise<NodeRepresentation>;
  /** Each path of the patch, e.g. `driver_info/redfish_password`, with its value; null removes it. */
  set(parameters: { node: string; fields: Readonly<Record<string, Json>> }): Promise<NodeRepresentation>;
  power(parameters: { node: string; target: string }): Promise<void>;
  /** `steps`: for clean, rebuild and service. `runbook`: for clean and service. */
  provision(parameters: {
    node: string;
    target: string;
    steps?: readonly JsonObject[] | undefined;
    runbook?: string | undefined;
    rescuePassword?: string | undefined;
  }): Promise<void>;
  /** The last changes of its state, newest first. */
  history(parameters: { node: string }): Promise<NodeHistoryRow[]>;
  /** Read from its BMC. */
  bootDevice(parameters: { node: string }): Promise<BootDeviceState>;
  /** `persistent`: for every boot, else for the next one only. */
  setBootDevice(parameters: { node: string; device: string; persistent: boolean }): Promise<void>;
  /** Sends a non-maskable interrupt (NMI). */
  interrupt(parameters: { node: string }): Promise<void>;
  /** Read from its BMC. */
  sensors(parameters: { node: string }): Promise<SensorRow[]>;
  /**
   * The last lines of its serial console, read from its BMC, oldest first. `limit`: 200 by default, at most 1,000. With
   * `wait` in seconds, at most 25, the answer waits for a line behind the line of the id `known`.
   */
  consoleLog(parameters: {
    node: string;
    limit?: number | undefined;
    known?: string | undefined;
    wait?: number | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<ConsoleLogRows>;
  maintenance(parameters: { node: string; on: boolean; reason?: string | undefined }): Promise<void>;
  /**
   * States that the machine is off, which its BMC cannot prove. Resolves with what speaks against it: its host asked for work
   * after its BMC was last heard.
   */
  confirmOff(parameters: { node: string; reason: string }): Promise<{ warning: string | null }>;
  /** Forgets the losses of the machine, which placement takes like any other then. */
  clearSuspect(parameters: { node: string }): Promise<void>;
  /** `force`: in every state, also with a server, in maintenance, when the machine is proven to be off. */
  remove(parameters: { node: string; force?: boolean | undefined }): Promise<void>;
}

const pageSize = 1000;

/** The calls for nodes. Each throws the gateway's AnnealError. */
export function nodesOf(connection: GatewayConnection): NodeCalls {
  const service = 'baremetal';
  // The states and fields that this client reads exist since this microversion.
  const headers = { 'x-openstack-ironic-api-version': '1.80', 'openstack-api-version': 'baremetal 1.80' };
  const pathOf = (node: string): string => `/v1/nodes/${encodeURIComponent(node)}`;
  const put = async (path: string, body: unknown, what: string): Promise<void> => {
    await connection.call({ service, path, method: 'PUT', body, headers, what });
  };
  return {
    async list({ state, instance, signal } = {}) {
      const what = 'list the nodes';
      const nodes: NodeRepresentation[] = [];
      for (;;) {
        const query = { provision_state: state, instance_uuid: instance, limit: pageSize, marker: nodes.at(-1)?.uuid };
        const body = await connection.json({ service, path: '/v1/nodes/detail', query, headers, what, signal });
        const page = readList({ nodes: nodeSchema }, body, what);
        nodes.push(...page);
        if (page.length < pageSize) return nodes;
      }
    },
    page: (page) => readPage(connection, { path: '/nodes', key: 'nodes', row: nodeSchema, ...page }),
    async show({ node }) {
      const what = `show the node ${node}`;
      return read(nodeSchema, await connection.json({ service, path: pathOf(node), headers, what }), what);
    },
    async enrol(parameters) {
      const what = `enrol the node ${parameters.name}`;
      const body = enrolBody(parameters);
      return read(
        nodeSchema,
        await connection.json({ service, path: '/v1/nodes', method: 'POST', headers, body, what }),
        what,
      );
    },
    async set({ node, fields }) {
      const what = `change the node ${node}`;
      const patch = Object.entries(fields).map(([path, value]) =>
        value === null ? { op: 'remove', path: `/${path}` } : { op: 'add', path: `/${path}`, value },
      );
      const body = await connection.json({ service, path: pathOf(node), method: 'PATCH', headers, body: patch, what });
      return read(nodeSchema, body, what);
    },
    power: ({ node, target }) => put(`${pathOf(node)}/states/power`, { target }, `turn the node ${node} to ${target}`),
    provision: ({ node, ...verb }) =>
      put(`${pathOf(node)}/states/provision`, provisionBody(verb), `${verb.target} the node ${node}`),
    async history({ node }) {
      const what = `read the history of the node ${node}`;
      const query = { detail: 'true' };
      const body = await connection.json({ service, path: `${pathOf(node)}/history`, query, headers, what });
      return readList({ history: nodeHistoryRowSchema }, body, what);
    },
    ...hardwareCalls(connection, { service, headers, pathOf, put }),
    async maintenance({ node, on, reason }) {
      const path = `${pathOf(node)}/maintenance`;
      const what = `${on ? 'set' : 'clear'} maintenance of the node ${node}`;
      if (on) await put(path, { ...(reason !== undefined && { reason }) }, what);
      else await connection.call({ service, path, method: 'DELETE', headers, what });
    },
    async confirmOff({ node, reason }) {
      const what = `confirm that the machine of node ${node} is off`;
      const path = `/nodes/${encodeURIComponent(node)}/confirm-off`;
      const body = await connection.json({ service: 'api', path, method: 'POST', body: { reason }, what });
      return read(offConfirmationSchema, body, what);
    },
    async clearSuspect({ node }) {
      const path = `/nodes/${encodeURIComponent(node)}/clear-suspect`;
      await connection.call({ service: 'api', path, method: 'POST', what: `clear the losses of node ${node}` });
    },
    async remove({ node, force }) {
      await connection.call({
        service,
        path: pathOf(node),
        query: force === true ? { force: 'true' } : {},
        method: 'DELETE',
        headers,
        what: `remove the node ${node}`,
      });
    },
  };
}

interface NodeWays {
  readonly service: 'baremetal';
  readonly headers: Readonly<Record<string, string>>;
  readonly pathOf: (node: string) => string;
  readonly put: (path: string, body: unknown, what: string) => Promise<void>;
}

/** Calls that the BMC of a node answers meanwhile. */
function hardwareCalls(
  connection: GatewayConnection,
  { service, headers, pathOf, put }: NodeWays,
): Pick<NodeCalls, 'bootDevice' | 'setBootDevice' | 'interrupt' | 'sensors' | 'consoleLog'> {
  return {
    async bootDevice({ node }) {
      const what = `read the boot device of the node ${node}`;
      const path = `${pathOf(node)}/management/boot_device`;
      return read(bootDeviceStateSchema, await connection.json({ service, path, headers, what }), what);
    },
    setBootDevice: ({ node, device, persistent }) =>
      put(
        `${pathOf(node)}/management/boot_device`,
        { boot_device: device, persistent },
        `set the boot device of the node ${node} to ${device}`,
      ),
    interrupt: ({ node }) => put(`${pathOf(node)}/management/inject_nmi`, {}, `send an NMI to the node ${node}`),
    async sensors({ node }) {
      const what = `read the sensors of the node ${node}`;
      const body = await connection.json({ service, path: `${pathOf(node)}/sensors`, headers, what });
      return readList({ sensors: sensorRowSchema }, body, what);
    },
    async consoleLog({ node, limit, known, wait, signal }) {
      const what = `read the console of the node ${node}`;
      const path = `/nodes/${encodeURIComponent(node)}/console-log`;
      return read(
        consoleLogRowsSchema,
        await connection.json({ service: 'api', path, query: { limit, known, wait }, what, signal }),
        what,
      );
    },
  };
}

function provisionBody({
  target,
  steps,
  runbook,
  rescuePassword,
}: Omit<Parameters<NodeCalls['provision']>[0], 'node'>): object {
  const field = target === 'clean' ? 'clean_steps' : target === 'service' ? 'service_steps' : 'deploy_steps';
  return {
    target,
    ...(steps && { [field]: steps }),
    ...(runbook !== undefined && { runbook }),
    ...(rescuePassword !== undefined && { rescue_password: rescuePassword }),
  };
}

function enrolBody({
  name,
  driver = 'redfish',
  resourceClass,
  traits,
  properties,
  provide,
  ...access
}: Parameters<NodeCalls['enrol']>[0]): object {
  const info = {
    address: access.address,
    system_id: access.systemId,
    username: access.username,
    password: access.password,
    verify_ca: access.verifyCa,
    port: access.port,
    cipher_suite: access.cipherSuite,
    priv_level: access.privLevel,
  };
  return {
    name,
    driver,
    // The server refuses what the driver does not have.
    driver_info: Object.fromEntries(
      Object.entries(info).flatMap(([key, value]) => (value === undefined ? [] : [[`${driver}_${key}`, value]])),
    ),
    ...(resourceClass !== undefined && { resource_class: resourceClass }),
    ...(traits && { traits }),
    ...(properties && { properties }),
    ...(provide && { provide }),
  };
}
