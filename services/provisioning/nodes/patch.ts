/** A JSON Patch (RFC 6902: add, replace, remove, test) over the node fields that an operator may change. Pure. */
import { driverInfoSchemas, driverNames, type DriverInfo, type DriverName } from '@anneal/contracts/drivers.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { isObject, jsonObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import {
  nodeDescriptionSchema,
  nodeExtraSchema,
  nodeNameSchema,
  nodeTextSchema,
  resourceClassSchema,
  traitsSchema,
  type NodePatch,
} from '@anneal/contracts/calls/provisioning.ts';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

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
};
/** By driver, because each has a form of its own for the access to its BMC. */
const fieldsSchemas = {
  redfish: z.strictObject({ ...commonShape, driver_info: driverInfoSchemas.redfish.strict() }),
  ipmi: z.strictObject({ ...commonShape, driver_info: driverInfoSchemas.ipmi.strict() }),
} as const;
const fieldNames = Object.keys(fieldsSchemas.redfish.shape);
export type Fields = z.output<z.ZodObject<typeof commonShape>> & { readonly driver_info: DriverInfo };

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
};

/** @throws AnnealError InvalidRequest that names every invalid operation or value. */
export function fieldsAfter(fields: Fields, patch: NodePatch): Fields {
  const mistakes: Mistake[] = [];
  let result = structuredClone(fields) as unknown as JsonObject;
  for (const [at, operation] of patch.entries()) {
    try {
      result = applied(result, operation);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      mistakes.push({ code: 'invalid_patch', path: `[${at}].path`, message: error.message });
    }
  }
  const driver = driverNames.find((name) => name === result['driver']) ?? fields.driver;
  const parsed = fieldsSchemas[driver].safeParse(driver === fields.driver ? result : withoutOthers(result, driver));
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

class Refused extends Error {}

/** @throws Refused with the reason. */
function applied(fields: JsonObject, operation: NodePatch[number]): JsonObject {
  const { path } = operation;
  const [root, ...names] = path.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const [name] = names;
  if (root !== '' || name === undefined || names.includes('')) throw new Refused(`${path} is not the path of a field`);
  if (!fieldNames.includes(name)) {
    throw new Refused(`Cannot patch /${name}. Only the following can be updated: ${fieldNames.join(', ')}`);
  }
  const changed = changedIn(fields, names, operation);
  return names.length === 1 ? { ...defaults, ...(changed as JsonObject) } : (changed as JsonObject);
}

/** The holder after an operation at the path below it. */
function changedIn(holder: Json | undefined, names: readonly string[], operation: NodePatch[number]): Json {
  const { op, path, value } = operation;
  const [name = '', ...below] = names;
  if (Array.isArray(holder)) return changedItems(holder, names, operation);
  if (!isObject(holder)) throw new Refused(`${path} does not exist`);
  if (below.length > 0) {
    const inner = Object.hasOwn(holder, name) ? holder[name] : undefined;
    return { ...holder, [name]: changedIn(inner, below, operation) };
  }
  if (op !== 'add' && !Object.hasOwn(holder, name)) throw new Refused(`can't ${op} a non-existent object '${name}'`);
  if (op === 'remove') {
    const { [name]: _removed, ...rest } = holder;
    return rest;
  }
  if (value === undefined) throw new Refused(`${op} needs a value`);
  if (op === 'test') return tested(holder, holder[name], operation);
  return { ...holder, [name]: value };
}

/** The list after an operation on an item, or on what an item holds. `-` is the place behind the last item. */
function changedItems(list: readonly Json[], names: readonly string[], operation: NodePatch[number]): Json {
  const { op, path, value } = operation;
  const [name = '', ...below] = names;
  const isEnd = name === '-' && op === 'add' && below.length === 0;
  const at = isEnd ? list.length : /^(?:0|[1-9]\d{0,5})$/.test(name) ? Number(name) : -1;
  const most = op === 'add' && below.length === 0 ? list.length : list.length - 1;
  if (at < 0 || at > most) throw new Refused(`${path} does not exist: the list has ${list.length} items`);
  if (below.length > 0) return list.with(at, changedIn(list[at], below, operation));
  if (op === 'remove') return list.toSpliced(at, 1);
  if (value === undefined) throw new Refused(`${op} needs a value`);
  if (op === 'test') return tested([...list], list[at], operation);
  return op === 'add' ? list.toSpliced(at, 0, value) : list.with(at, value);
}

function tested(holder: Json, found: Json | undefined, { path, value }: NodePatch[number]): Json {
  if (isDeepStrictEqual(found, value)) return holder;
  throw new Refused(`${path} is not the tested value`);
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
    else changed[name] = value;
  }
  return changed;
}
