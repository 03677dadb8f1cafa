/** Arithmetic and comparison. Integers stay integers; `/` of two integers rounds down. */
import { type Reason, stated, why } from '../../evaluate/reason.ts';
import { floatText } from '@anneal/python/values/compare.ts';
import type { FunctionDefinition } from '../call.ts';
import { define, numeric, whole } from '../define.ts';
import { fault } from '../fault.ts';
import { asSet, equal, isListing, valueKind, type SetValue, type Value } from '../value.ts';

/** Integers with more bits are refused, because they could fill the memory. */
const widest = 20_000n;

type Numeric = number | bigint;
const both = (
  a: Value | undefined,
  b: Value | undefined,
  whole_: (a: bigint, b: bigint) => Value,
  float: (a: number, b: number) => Value,
): Value =>
  typeof a === 'bigint' && typeof b === 'bigint' ? bounded(whole_(a, b)) : finite(float(Number(a), Number(b)));

function bounded(value: Value): Value {
  if (typeof value === 'bigint' && BigInt.asIntN(Number(widest), value) !== value)
    return fault(why`The number is too large`);
  return value;
}
const finite = (value: Value): Value =>
  typeof value === 'number' && !Number.isFinite(value) ? fault(why`The number cannot be written`) : value;

function floorDivide(a: bigint, b: bigint): bigint {
  if (b === 0n) return fault(why`integer division or modulo by zero`);
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}
function floatModulo(a: number, b: number): number {
  if (b === 0) return fault(why`float modulo`);
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}
const divide = (a: number, b: number): number => (b === 0 ? fault(why`division by zero`) : a / b);

function power(a: Value | undefined, b: Value | undefined, modulus: Value | undefined): Value {
  if (modulus !== null && modulus !== undefined) {
    if (typeof a !== 'bigint' || typeof b !== 'bigint' || typeof modulus !== 'bigint' || modulus === 0n || b < 0n) {
      return fault(why`pow() with a modulus takes integers`);
    }
    return modularPower(a, b, modulus);
  }
  if (typeof a === 'bigint' && typeof b === 'bigint' && b >= 0n) {
    const bits = BigInt(a.toString(2).length);
    return bits * b > widest ? fault(why`The number is too large`) : a ** b;
  }
  if (Number(a) === 0 && Number(b) < 0) return fault(why`0.0 cannot be raised to a negative power`);
  return finite(Number(a) ** Number(b));
}
function modularPower(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  for (let [at, left] = [base % modulus, exponent]; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * at) % modulus;
    at = (at * at) % modulus;
  }
  return result - floorDivide(result, modulus) * modulus;
}

/** Rounds halves to the even neighbour. */
function round(value: Numeric, digits: number): Value {
  if (typeof value === 'bigint') {
    if (digits >= 0) return value;
    const unit = 10n ** BigInt(Math.min(-digits, 400));
    const down = floorDivide(value, unit) * unit;
    const twice = (value - down) * 2n;
    const up = twice > unit || (twice === unit && (down / unit) % 2n !== 0n);
    return up ? down + unit : down;
  }
  if (digits > 20) return value;
  if (digits < 0) return Number(round(BigInt(Math.round(value)), digits));
  const fixed = Number(value.toFixed(digits));
  const exact = Math.abs(value * 10 ** digits) % 1 === 0.5 && Number.isInteger(value * 10 ** digits * 2);
  if (!exact) return fixed;
  const floor = Math.floor(value * 10 ** digits);
  return (floor % 2 === 0 ? floor : floor + 1) / 10 ** digits;
}

/** A text as it is, another value by its type. */
const quotedText = (value: Value): Reason =>
  typeof value === 'string' ? why`'${value}'` : why`${stated(valueKind(value))}`;

/** The value as an integer. @throws YaqlFault for a value that Python cannot convert */
export function toInteger(value: Value): bigint {
  if (value === null) return 0n;
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return BigInt(value);
  if (typeof value === 'number') return BigInt(Math.trunc(value));
  if (typeof value === 'string' && /^\s*[-+]?\d+(?:_\d+)*\s*$/.test(value)) {
    const digits = value.trim().replaceAll('_', '');
    return digits.length > 4300 ? fault(why`The number is too large`) : BigInt(digits.replace(/^\+/, ''));
  }
  return fault(why`invalid literal for int(): ${quotedText(value)}`);
}

function toFloat(value: Value): number {
  if (value === null) return 0;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return Number(value);
  if (
    typeof value === 'string' &&
    /^\s*[-+]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+)(?:[eE][-+]?\d+)?\s*$/.test(value)
  ) {
    return Number(value.trim().replaceAll('_', ''));
  }
  return fault(why`could not convert to float: ${quotedText(value)}`);
}

type Order = '<' | '<=' | '>' | '>=';
const orders: Record<Order, (comparison: number) => boolean> = {
  '<': (comparison) => comparison < 0,
  '<=': (comparison) => comparison <= 0,
  '>': (comparison) => comparison > 0,
  '>=': (comparison) => comparison >= 0,
};

const subset = (a: SetValue, b: SetValue): boolean => Array.from(a.items()).every((item) => b.has(item));
function compareSets(order: Order, a: SetValue, b: SetValue): boolean {
  const [small, large] = order.startsWith('<') ? [a, b] : [b, a];
  return subset(small, large) && (order.endsWith('=') || small.size < large.size);
}

