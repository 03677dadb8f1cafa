/** Converts values of parameters to their type, then checks the constraints. */
import type { Json } from '@anneal/contracts/json.ts';
import type { PlanParameter } from '@anneal/contracts/plan.ts';
import type { Constraint } from '@anneal/contracts/resource-type.ts';
import { type Reason, stated, why } from '../evaluate/reason.ts';
import { checkConstraints, notAllowed } from './constraint.ts';
import { parseJsonText } from '@anneal/python/yaml/json-text.ts';
import { exactNumber, numberOf } from '@anneal/python/values/number.ts';
import { kindOfValue, type YamlNode, shown, toExact } from '@anneal/python/yaml/node.ts';
import { pythonEqual, pythonText } from '@anneal/python/values/compare.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import { withTextKeys } from '@anneal/python/values/exact.ts';

/** The type of a parameter. */
export type ParameterType = PlanParameter['type'];

/** The value in its type, or the reason why it has another one. */
export type Converted = { readonly value: Json } | { readonly problem: Reason };

/** Converts a value of a document. A number that becomes text keeps the form in which it was written. */
export function convertNode(type: ParameterType, node: YamlNode): Converted {
  return convertValue(type, toExact(node));
}

/** Converts as Heat does: text to numbers, lists and maps. Never throws. */
export function convertValue(type: ParameterType, value: Json): Converted {
  switch (type) {
    case 'string':
      return { value: pythonText(value) };
    case 'number':
      return toNumber(value);
    case 'boolean':
      return toBoolean(value);
    case 'comma_delimited_list':
      if (Array.isArray(value)) return { value: value.map(pythonText) };
      if (typeof value === 'string') return { value: value === '' ? [] : value.split(',') };
      return {
        problem: why`Value must be a comma-delimited list string: ${shown(value)} is ${stated(kindOfValue(value))}`,
      };
    case 'json':
      return toJsonValue(value);
  }
}

/** Parses as Python's int() does, then as its float(): no hexadecimal, surrounding spaces allowed. */
function toNumber(value: Json): Converted {
  if (numberOf(value) !== undefined) return { value };
  // Keep a boolean: in Python it is a number.
  if (typeof value === 'boolean') return { value };
  const text = typeof value === 'string' ? value.trim().replace(/(?<=\d)_(?=\d)/g, '') : '';
  if (/^[-+]?\d+$/.test(text) && text.length < 400) return { value: exactNumber(BigInt(text.replace(/^\+/, ''))) };
  if (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) return { value: exactNumber(Number(text)) };
  const endless = /^([-+]?)(?:(inf)(?:inity)?|nan)$/i.exec(text);
  if (endless) return { value: exactNumber(endless[2] ? (endless[1] === '-' ? -Infinity : Infinity) : Number.NaN) };
  return { problem: why`could not convert ${shown(value)} to a number` };
}

const truths = ['1', 't', 'true', 'on', 'y', 'yes'];
const untruths = ['0', 'f', 'false', 'off', 'n', 'no'];

function toBoolean(value: Json): Converted {
  if (typeof value === 'boolean') return { value };
  const word = pythonText(value).trim().toLowerCase();
  if (truths.includes(word)) return { value: true };
  if (untruths.includes(word)) return { value: false };
  const acceptable = [...untruths, ...truths].sort().map((item) => `'${item}'`);
  return {
    problem: why`Unrecognized value '${shown(value)}', acceptable values are: ${stated(acceptable.join(', '))}`,
  };
}

function toJsonValue(value: Json): Converted {
  if (typeof value !== 'string') return { value: withTextKeys(value) };
  if (value === '') return { value };
  try {
    return { value: parseJsonText(value) };
  } catch (error) {
    return { problem: why`Value must be valid JSON: ${(error as Error).message}` };
  }
}

/** A value to check, in its type. */
export interface Checked {
  readonly type: ParameterType;
  /** A string as given; other types after conversion. A default in the schema is always as given. */
  readonly value: Json;
  readonly constraints: readonly Constraint[];
  readonly skipCustom?: boolean;
  /** The time of the request; see {@link CustomChecking}. */
  readonly now?: Date | undefined;
  /** Work that checking may use: that of the whole stack. */
  readonly work: EvaluationWork;
}

/** Returns the constraints that a value violates. As in Python, a number has no length and matches no pattern. */
export function breaches({ type, value, constraints, skipCustom = false, now, work }: Checked): Reason[] {
  return constraints.flatMap((constraint) => {
    const { length, range, modulo, allowed_values: allowed, allowed_pattern: pattern } = constraint;
    if (length && numberOf(value) !== undefined) return [why`${shown(value)} has no length`];
    if (length && (value === null || typeof value === 'boolean')) return [why`${shown(value)} has no length`];
    if (pattern !== undefined && typeof value !== 'string')
      return [why`expected string, got ${stated(kindOfValue(value))}`];
    if (range || modulo) {
      const number = toNumber(value);
      return 'problem' in number ? [number.problem] : checkConstraints(numeric(number.value), [constraint], { work });
    }
    if (!allowed) return checkConstraints(value, [constraint], { skipCustom, now, inParameter: true, work });
    work.spend((Array.isArray(value) ? value.length : 1) * allowed.length);
    return isAllowed(type, value, allowed) ? [] : breachOf(constraint, value, allowed);
  });
}

const numeric = (value: Json): Json => (typeof value === 'boolean' ? Number(value) : value);

const breachOf = ({ description }: Constraint, value: Json, allowed: readonly Json[]): Reason[] => [
  description === undefined ? notAllowed(value, allowed) : why`${stated(description)}`,
];

/**
 * Compares each item of a list as is. Other values are compared after converting both sides to the parameter's type.
 */
function isAllowed(type: ParameterType, value: Json, allowed: readonly Json[]): boolean {
  if (Array.isArray(value)) return value.every((item) => allowed.some((other) => pythonEqual(item, other)));
  const convert = (item: Json): Json | undefined => {
    if (type === 'comma_delimited_list' || type === 'json') return item;
    const converted = convertValue(type, item);
    return 'value' in converted ? converted.value : undefined;
  };
  const [own, ...others] = [value, ...allowed].map(convert);
  if (own === undefined || others.includes(undefined)) return false;
  return others.some((other) => other !== undefined && pythonEqual(own, other));
}
