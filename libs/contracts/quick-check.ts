/**
 * A quick check of data that typed code has just made, beside the schema of its message. True: the schema accepts the
 * value, and returns it without a change. False says nothing: the schema decides.
 *
 * It costs a fifth of the schema, because it makes no copy and keeps no reasons. It knows the kinds of schemas that
 * events and requests consist of. To any other kind, and to one with further rules, its answer is false.
 */
import { safeParse, type z } from 'zod';
import { isObject, json, jsonObject } from './json.ts';

/** True when a schema surely accepts the value as it is. */
export type QuickCheck = (value: unknown) => boolean;

const unsure: QuickCheck = () => false;
const defOf = (schema: z.core.$ZodType): Shown => schema._zod.def;

interface Rule {
  readonly check: string;
  readonly format?: string;
  readonly value?: unknown;
  readonly inclusive?: boolean;
}

/** The part of a definition of zod that is read here. */
interface Shown {
  readonly type: string;
  readonly checks?: readonly { readonly _zod: { readonly def: Rule } }[];
  readonly fn?: unknown;
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
  const def = defOf(schema);
  const hasRules = def.format !== undefined || (def.checks?.length ?? 0) > 0;
  if (def.type === 'string' && hasRules) return textCheck(schema);
  if (def.type === 'number') return numberCheck(def);
  return hasRules ? unsure : kindCheck(def);
}

/** The check of a schema without further rules. */
function kindCheck(def: Shown): QuickCheck {
  switch (def.type) {
    case 'string':
      return (value) => typeof value === 'string';
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'enum': {
      const allowed = new Set<unknown>(Object.values(def.entries ?? {}));
      return (value) => allowed.has(value);
    }
    case 'literal': {
      const allowed = new Set(def.values);
      return (value) => allowed.has(value);
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
      const item = def.element ? createQuickCheck(def.element) : unsure;
      return (value) => Array.isArray(value) && value.every(item);
    }
    case 'object':
      return def.catchall === undefined ? objectCheck(def.shape ?? {}) : unsure;
    case 'custom':
      return known.get(def.fn) ?? unsure;
    default:
      return unsure;
  }
}

/** JSON without a schema that describes it, by the function of its schema, which a description does not change. */
const known = new Map<unknown, QuickCheck>([
  [defOf(json).fn, (value) => value !== undefined && typeof value !== 'function'],
  [defOf(jsonObject).fn, isObject],
]);

const innerOf = ({ innerType }: Shown): QuickCheck => (innerType ? createQuickCheck(innerType) : unsure);

/** Knows the last text that the schema accepted: thousands of messages have the same time. */
function textCheck(schema: z.core.$ZodType): QuickCheck {
  let last: string | undefined;
  return (value) => {
    if (typeof value !== 'string') return false;
    if (value === last) return true;
    const parsed = safeParse(schema, value);
    if (!parsed.success || parsed.data !== value) return false;
    last = value;
    return true;
  };
}

function numberCheck({ checks = [] }: Shown): QuickCheck {
  let least = -Infinity;
  let isWhole = false;
  for (const { _zod } of checks) {
    const { check, format, value, inclusive } = _zod.def;
    if (format === 'safeint') isWhole = true;
    else if (check === 'greater_than' && typeof value === 'number' && (inclusive || Number.isInteger(value)))
      least = Math.max(least, inclusive ? value : value + 1);
    else return unsure;
  }
  const isKnown = isWhole ? Number.isSafeInteger : Number.isFinite;
  // The next number above an exclusive bound is only known among whole ones.
  return least === -Infinity || isWhole ? (value) => isKnown(value) && (value as number) >= least : unsure;
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
