/**
 * Python's `str.format` without access to objects: a field names an argument, by number or by name, and nothing inside
 * it. Widths and precisions are bounded, and their output is paid for.
 */
import { stated, why } from '../evaluate/reason.ts';
import { pythonQuoted } from '@anneal/python/values/compare.ts';
import type { YaqlMachine } from './call.ts';
import { characters } from './define.ts';
import { fault } from './fault.ts';
import { Moment, TimeSpan } from './library/moment.ts';
import { representation, type Value } from './value.ts';

const widest = 10_000;
/** Maximum number of digits of a float. */
const mostPrecise = 100;

interface Spec {
  readonly fill: string;
  readonly align: string;
  readonly sign: string;
  readonly alternate: boolean;
  readonly width: number;
  readonly grouping: string;
  readonly precision: number | undefined;
  readonly type: string;
}

const field = /^(?<name>[^!:]*)(?:!(?<conversion>[^:]*))?(?::(?<spec>.*))?$/su;
const specification =
  /^(?:(?<fill>.)?(?<align>[<>=^]))?(?<sign>[-+ ]?)(?<alternate>#?)(?<zero>0?)(?<width>\d{0,9})(?<grouping>[,_]?)(?:\.(?<precision>\d{1,9}))?(?<type>[a-zA-Z%]?)$/su;

/** The arguments by position and by name. */
export interface FormatArguments {
  readonly places: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** The text with its fields filled as Python's `format` does. @throws YaqlFault for a field that Python refuses */
export function formatYaqlText(template: string, given: FormatArguments, machine: YaqlMachine): string {
  let next = 0;
  let result = '';
  // Escaped braces, fields (whose specification may contain fields), and single braces.
  for (const [part] of template.matchAll(/\{\{|\}\}|\{(?:[^{}]|\{[^{}]*\})*\}|[{}]|[^{}]+/gu)) {
    machine.step();
    if (part === '{{' || part === '}}') result += part[0];
    else if (part === '{' || part === '}') fault(why`Single '${part}' encountered in format string`);
    else if (part.startsWith('{')) result += replaced(part.slice(1, -1));
    else result += part;
    machine.work.characters(part.length);
  }
  return result;

  function replaced(text: string): string {
    const { name = '', conversion, spec = '' } = field.exec(text)?.groups ?? {};
    const value = valueOf(name);
    const inner = spec.replace(/\{([^{}]*)\}/gu, (_, of: string) => plainText(valueOf(of)));
    if (conversion === undefined) return formatted(value, inner, machine);
    if (conversion !== 'r' && conversion !== 's') return fault(why`Unknown conversion specifier '${conversion}'`);
    return formatted(conversion === 'r' ? quotedText(value) : plainText(value), inner, machine);
  }

  function valueOf(name: string): Value {
    if (/[.[\]]/.test(name))
      return fault(why`The field "${name}" looks into its value; format takes whole values only`);
    const place = name === '' ? next++ : /^\d{1,9}$/.test(name) ? Number(name) : undefined;
    const found = place === undefined ? given.named.get(name) : given.places[place];
    if (found !== undefined) return found;
    return fault(place === undefined ? why`format has no argument "${name}"` : why`format has no argument ${place}`);
  }
}

const quotedText = (value: Value): string =>
  value instanceof Moment || value instanceof TimeSpan ? value.toString() : representation(value, pythonQuoted);
const plainText = (value: Value): string => (typeof value === 'string' ? value : quotedText(value));

function formatted(value: Value, text: string, machine: YaqlMachine): string {
  if (text === '') return plainText(value);
  const spec = specOf(text);
  machine.work.characters(spec.width + (spec.precision ?? 0));
  const number = typeof value === 'boolean' && spec.type !== 's' && spec.type !== '' ? BigInt(value) : value;
  if (typeof number === 'bigint' || typeof number === 'number') return numeric(number, spec);
  if (typeof value !== 'string' && typeof value !== 'boolean') return fault(why`Only texts and numbers have a format`);
  if ((spec.type !== '' && spec.type !== 's') || spec.sign !== '' || spec.grouping !== '' || spec.align === '=') {
    return fault(why`The format "${text}" is not one of a text`);
  }
  const body = characters(plainText(value)).slice(0, spec.precision).join('');
  return padded({ prefix: '', body, natural: '<' }, spec);
}

function specOf(text: string): Spec {
  const found = specification.exec(text)?.groups;
  if (!found) return fault(why`Invalid format specifier "${text}"`);
  const { fill, align = '', sign = '', alternate, zero, width, grouping = '', precision, type = '' } = found;
  const spec = {
    fill: fill ?? (zero === '0' && align === '' ? '0' : ' '),
    align: align === '' && zero === '0' ? '=' : align,
    sign,
    alternate: alternate === '#',
    width: Number(width),
    grouping,
    precision: precision === undefined ? undefined : Number(precision),
    type,
  };
  if (spec.width > widest) return fault(why`The width ${spec.width} of a format is more than ${stated(widest)}`);
  if ((spec.precision ?? 0) > mostPrecise)
    return fault(why`The precision of a format is more than ${stated(mostPrecise)}`);
  return spec;
}

const bases: Readonly<Record<string, readonly [number, string]>> = {
  b: [2, '0b'],
  o: [8, '0o'],
  x: [16, '0x'],
  X: [16, '0X'],
};

function numeric(value: bigint | number, spec: Spec): string {
  const isNegative = value < 0 || Object.is(value, -0);
  const sign = isNegative ? '-' : spec.sign === '-' ? '' : spec.sign;
  const digits = digitsOf(value, spec);
  const [prefix, body] = digits;
  return padded({ prefix: sign + prefix, body: grouped(body, spec), natural: '>' }, spec);
}

/** Returns the prefix and the digits, without a sign. */
function digitsOf(value: bigint | number, { type, precision, alternate }: Spec): [string, string] {
  const base = bases[type];
  if (type === 'd' || type === 'n' || type === 'c' || base || (type === '' && typeof value === 'bigint')) {
    if (typeof value !== 'bigint') return fault(why`The format "${type}" is one of integers`);
    if (type === 'c')
      return [
        '',
        value >= 0n && value < 0x110000n ? String.fromCodePoint(Number(value)) : fault(why`No such character`),
      ];
    const [radix, prefix] = base ?? [10, ''];
    const text = (value < 0n ? -value : value).toString(radix);
    return [alternate ? prefix : '', type === 'X' ? text.toUpperCase() : text];
  }
  const size = Math.abs(Number(value));
  if (!Number.isFinite(size)) return ['', Number.isNaN(size) ? 'nan' : 'inf'];
  switch (type) {
    case 'f':
    case 'F':
      return ['', size.toFixed(precision ?? 6)];
    case '%':
      return ['', `${(size * 100).toFixed(precision ?? 6)}%`];
    case 'e':
    case 'E':
      return ['', exponent(size.toExponential(precision ?? 6), type)];
    case '':
    case 'g':
    case 'G':
      return ['', type === '' && precision === undefined ? plainText(size) : general(size, precision ?? 6, type)];
    default:
      return fault(why`Unknown format code "${type}"`);
  }
}

const exponent = (text: string, type: string): string => {
  const twoDigits = text.replace(/e([-+])(\d)$/, 'e$10$2');
  return type === 'E' || type === 'G' ? twoDigits.toUpperCase() : twoDigits;
};

function general(size: number, precision: number, type: string): string {
  const digits = Math.max(1, precision);
  const power = size === 0 ? 0 : Number(size.toExponential(digits - 1).split('e')[1]);
  const isPlain = power >= -4 && power < digits;
  const text = isPlain ? size.toFixed(Math.min(mostPrecise, digits - 1 - power)) : size.toExponential(digits - 1);
  const short = text.includes('.') ? text.replace(/\.?0+(?=e|$)/, '') : text;
  return isPlain ? short : exponent(short, type);
}

function grouped(body: string, { grouping }: Spec): string {
  if (grouping === '') return body;
  const [whole = '', ...rest] = body.split(/(?=[.e%])/);
  return whole.replace(/\B(?=(?:\d{3})+$)/g, grouping) + rest.join('');
}

/** `natural`: the side on which the text stays when the specification names none. */
function padded(
  { prefix, body, natural }: { prefix: string; body: string; natural: '<' | '>' },
  { fill, align, width }: Spec,
): string {
  const room = Math.max(0, width - characters(prefix + body).length);
  const side = align === '' ? natural : align;
  if (side === '=') return prefix + fill.repeat(room) + body;
  const left = side === '<' ? 0 : side === '>' ? room : Math.floor(room / 2);
  return fill.repeat(left) + prefix + body + fill.repeat(room - left);
}
