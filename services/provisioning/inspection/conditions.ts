/** The conditions of inspection rules, as in Ironic. Pure. */
import type { ConditionName, RuleCondition } from '@anneal/contracts/calls/inspection-rules.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { compilePattern } from '@anneal/hot/parameters/constraint.ts';
import { isInNetwork, isIpAddress, readNetwork } from '@anneal/contracts/readers/ip.ts';
import { isDeepStrictEqual } from 'node:util';
import { ruleArguments, type ArgumentNames } from './arguments.ts';
import { interpolated, fieldText } from './interpolate.ts';

export const conditionArguments: Readonly<Record<ConditionName, ArgumentNames>> = {
  eq: { needed: ['values'], more: ['force_strings'] },
  lt: { needed: ['values'], more: ['force_strings'] },
  gt: { needed: ['values'], more: ['force_strings'] },
  'is-empty': { needed: ['value'] },
  'in-net': { needed: ['address', 'subnet'] },
  matches: { needed: ['value', 'regex'] },
  contains: { needed: ['value', 'regex'] },
  'one-of': { needed: ['value'], more: ['values'] },
  'is-none': { needed: ['value'] },
  'is-true': { needed: ['value'] },
  'is-false': { needed: ['value'] },
};

export const conditionName = ({ op }: RuleCondition): ConditionName => op.replace(/^! ?/, '') as ConditionName;

/** Whether a condition holds. @throws AnnealError InvalidRequest for values that it cannot compare */
export function holds(condition: RuleCondition, context: JsonObject): boolean {
  const name = conditionName(condition);
  const check = (item?: Json): boolean => {
    const within = item === undefined ? context : { ...context, item: interpolated(item, context) };
    const args = interpolated(ruleArguments(name, condition.args, conditionArguments[name]), within) as JsonObject;
    // A number may have become a text in the loop.
    const forced = item === undefined ? args : { ...args, force_strings: true };
    return checks[name](forced) !== condition.op.startsWith('!');
  };
  const { loop, multiple = 'any' } = condition;
  if (loop === undefined) return check();
  const items = Array.isArray(loop) ? loop : [loop];
  // Ironic stops at the first element that holds.
  if (multiple === 'first' || multiple === 'any') return items.some((item) => check(item));
  if (multiple === 'all') return items.every((item) => check(item));
  const last = items.at(-1);
  return last !== undefined && check(last);
}

const refused = (name: string, message: string): AnnealError =>
  new AnnealError('InvalidRequest', `The condition ${name} cannot be checked: ${message}.`);

const compared =
  (name: ConditionName, compare: (a: Json, b: Json) => boolean) =>
  ({ values, force_strings: asTexts }: JsonObject): boolean => {
    if (!Array.isArray(values)) throw refused(name, 'values is no list');
    const all = asTexts === true ? values.map(fieldText) : values;
    return all.every((value, index) => index === 0 || compare(all[index - 1] as Json, value));
  };

const ordered =
  (name: ConditionName, compare: (a: number | string, b: number | string) => boolean) =>
  (a: Json, b: Json): boolean => {
    const isPair = (type: 'number' | 'string'): boolean => typeof a === type && typeof b === type;
    if (!isPair('number') && !isPair('string'))
      throw refused(name, `${fieldText(a)} and ${fieldText(b)} have no order`);
    return compare(a as number, b as number);
  };

const pattern = (name: ConditionName, regex: Json | undefined) => {
  try {
    return compilePattern(fieldText(regex ?? ''));
  } catch (error) {
    throw refused(name, `regex: ${error instanceof Error ? error.message : String(error)}`);
  }
};

function isInNet({ address, subnet }: JsonObject): boolean {
  const [given, text] = [fieldText(subnet ?? null), fieldText(address ?? null)];
  const network = readNetwork(given);
  if (!network) throw refused('in-net', `${given} is no subnet`);
  if (!isIpAddress(text)) throw refused('in-net', `${text} is no address`);
  return isInNetwork(text, network);
}

const isEmpty = (value: Json | undefined): boolean =>
  value === null ||
  value === undefined ||
  ['', 'None', '[]', '{}'].includes(value as string) ||
  (typeof value === 'object' && Object.keys(value).length === 0);

const isWord = (value: Json | undefined, words: readonly string[]): boolean =>
  typeof value === 'string' && words.includes(value.toLowerCase());

const checks: Readonly<Record<ConditionName, (args: JsonObject) => boolean>> = {
  eq: compared('eq', (a, b) => isDeepStrictEqual(a, b)),
  lt: compared(
    'lt',
    ordered('lt', (a, b) => a < b),
  ),
  gt: compared(
    'gt',
    ordered('gt', (a, b) => a > b),
  ),
  'is-empty': ({ value }) => isEmpty(value),
  'in-net': isInNet,
  matches: ({ value, regex }) => {
    const whole = fieldText(regex ?? '').replace(/\$?$/, '$');
    return pattern('matches', whole).search(fieldText(value ?? null))?.start === 0;
  },
  contains: ({ value, regex }) => pattern('contains', regex).search(fieldText(value ?? null)) !== undefined,
  'one-of': ({ value, values = [] }) =>
    Array.isArray(values)
      ? values.some((each) => isDeepStrictEqual(each, value ?? null))
      : isObject(values)
        ? Object.hasOwn(values, fieldText(value ?? null))
        : fieldText(values).includes(fieldText(value ?? null)),
  'is-none': ({ value }) => value === null || value === undefined || value === 'None',
  'is-true': ({ value }) =>
    typeof value === 'number' ? value !== 0 : value === true || isWord(value, ['yes', 'true']),
  'is-false': ({ value }) =>
    value === null || (typeof value === 'number' ? value === 0 : value === false || isWord(value, ['no', 'false'])),
};
