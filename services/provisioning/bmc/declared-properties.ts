/** The properties of a machine that an operator declares and that its BMC reports. Pure. */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { portAddressOf } from '@anneal/contracts/inventory.ts';
import { readMac } from '@anneal/contracts/readers/mac.ts';
import { nodePropertiesSchema } from '@anneal/contracts/calls/node-fields.ts';
import { capabilitiesInText, scalarText } from '@anneal/hot/types/scheduler-hints.ts';

/** A network interface of a node, declared or inspected. */
export interface Nic {
  readonly mac_address: string | undefined;
  /** The network that it is connected to. Only a declared interface has it. */
  readonly network: string | undefined;
  readonly addresses: readonly string[];
  /** Length of the network in bits. Undefined: the host asks DHCP. */
  readonly prefix: number | undefined;
  readonly gateway: string | undefined;
  readonly dns: readonly string[];
}

const text = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const textsIn = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.flatMap((each) => text(each) ?? []) : [];

export function nicsOf(properties: JsonObject): Nic[] {
  return objects(properties['interfaces']).map((entry) => ({
    mac_address: portAddressOf(entry),
    network: text(entry['network']),
    addresses: textsIn(entry['addresses']),
    prefix: typeof entry['prefix'] === 'number' ? entry['prefix'] : undefined,
    gateway: text(entry['gateway']),
    dns: textsIn(entry['dns']),
  }));
}

/** The size of all disks together. Undefined when the BMC reports no disk, or one without a size. */
export function diskBytesOf(properties: JsonObject): number | undefined {
  const sizes = objects(properties['disks']).map(({ size_bytes: size }) => (typeof size === 'number' ? size : NaN));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return sizes.length === 0 || Number.isNaN(total) ? undefined : total;
}

/** The capabilities, from the map or the text form of `properties.capabilities`. */
export function capabilitiesOf(properties: JsonObject): Readonly<Record<string, string>> {
  const { capabilities } = properties;
  if (typeof capabilities === 'string') return capabilitiesInText(capabilities) ?? {};
  if (!isObject(capabilities)) return {};
  return Object.fromEntries(Object.entries(capabilities).map(([name, value]) => [name, scalarText(value)]));
}

/** @throws AnnealError InvalidRequest for capabilities in no known form. The request's schema checks the rest. */
export function checkDeclared(properties: JsonObject): void {
  const { capabilities } = properties;
  if (typeof capabilities !== 'string' || capabilitiesInText(capabilities)) return;
  const path = 'properties.capabilities';
  const message = `must be "name:value,name:value", not ${JSON.stringify(capabilities)}`;
  throw new AnnealError('InvalidRequest', `The node is not valid: ${path}: ${message}`, {
    mistakes: [{ code: 'InvalidField', path, message }],
  });
}

/** @throws AnnealError InvalidRequest that names every wrong property. */
export function requireDeclaration(properties: JsonObject): void {
  const { error } = safeParseExact(nodePropertiesSchema, properties);
  if (!error) return checkDeclared(properties);
  const mistakes = error.issues.map(({ path, message }) => ({
    code: 'invalid_value',
    path: ['properties', ...path].join('.'),
    message,
  }));
  const all = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `The node cannot be changed in this way: ${all}`, { mistakes });
}

/** The address of an interface, also of one that is no port because of another. */
export const macOf = ({ mac_address: mac }: JsonObject): string | undefined =>
  typeof mac === 'string' ? readMac(mac) : undefined;

/** Merges declared and inspected properties. The BMC wins for the hardware, but it knows no networks. */
export function inspectedProperties(declared: JsonObject, inventory: JsonObject): JsonObject {
  const found = objects(inventory['interfaces']);
  const given = objects(declared['interfaces']);
  const interfaces = [
    ...found.map((nic) => {
      const known = given.find((each) => macOf(each) !== undefined && macOf(each) === macOf(nic));
      const addresses = known && Array.isArray(known['addresses']) ? known['addresses'] : nic['addresses'];
      return { ...known, ...nic, ...(addresses !== undefined && { addresses }) };
    }),
    ...given.filter((nic) => !found.some((each) => macOf(each) === macOf(nic))),
  ];
  const shown = Object.entries(inventory).filter(([name, value]) => value !== null || !Object.hasOwn(declared, name));
  return { ...declared, ...Object.fromEntries(shown), interfaces };
}
