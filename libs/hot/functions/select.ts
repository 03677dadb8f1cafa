/** Functions that the first versions took over from CloudFormation. Later versions refuse them by name. */
import { stated, why } from '../evaluate/reason.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { parseJsonText } from '@anneal/python/yaml/json-text.ts';
import { isPlainObject, kindOfValue, shown, toRecord } from '@anneal/python/yaml/node.ts';
import { replaceText } from './text.ts';
import { listArgument, type TemplateFunction, unnoticed, wholeNumberArgument, wrong } from './function.ts';

const parsed = (value: Json): Json => {
  if (typeof value !== 'string') return value;
  try {
    return parseJsonText(value);
  } catch {
    return wrong(why`"Fn::Select" takes a list, a map or JSON text`);
  }
};

const select: TemplateFunction = {
  name: 'Fn::Select',
  evaluate(argument, scope) {
    const [step = null, from = null] = listArgument(argument, { name: 'Fn::Select', least: 2, most: 2 });
    const nothing = (): string => {
      unnoticed(scope, () => why`"Fn::Select" finds nothing under ${shown(step)}`);
      return '';
    };
    if (from === '') return nothing();
    const value = parsed(from);
    if (value === null) return nothing();
    if (isPlainObject(value))
      return typeof step === 'string'
        ? Object.hasOwn(value, step)
          ? (value[step] ?? null)
          : nothing()
        : wrong(why`Index to "Fn::Select" must be a string for a map`);
    const index = wholeNumberArgument(step);
    if (!Array.isArray(value) || index === undefined)
      return wrong(why`"Fn::Select" cannot take ${shown(step)} from ${stated(kindOfValue(value))}`);
    return value.at(index) ?? (index < value.length && index >= -value.length ? null : nothing());
  },
};

const joinStrings: TemplateFunction = {
  name: 'Fn::Join',
  written: true,
  evaluate(argument, _, work) {
    const [delimiter, items = null] = listArgument(argument, { name: 'Fn::Join', least: 2, most: 2 });
    if (items === null) return '';
    if (typeof delimiter !== 'string' || !Array.isArray(items))
      return wrong(why`"Fn::Join" takes a delimiter and a list`);
    work.characters(delimiter.length * items.length);
    return items
      .map((item) =>
        item === null
          ? ''
          : typeof item === 'string'
            ? item
            : wrong(why`Items to join must be strings not ${shown(item)}`),
      )
      .join(delimiter);
  },
};

const split: TemplateFunction = {
  name: 'Fn::Split',
  evaluate(argument) {
    const [delimiter, text] = listArgument(argument, { name: 'Fn::Split', least: 2, most: 2 });
    if (typeof delimiter !== 'string' || typeof text !== 'string')
      return wrong(why`"Fn::Split" takes a delimiter and a string`);
    if (delimiter === '') return wrong(why`"Fn::Split" has an empty separator`);
    return text.split(delimiter);
  },
};

const base64: TemplateFunction = {
  name: 'Fn::Base64',
  // Heat returns the text unchanged; the reader of the value encodes it.
  evaluate: (argument) => (typeof argument === 'string' ? argument : wrong(why`"Fn::Base64" takes a string`)),
};

const reference: TemplateFunction = {
  name: 'Ref',
  looksUp: true,
  evaluate: (argument, scope) =>
    typeof argument === 'string'
      ? (scope.reference(argument) ?? scope.parameter(argument))
      : wrong(why`"Ref" takes a name`),
};

/** `.member.0.Name=key` and `.member.0.Value=door` make `key: door`. */
const memberListToMap: TemplateFunction = {
  name: 'Fn::MemberListToMap',
  evaluate(argument) {
    const [keyName, valueName, items = null] = listArgument(argument, {
      name: 'Fn::MemberListToMap',
      least: 3,
      most: 3,
    });
    if (typeof keyName !== 'string' || typeof valueName !== 'string')
      return wrong(why`Fn::MemberListToMap Key Name and Value Name must be strings`);
    if (!Array.isArray(items)) return wrong(why`Member list must be a list`);
    const rows = new Map<number, { key?: string; value?: string }>();
    for (const item of items) {
      if (typeof item !== 'string') return wrong(why`Member list items must be strings`);
      const at = item.indexOf('=');
      if (at < 0) return wrong(why`Member list items have the form .member.0.Name=key, not ${shown(item)}`);
      const match = /^\.member\.(\d+)\.(.*)$/s.exec(item.slice(0, at));
      if (!match) continue;
      const row = rows.get(Number(match[1])) ?? {};
      rows.set(Number(match[1]), row);
      if (match[2] === keyName) row.key = item.slice(at + 1);
      if (match[2] === valueName) row.value = item.slice(at + 1);
    }
    const sorted = [...rows].sort(([a], [b]) => a - b).map(([, row]) => row);
    return toRecord(
      sorted.flatMap(({ key, value }): [string, Json][] =>
        key === undefined || value === undefined ? [] : [[key, value]],
      ),
    );
  },
};

/** Replaces as `str_replace` of the first versions does, with its arguments in a list. */
const replace: TemplateFunction = {
  name: 'Fn::Replace',
  evaluate(argument, scope, work) {
    const [params = null, template = null] = listArgument(argument, { name: 'Fn::Replace', least: 2, most: 2 });
    return replaceText({ name: 'Fn::Replace', template, params, scope, work });
  },
};

/** Heat has one zone, with the name that the compute service gives it. */
const zones: TemplateFunction = {
  name: 'Fn::GetAZs',
  evaluate: () => ['nova'],
};

type Facade = 'metadata' | 'deletion_policy' | 'update_policy';
const facade = (name: string, parts: Readonly<Record<string, Facade>>): TemplateFunction => ({
  name,
  looksUp: true,
  evaluate(argument, scope) {
    const part = typeof argument === 'string' && Object.hasOwn(parts, argument) ? parts[argument] : undefined;
    if (!part)
      return wrong(
        why`Incorrect arguments to "${stated(name)}" should be one of: ${stated(Object.keys(parts).join(', '))}`,
      );
    return scope.facade ? scope.facade(part) : wrong(why`"${stated(name)}" means something in a nested template only`);
  },
});

/** The functions of this file. */
export const selectFunctions = [
  memberListToMap,
  replace,
  zones,
  facade('resource_facade', {
    metadata: 'metadata',
    deletion_policy: 'deletion_policy',
    update_policy: 'update_policy',
  }),
  facade('Fn::ResourceFacade', {
    Metadata: 'metadata',
    DeletionPolicy: 'deletion_policy',
    UpdatePolicy: 'update_policy',
  }),
  select,
  joinStrings,
  split,
  base64,
  reference,
];
