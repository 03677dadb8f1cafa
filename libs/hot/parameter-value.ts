/** Values of parameters: conversion to the type, then constraints. */
import type { Json } from '@anneal/contracts/json.ts';
import type { Constraint } from '@anneal/contracts/resource-type.ts';
import { checkConstraints } from './constraint.ts';
import { exactNumber, numberOf } from './number.ts';
import { kindOfValue, type Node, shown, toExact } from './node.ts';
import type { ParameterType } from './parameter-schema.ts';
import { pythonText } from './python.ts';

export type Converted = { readonly value: Json } | { readonly problem: string };

/** From a document: a number keeps how it was written where it becomes text. */
export function convertNode(type: ParameterType, node: Node): Converted {
  return convertValue(type, toExact(node));
}

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
      return { problem: `Value must be a comma-delimited list string: ${shown(value)} is ${kindOfValue(value)}` };
    case 'json':
      return toJsonValue(value);
  }
}

/** Python's int(), else its float(): no hexadecimal, surrounding spaces allowed. */
function toNumber(value: Json): Converted {
  if (numberOf(value) !== undefined) return { value };
  if (typeof value === 'boolean') return { value: Number(value) };
  const text = typeof value === 'string' ? value.trim().replace(/(?<=\d)_(?=\d)/g, '') : '';
  if (/^[-+]?\d+$/.test(text) && text.length < 400) return { value: exactNumber(BigInt(text.replace(/^\+/, ''))) };
  if (/^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) return { value: exactNumber(Number(text)) };
  return { problem: `could not convert ${shown(value)} to a number` };
}

const truths = ['1', 't', 'true', 'on', 'y', 'yes'];
const untruths = ['0', 'f', 'false', 'off', 'n', 'no'];

function toBoolean(value: Json): Converted {
  if (typeof value === 'boolean') return { value };
  const word = pythonText(value).trim().toLowerCase();
  if (truths.includes(word)) return { value: true };
  if (untruths.includes(word)) return { value: false };
  const acceptable = [...untruths, ...truths].sort().map((item) => `'${item}'`);
  return { problem: `Unrecognized value '${shown(value)}', acceptable values are: ${acceptable.join(', ')}` };
}

function toJsonValue(value: Json): Converted {
  if (typeof value !== 'string' || value === '') return { value };
  try {
    return { value: parseJson(value) };
  } catch (error) {
    return { problem: `Value must be valid JSON: ${(error as Error).message}` };
  }
}

/** JSON whose numbers keep what Python makes of them: 1.0 and 1e3 are floats. */
function parseJson(text: string): Json {
  return JSON.parse(text, (_, value: Json, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? readNumber(value, context.source) : value,
  ) as Json;
}
function readNumber(value: number, source: string): Json {
  if (/[.eE]/.test(source)) return exactNumber(value);
  return Number.isSafeInteger(value) ? value : exactNumber(BigInt(source));
}

/** What is wrong with a converted value. */
export function breaches(value: Json, constraints: readonly Constraint[], isDefault: boolean): string[] {
  return checkConstraints(value, constraints, { skipCustom: isDefault });
}
