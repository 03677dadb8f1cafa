/** A JSON Patch (RFC 6902: add, replace, remove, test) over the node fields that an operator may change. Pure. */
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import {
  driverInfoSchemas,
  driverInterfaces,
  driverNames,
  interfaceKinds,
  type DriverInfo,
  type DriverName,
  type InterfaceKind,
} from '@anneal/contracts/drivers.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { nicsIn, portAddressOf } from '@anneal/contracts/inventory.ts';
import { isObject, jsonObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { patched } from '@anneal/contracts/json-patch.ts';
import {
  nodeDescriptionSchema,
  nodeExtraSchema,
  nodeNameSchema,
  nodeTextSchema,
  resourceClassSchema,
  traitsSchema,
} from '@anneal/contracts/calls/node-fields.ts';
import { type NodePatch } from '@anneal/contracts/calls/nodes.ts';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { shownInstanceInfo, type NodeDocument } from './node.ts';

/** The openstack command sends `true` as text. */
const flag = z.preprocess((value) => {
  if (value === 'True' || value === 'true') return true;
  return value === 'False' || value === 'false' ? false : value;
}, z.boolean());

const commonShape = {
  driver: z.enum(driverNames),
  name: nodeNameSchema,
  resource_class: resourceClassSchema,
  maintenance: flag,
  maintenance_reason: z.string().max(4096).nullable(),
  retired: flag,
  retired_reason: z.string().max(4096).nullable(),
  protected: flag,
  protected_reason: z.string().max(4096).nullable(),
  owner: nodeTextSchema,
  lessee: nodeTextSchema,
  description: nodeDescriptionSchema,
  traits: traitsSchema,
  /** Declared and inspected together; {@link declarationAfter} finds what the operator declares. */
  properties: jsonObject,
  extra: nodeExtraSchema,
  instance_info: nodeExtraSchema,
  chassis_uuid: z.guid().nullable(),
  shard: nodeTextSchema,
  /** A reservation by a client that schedules servers itself. */
  instance_uuid: z.guid().nullable(),
  target_raid_config: jsonObject,
};
type InterfaceField = `${InterfaceKind}_interface`;
const fieldOf = (kind: InterfaceKind): InterfaceField => `${kind}_interface`;
type InterfaceFields = Readonly<Record<InterfaceField, string | null>>;

const schemaFor = <T extends z.ZodRawShape>(driver: DriverName, info: z.ZodObject<T>) =>
  z.strictObject({
    ...commonShape,
    ...(Object.fromEntries(
      interfaceKinds.map((kind): [InterfaceField, z.ZodType<string | null>] => [
        fieldOf(kind),
        z.enum(driverInterfaces[driver][kind]).nullable(),
      ]),
    ) as Record<InterfaceField, z.ZodType<string | null>>),
    driver_info: info.strict(),
  });
/** By driver, because each has a form of its own for the access to its BMC. */
const fieldsSchemas = {
  redfish: schemaFor('redfish', driverInfoSchemas.redfish),
  ipmi: schemaFor('ipmi', driverInfoSchemas.ipmi),
  'fake-hardware': schemaFor('fake-hardware', driverInfoSchemas['fake-hardware']),
} as const;
const fieldNames = Object.keys(fieldsSchemas.redfish.shape);

/** The interfaces of a node as fields. Null: the default of the driver. */
export const interfaceFields = (chosen: Readonly<Record<string, string>>): InterfaceFields =>
  Object.fromEntries(interfaceKinds.map((kind) => [fieldOf(kind), chosen[kind] ?? null])) as InterfaceFields;

/** The chosen interfaces among the fields. */
export const interfacesIn = (fields: InterfaceFields): Readonly<Record<string, string>> =>
  Object.fromEntries(
    interfaceKinds.flatMap((kind) => {
      const chosen = fields[fieldOf(kind)];
      return chosen === null ? [] : [[kind, chosen]];
    }),
  );
export type Fields = z.output<z.ZodObject<typeof commonShape>> & InterfaceFields & { readonly driver_info: DriverInfo };

/** Defaults that a removal restores. */
const defaults: JsonObject = {
  resource_class: 'baremetal',
  maintenance: false,
  maintenance_reason: null,
  retired: false,
  retired_reason: null,
  protected: false,
  protected_reason: null,
  owner: null,
  lessee: null,
  description: null,
  traits: [],
  properties: {},
  extra: {},
  instance_info: {},
  chassis_uuid: null,
  shard: null,
  instance_uuid: null,
  target_raid_config: {},
  ...interfaceFields({}),
};

/** @throws AnnealError InvalidRequest that names every invalid operation or value. */
export function fieldsAfter(fields: Fields, patch: NodePatch): Fields {
  const { result, mistakes } = patched(fields as unknown as JsonObject, patch, { names: fieldNames, defaults });
  const driver = driverNames.find((name) => name === result['driver']) ?? fields.driver;
  const parsed = safeParseExact(
    fieldsSchemas[driver],
    driver === fields.driver ? result : withoutOthers(result, driver),
  );
  if (mistakes.length === 0 && parsed.success) return parsed.data;
  for (const { path, message } of parsed.error?.issues ?? [])
    mistakes.push({ code: 'invalid_value', path: path.join('.'), message });
  const all = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `The node cannot be changed in this way: ${all}`, { mistakes });
}

/** A node that changes its driver keeps nothing of its old access. */
const withoutOthers = (fields: JsonObject, driver: DriverName): JsonObject => {
  const { driver_info: info } = fields;
  if (!isObject(info)) return fields;
  const isOther = (key: string): boolean => driverNames.some((name) => name !== driver && key.startsWith(`${name}_`));
  return {
    ...fields,
    driver_info: Object.fromEntries(Object.entries(info).filter(([key]) => !isOther(key))),
  };
};

/**
 * The values that clients keep in `instance_info`, after a change to `wanted`.
 * @throws AnnealError Conflict for a change of a value of the server
 */
export function instanceNotesAfter(
  node: Pick<NodeDocument, 'name' | 'instance_id' | 'instance_info' | 'instance_notes'>,
  wanted: JsonObject,
): JsonObject {
  const shown = shownInstanceInfo(node);
  const notes = { ...wanted };
  for (const key of Object.keys(node.instance_info)) {
    if (!isDeepStrictEqual(wanted[key], shown[key]))
      throw new AnnealError(
        'Conflict',
        `Cannot change instance_info/${key} of node ${node.name}: server ${node.instance_id} has set it. Change the server in its stack.`,
      );
    delete notes[key];
  }
  return notes;
}

/**
 * The declaration of an operator who wants the properties of a node to be `after` instead of `before`. The inspection
 * completes the declaration, so only what the operator changed becomes a part of it.
 */
export function declarationAfter(declared: JsonObject, before: JsonObject, after: JsonObject): JsonObject {
  const changed = { ...declared };
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const value = Object.hasOwn(after, name) ? after[name] : undefined;
    if (isDeepStrictEqual(value, before[name])) continue;
    if (value === undefined) delete changed[name];
    else changed[name] = name === 'interfaces' ? ownInterfaces(value, before[name]) : value;
  }
  return changed;
}

/** Without the interfaces that only the BMC reports and that have no usable address: an operator cannot declare them. */
const ownInterfaces = (after: Json, before: Json | undefined): Json => {
  const reported = nicsIn({ interfaces: before }).filter((nic) => portAddressOf(nic) === undefined);
  return Array.isArray(after) ? after.filter((nic) => !reported.some((each) => isDeepStrictEqual(each, nic))) : after;
};
