/**
 * Signatures of functions, written as text: `string:string, separator:string?=null, *rest:any`. A `?` after the type
 * accepts null; a value after `=` is the default.
 */
import { Moment, TimeSpan } from './library/moment.ts';
import { Pattern } from '@anneal/python/pattern/pattern.ts';
import type { SyntaxTree } from './syntax.ts';
import { asSet, Dict, isListing, Once, Ordering, Rule, SetValue, type Value } from './value.ts';
import { YaqlNames } from './names.ts';

const kinds = [
  'any',
  /** Any value except null. */
  'some',
  'int',
  'number',
  'string',
  'bool',
  'null',
  'listing',
  'nonset',
  'list',
  'once',
  'dict',
  'set',
  /** A set, but not the keys or items of a map. */
  'frozen',
  'pattern',
  'ordering',
  'rule',
  'names',
  'moment',
  'span',
  /** The function itself evaluates it, any number of times. */
  'lambda',
  /** `a => b`, evaluated by the function itself. */
  'lazyrule',
] as const;
/** The kind of the arguments that a parameter takes. */
export type Kind = (typeof kinds)[number];

/** One parameter of a function. */
export interface Parameter {
  readonly name: string;
  readonly kind: Kind;
  readonly nullable: boolean;
  /**
   * Undefined: the argument is required. `nothing` means null, but the function can distinguish it from a given null.
   */
  readonly fallback: Value | undefined;
}

/** The parameters of one form of a function. */
export interface Signature {
  readonly parameters: readonly Parameter[];
  /** Takes all further arguments. */
  readonly rest: Parameter | undefined;
  /** Takes all further named arguments. */
  readonly named: boolean;
}

/** True for a parameter that gets its argument unevaluated. */
export const isLazy = (kind: Kind): boolean => kind === 'lambda' || kind === 'lazyrule';

/** The signature that the text describes. @throws TypeError for a text that describes none */
export function signature(text: string): Signature {
  const parameters: Parameter[] = [];
  let rest: Parameter | undefined;
  let named = false;
  for (const part of text.split(',').map((item) => item.trim())) {
    if (part === '') continue;
    if (part === '**') {
      named = true;
      continue;
    }
    const match = /^(\*?)(\w+):(\w+)(\??)(?:=(.*))?$/.exec(part);
    const kind = kinds.find((item) => item === match?.[3]);
    if (!match || !kind) throw new TypeError(`not a parameter: ${part}`);
    const parameter: Parameter = {
      name: match[2] ?? '',
      kind,
      nullable: match[4] === '?' || kind === 'any' || kind === 'null' || isLazy(kind),
      fallback: match[5] === undefined ? undefined : fallback(match[5]),
    };
    if (match[1] === '*') rest = parameter;
    else parameters.push(parameter);
  }
  return { parameters, rest, named };
}

function fallback(text: string): Value {
  if (text === 'nothing') return 'nothing';
  if (text === 'null') return null;
  if (text === 'true' || text === 'false') return text === 'true';
  return BigInt(text);
}

/** True when an argument, not evaluated yet, may fit this parameter. */
export function mayFit({ kind, nullable }: Parameter, tree: SyntaxTree): boolean {
  if (kind === 'lazyrule') return tree.kind === 'rule';
  if (kind === 'lambda') return true;
  if (tree.kind === 'rule') return kind === 'rule' || kind === 'any';
  if (tree.kind === 'constant') return fits(kind, nullable, tree.value);
  return tree.kind !== 'keyword' || fits(kind, nullable, tree.name);
}

/** True when the parameter takes this value. */
export function fits(kind: Kind, nullable: boolean, value: Value): boolean {
  if (value === null) return nullable;
  switch (kind) {
    case 'any':
    case 'some':
    case 'lambda':
    case 'lazyrule':
      return true;
    case 'int':
      return typeof value === 'bigint' || typeof value === 'boolean';
    case 'number':
      return typeof value === 'bigint' || typeof value === 'number';
    case 'string':
      return typeof value === 'string';
    case 'bool':
      return typeof value === 'boolean';
    case 'null':
      return false;
    case 'listing':
      return isListing(value);
    case 'nonset':
      return isListing(value) && asSet(value) === undefined;
    case 'list':
      return Array.isArray(value);
    case 'once':
      return value instanceof Once;
    case 'dict':
      return value instanceof Dict;
    case 'set':
      return asSet(value) !== undefined;
    case 'frozen':
      return value instanceof SetValue;
    case 'pattern':
      return value instanceof Pattern;
    case 'ordering':
      return value instanceof Ordering;
    case 'rule':
      return value instanceof Rule;
    case 'names':
      return value instanceof YaqlNames;
    case 'moment':
      return value instanceof Moment;
    case 'span':
      return value instanceof TimeSpan;
  }
}

/** Returns true when kind `a` is narrower than `b`, for arguments that fit both. */
export const narrower = (a: Kind, b: Kind): boolean =>
  (a === 'list' && (b === 'listing' || b === 'nonset')) || (a !== 'any' && b === 'any');
