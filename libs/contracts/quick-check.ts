/**
 * A quick check of data that typed code has just made, beside the schema of its message. True: the schema accepts the
 * value, and returns it without a change. False says nothing: the schema decides.
 *
 * It costs a fifth of the schema, because it makes no copy and keeps no reasons. It knows the kinds of schemas that
 * events and requests consist of. To any other kind, and to one with further rules, its answer is false.
 */
import type { z } from 'zod';
import { isObject, json, jsonObject } from './json.ts';

export type QuickCheck = (value: unknown) => boolean;

const unsure: QuickCheck = () => false;
/** Kinds of JSON without a schema that describes them. */
const known = new Map<unknown, QuickCheck>([
  [json, (value) => value !== undefined && typeof value !== 'function'],
  [jsonObject, isObject],
]);

/** The part of a definition of zod that is read here. */
interface Shown {
  readonly type: string;
  readonly checks?: readonly {
    readonly _zod: { readonly def: { readonly check: string; readonly format?: string } };
  }[];
  readonly format?: string;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly catchall?: unknown;
  readonly innerType?: z.core.$ZodType;
  readonly element?: z.core.$ZodType;
  readonly entries?: Readonly<Record<string, string | number>>;
  readonly values?: readonly unknown[];
}

/** Creates the quick check beside a schema. */
export function createQuickCheck(schema: z.core.$ZodType): QuickCheck {
  const exact = known.get(schema);
  if (exact) return exact;
  const def = schema._zod.def as unknown as Shown;
  const hasRules = def.format !== undefined || (def.checks?.length ?? 0) > 0;
  switch (def.type) {
    case 'string':
      return hasRules ? unsure : (value) => typeof value === 'string';
    case 'boolean':
      return hasRules ? unsure : (value) => typeof value === 'boolean';
    case 'number':
      return numberCheck(def);
    case 'enum': {
      const allowed = new Set<unknown>(Object.values(def.entries ?? {}));
      return hasRules ? unsure : (value) => allowed.has(value);
    }
    case 'literal': {
      const allowed = new Set(def.values);
      return hasRules ? unsure : (value) => allowed.has(value);
    }
    case 'nullable': {
      const inner = innerOf(def);
      return (value) => value === null || inner(value);
    }
    case 'optional': {
      const inner = innerOf(def);
      return (value) => value === undefined || inner(value);
    }
    case 'default':
      // A missing value is for the schema, which fills it in.
      return innerOf(def);
    case 'array': {
      const item = def.element && !hasRules ? createQuickCheck(def.element) : unsure;
      return (value) => Array.isArray(value) && value.every(item);
    }
    case 'object':
      return def.catchall === undefined && !hasRules ? objectCheck(def.shape ?? {}) : unsure;
    default:
      return unsure;
  }
}

const innerOf = ({ innerType }: Shown): QuickCheck => (innerType ? createQuickCheck(innerType) : unsure);

function numberCheck({ checks = [] }: Shown): QuickCheck {
  const isWhole = checks.some(({ _zod: { def } }) => def.format === 'safeint');
  if (checks.length > Number(isWhole)) return unsure;
  return isWhole ? Number.isSafeInteger : Number.isFinite;
}

function objectCheck(shape: Readonly<Record<string, z.core.$ZodType>>): QuickCheck {
  const members = new Map(Object.entries(shape).map(([name, member]) => [name, createQuickCheck(member)]));
  const needed = [...members].filter(([, check]) => !check(undefined)).map(([name]) => name);
  return (value) => {
    if (!isObject(value)) return false;
    // The schema drops a member that it does not know.
    for (const name in value) if (!members.get(name)?.(value[name])) return false;
    for (const name of needed) if (value[name] === undefined) return false;
    return true;
  };
}