/** Compares strings by characters, as Python does. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const [left, right] = [Array.from(a), Array.from(b)];
  const at = left.findIndex((character, index) => character !== right[index]);
  if (at === -1) return -1;
  return (left[at]?.codePointAt(0) ?? -1) - (right[at]?.codePointAt(0) ?? -1);
}

/** null sorts before every other value. */
const comparison = (order: Order): FunctionDefinition[] => {
  const name = `#operator_${order}`;
  const holds = orders[order];
  return [
    define(name, 'function', 'left:number, right:number', ([a, b]) =>
      holds(numeric(a) < numeric(b) ? -1 : numeric(a) > numeric(b) ? 1 : 0),
    ),
    define(name, 'function', 'left:string, right:string', ([a, b]) => holds(compareText(a as string, b as string))),
    define(name, 'function', 'left:set, right:set', ([a = null, b = null]) =>
      compareSets(order, asSet(a) as SetValue, asSet(b) as SetValue),
    ),
    define(name, 'function', 'left:null, right:null', () => holds(0)),
    define(name, 'function', 'left:some, right:null', () => holds(1)),
    define(name, 'function', 'left:null, right:some', () => holds(-1)),
  ];
};

const bits = (name: string, run: (a: bigint, b: bigint) => bigint, takes = 'left:int, right:int'): FunctionDefinition =>
  define(name, 'function', takes, ([a, b]) => run(BigInt(a as bigint | boolean), BigInt(b as bigint | boolean)));

/** The functions of this file. */
export const numberFunctions: FunctionDefinition[] = [
  define('#operator_+', 'function', 'left:number, right:number', ([a, b]) =>
    both(
      a,
      b,
      (x, y) => x + y,
      (x, y) => x + y,
    ),
  ),
  define('#operator_-', 'function', 'left:number, right:number', ([a, b]) =>
    both(
      a,
      b,
      (x, y) => x - y,
      (x, y) => x - y,
    ),
  ),
  define('#operator_*', 'function', 'left:number, right:number', ([a, b]) =>
    both(
      a,
      b,
      (x, y) => x * y,
      (x, y) => x * y,
    ),
  ),
  define('#operator_/', 'function', 'left:number, right:number', ([a, b]) => both(a, b, floorDivide, divide)),
  define('#operator_mod', 'function', 'left:number, right:number', ([a, b]) =>
    both(a, b, (x, y) => x - floorDivide(x, y) * y, floatModulo),
  ),
  define('#unary_+', 'function', 'value:number', ([a = null]) => a),
  define('#unary_-', 'function', 'value:number', ([a]) => -numeric(a)),
  ...comparison('<'),
  ...comparison('<='),
  ...comparison('>'),
  ...comparison('>='),
  define('#operator_=', 'function', 'left:any, right:any', ([a = null, b = null]) => equal(a, b)),
  define('#operator_!=', 'function', 'left:any, right:any', ([a = null, b = null]) => !equal(a, b)),
  define('abs', 'function', 'op:number', ([a]) => (numeric(a) < 0 ? -numeric(a) : numeric(a))),
  define('int', 'function', 'value:any', ([a = null]) => toInteger(a)),
  define('float', 'function', 'value:any', ([a = null]) => toFloat(a)),
  bits('bitwiseAnd', (a, b) => a & b),
  bits('bitwiseOr', (a, b) => a | b),
  bits('bitwiseXor', (a, b) => a ^ b),
  define('bitwiseNot', 'function', 'arg:int', ([a]) => ~BigInt(a as bigint | boolean)),
  bits('shiftBitsRight', (a, b) => (b < 0n ? fault(why`negative shift count`) : a >> b), 'value:int, bitsNumber:int'),
  bits(
    'shiftBitsLeft',
    (a, b) => (b < 0n ? fault(why`negative shift count`) : b > widest ? fault(why`The number is too large`) : a << b),
    'value:int, bitsNumber:int',
  ),
  define('max', 'function', 'a:any, b:any', ([a = null, b = null], { machine }) =>
    machine.call('#operator_>', [b, a]) === true ? b : a,
  ),
  define('min', 'function', 'a:any, b:any', ([a = null, b = null], { machine }) =>
    machine.call('#operator_>', [b, a]) === true ? a : b,
  ),
  define('pow', 'function', 'a:number, b:number, c:number?=null', ([a, b, c]) => power(a, b, c)),
  define('sign', 'function', 'num:number', ([a]) => (numeric(a) > 0 ? 1n : numeric(a) < 0 ? -1n : 0n)),
  define('round', 'function', 'number:number, ndigits:int=0', ([a, digits]) => round(numeric(a), whole(digits))),
  define('isInteger', 'function', 'value:any', ([a]) => typeof a === 'bigint'),
  define('isNumber', 'function', 'value:any', ([a]) => typeof a === 'bigint' || typeof a === 'number'),
  define('hex', 'function', 'num:number?', ([a]) =>
    typeof a === 'bigint'
      ? `${a < 0n ? '-' : ''}0x${(a < 0n ? -a : a).toString(16)}`
      : fault(why`hex() takes an integer, not ${typeof a === 'number' ? floatText(a) : 'null'}`),
  ),
  define('isBoolean', 'function', 'value:any', ([a]) => typeof a === 'boolean'),
  define('isIterable', 'function', 'value:any', ([a = null]) => isListing(a)),
];
