/** A JSON Patch (RFC 6902: add, replace, remove, test) over the node fields that an operator may change. Pure. */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { driverInfoSchema, type NodePatch } from '@anneal/contracts/provisioning.ts';
import { z } from 'zod';

/** Shown instead of a password. When a client sends it as a value, the password stays unchanged. */
export const hiddenPassword = '******';

const fieldsSchema = z.strictObject({
  name: z.string().min(1).max(255),
  resource_class: z.string().min(1).max(80),
  maintenance: z.boolean(),
  maintenance_reason: z.string().max(4096).nullable(),
  driver_info: driverInfoSchema.strict(),
});
export type Fields = z.output<typeof fieldsSchema>;

/** Defaults that a removal restores. */
const defaults: JsonObject = { resource_class: 'baremetal', maintenance: false, maintenance_reason: null };

/** @throws AnnealError InvalidRequest that names every invalid operation or value. */
export function fieldsAfter(fields: Fields, patch: NodePatch): Fields {
  const mistakes: Mistake[] = [];
  let result = structuredClone(fields) as unknown as JsonObject;
  for (const [at, operation] of patch.entries()) {
    const outcome = applied(result, operation);
    if (typeof outcome === 'string') mistakes.push({ code: 'invalid_patch', path: `[${at}].path`, message: outcome });
    else result = outcome;
  }
  const parsed = fieldsSchema.safeParse(result);
  if (mistakes.length === 0 && parsed.success) return parsed.data;
  for (const { path, message } of parsed.error?.issues ?? [])
    mistakes.push({ code: 'invalid_value', path: path.join('.'), message });
  const all = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `The node cannot be changed in this way: ${all}`, { mistakes });
}

/** The fields after one operation, or the reason for a refusal. */
function applied(fields: JsonObject, { op, path, value }: NodePatch[number]): JsonObject | string {
  const [root, name, key, ...more] = path.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (root !== '' || name === undefined || name === '' || more.length > 0) return `${path} is no path to a field`;
  if (!Object.hasOwn(fieldsSchema.shape, name)) {
    return `${path} cannot be changed; what can be is ${Object.keys(fieldsSchema.shape).join(', ')}`;
  }
  const holder = key === undefined ? fields : fields[name];
  if (!isObject(holder)) return `${path} does not exist`;
  const last = key ?? name;
  const changed = changedIn(holder, last, { op, path, value });
  if (typeof changed === 'string') return changed;
  return key === undefined ? { ...defaults, ...changed } : { ...fields, [name]: changed };
}

function changedIn(
  holder: JsonObject,
  last: string,
  { op, path, value }: { op: NodePatch[number]['op']; path: string; value?: Json | undefined },
): JsonObject | string {
  if (op === 'remove') {
    if (!Object.hasOwn(holder, last)) return `${path} does not exist, so it cannot be removed`;
    const { [last]: _removed, ...rest } = holder;
    return rest;
  }
  if (value === undefined) return `${op} needs a value`;
  if (op !== 'test') return { ...holder, [last]: value };
  const same = JSON.stringify(holder[last]) === JSON.stringify(value);
  return same ? holder : `${path} is not the tested value`;
}
