/**
 * OS::Ironic::Port: an interface that a node declares.
 *
 * The declared interface names its resource, so a repeat changes nothing, an update finds its interface, and two resources never share
 * one. What the BMC reports about the interface stays when the resource is deleted.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { portId } from '@anneal/contracts/port-id.ts';
import { macProblem, readMac } from '@anneal/contracts/readers/mac.ts';
import { openProperties } from '@anneal/runtime/secrets/open.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { PortClaims } from '../assets/port-claims.ts';
import { inspectedProperties, macOf, requireDeclaration } from '../bmc/declared-properties.ts';
import type { NodeChange, NodeDocument } from '../documents/node.ts';
import type { NodeRecords } from '../documents/records.ts';
import { objectOf, textOf, type ServerDocument } from './document.ts';
import type { ServerDecision, ServerWork } from './servers.ts';

interface PortOptions {
  readonly context: Pick<ServiceContext, 'secrets'>;
  readonly records: NodeRecords;
  readonly claims: PortClaims;
}

export function ironicPort(
  options: PortOptions,
): Readonly<Record<'create' | 'update' | 'delete' | 'check', ServerWork>> {
  return {
    create: (server, { data }) => write(options, server, openProperties(options.context.secrets, data.properties)),
    update: (server, { data }) => write(options, server, openProperties(options.context.secrets, data.properties)),
    delete: async (server, { data }) => {
      const properties = openProperties(options.context.secrets, data.properties);
      const node = await options.records.find(textOf(properties, 'node'));
      if (node) {
        await options.records.change(node.id, (current) => withInterfaces(current, without(current, server.id)));
        await options.claims.settle(node.id);
      }
      return { kind: 'complete' };
    },
    check: async (server, { data }) => {
      const name = textOf(openProperties(options.context.secrets, data.properties), 'node');
      const node = await options.records.find(name);
      const own = node && interfacesOf(node.declared).find((each) => resourceOf(each) === server.id);
      if (own) return { kind: 'complete' };
      return { kind: 'failed', error: new AnnealError('ResourceFailed', `Node ${name} does not declare this port.`) };
    },
  };
}

async function write(
  { records, claims }: PortOptions,
  server: ServerDocument,
  properties: JsonObject,
): Promise<ServerDecision> {
  const name = textOf(properties, 'node');
  const node = await records.find(name);
  if (!node) throw new AnnealError('NotFound', `Cannot declare the port: there is no node with id or name ${name}.`);
  const given = textOf(properties, 'address');
  const address = readMac(given);
  if (address === undefined) {
    const why = macProblem(given) ?? '';
    throw new AnnealError('InvalidRequest', `Cannot declare a port of node ${name}: address: ${why}`);
  }
  const network = textOf(properties, 'physical_network');
  const { pxe_enabled = true, is_smartnic = false } = properties;
  const details = {
    pxe_enabled,
    is_smartnic,
    local_link_connection: objectOf(properties, 'local_link_connection'),
    extra: objectOf(properties, 'extra'),
  };
  const port = { resource: server.id, ...details };
  const holder = await claims.holder(address);
  if (holder && holder.id !== node.id)
    throw new AnnealError(
      'AlreadyExists',
      `Cannot declare a port of node ${name}: node ${holder.name} has an interface with the address ${address}.`,
    );
  await records.change(node.id, (current) => {
    requireOwn(current, server.project);
    const others = without(current, server.id);
    const same = others.find((each) => macOf(each) === address);
    if (same && resourceOf(same) !== undefined) {
      throw new AnnealError('AlreadyExists', `Node ${current.name} already has a port with the address ${address}.`);
    }
    const declared = { ...same, mac_address: address, ...(network !== '' && { network }), port };
    return withInterfaces(current, [...others.filter((each) => each !== same), declared]);
  });
  await claims.settle(node.id);
  const shown = {
    address,
    node_uuid: node.id,
    portgroup_uuid: '',
    physical_network: network,
    internal_info: {},
    ...details,
  };
  const uuid = portId(node.id, address);
  return { kind: 'complete', physical_id: uuid, attributes: { ...shown, show: { uuid, ...shown } } };
}

/** @throws AnnealError Forbidden for a node of others: its declaration decides which addresses their servers report. */
function requireOwn({ name, owner, lessee }: NodeDocument, project: string): void {
  if (owner === project || lessee === project) return;
  throw new AnnealError(
    'Forbidden',
    `Node ${name} is not owned by, or leased to, project ${project}. An operator allows it: anneal node set ${name} --owner ${project}.`,
  );
}

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const interfacesOf = (declared: JsonObject | undefined): JsonObject[] => objects(declared?.['interfaces']);
const resourceOf = ({ port }: JsonObject): Json | undefined => (isObject(port) ? port['resource'] : undefined);

/** The declared interfaces without that of the resource. */
const without = ({ declared }: NodeDocument, resource: string): JsonObject[] =>
  interfacesOf(declared).filter((each) => resourceOf(each) !== resource);

/** The declaration with these interfaces, and the properties that follow from it and from the last inspection. */
function withInterfaces(node: NodeDocument, interfaces: readonly JsonObject[]): NodeChange {
  const declared = { ...node.declared, interfaces: [...interfaces] };
  requireDeclaration(declared);
  // An interface that only a declaration named is not in an inventory, which always has the name of an interface.
  const found = objects(node.properties['interfaces']).flatMap((nic) => {
    const { network: _network, port: _port, ...inspected } = nic;
    return 'name' in nic ? [inspected] : [];
  });
  const { interfaces: _all, ...rest } = node.properties;
  const merged = inspectedProperties(declared, { ...rest, interfaces: found });
  return { declared, properties: merged };
}
