/** The functions that the first versions took over from CloudFormation. Later versions know them only to refuse them. */
import type { Json } from '@anneal/contracts/json.ts';
import { isObject, kindOfValue, shown } from '../node.ts';
import { listOf, own, type TemplateFunction, wrong } from './function.ts';

const parsed = (value: Json): Json => {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return wrong('"Fn::Select" takes a list, a map or JSON text');
  }
};

const select: TemplateFunction = {
  name: 'Fn::Select',
  since: '2013-05-23',
  until: '2015-10-15',
  evaluate(argument) {
    const [step = null, from = null] = listOf(argument, { name: 'Fn::Select', least: 2, most: 2 });
    const value = parsed(from);
    if (value === null) return '';
    if (isObject(value))
      return typeof step === 'string'
        ? (own(value, step) ?? '')
        : wrong('Index to "Fn::Select" must be a string for a map');
    const index = Number(step);
    if (!Array.isArray(value) || !Number.isInteger(index))
      return wrong(`"Fn::Select" cannot take ${shown(step)} from ${kindOfValue(value)}`);
    return value[index] ?? '';
  },
};

const joinStrings: TemplateFunction = {
  name: 'Fn::Join',
  since: '2013-05-23',
  until: '2014-10-16',
  evaluate(argument) {
    const [delimiter, items = null] = listOf(argument, { name: 'Fn::Join', least: 2, most: 2 });
    if (typeof delimiter !== 'string' || !Array.isArray(items)) return wrong('"Fn::Join" takes a delimiter and a list');
    return items
      .map((item) =>
        item === null
          ? ''
          : typeof item === 'string'
            ? item
            : wrong(`Items to join must be strings not ${shown(item)}`),
      )
      .join(delimiter);
  },
};

const split: TemplateFunction = {
  name: 'Fn::Split',
  since: '2013-05-23',
  until: '2014-10-16',
  evaluate(argument) {
    const [delimiter, text] = listOf(argument, { name: 'Fn::Split', least: 2, most: 2 });
    if (typeof delimiter !== 'string' || typeof text !== 'string')
      return wrong('"Fn::Split" takes a delimiter and a string');
    return text.split(delimiter);
  },
};

const base64: TemplateFunction = {
  name: 'Fn::Base64',
  since: '2013-05-23',
  until: '2014-10-16',
  // It is the identity in Heat: what reads the value does the encoding.
  evaluate: (argument) => (typeof argument === 'string' ? argument : wrong('"Fn::Base64" takes a string')),
};

const reference: TemplateFunction = {
  name: 'Ref',
  since: '2013-05-23',
  until: '2014-10-16',
  evaluate: (argument, scope) =>
    typeof argument === 'string'
      ? (scope.reference(argument) ?? scope.parameter(argument))
      : wrong('"Ref" takes a name'),
};

export const selectFunctions = [select, joinStrings, split, base64, reference];
