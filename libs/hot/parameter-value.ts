/** Values of parameters: conversion to the type, then constraints. */
import type { Json } from '@anneal/contracts/json.ts';
import type { Constraint } from '@anneal/contracts/resource-type.ts';
import { checkConstraints } from './constraint.ts';
import { kindOfValue, type Node, shown, toJson } from './node.ts';
import type { ParameterType } from './parameter-schema.ts';
import { pythonText } from './python.ts';

export type Converted = { readonly value: Json } | { readonly problem: string };

/** From a document: a number keeps how it was written where it becomes a string. */
export function convertNode(type: ParameterType, node: Node): Converted {
  if (type === 'string' && node.kind === 'scalar' && node.written !== undefined) return { value: node.written };
  return convertValue(type, toJson(node));
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

function toNumber(value: Json): Converted {
  if (typeof value === 'number') return { value };
  // Python's int() and float(): no hexadecimal, surrounding spaces allowed.
  if (typeof value === 'string' && /^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*$/.test(value)) {
    return { value: Number(value) };
  }
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
  if (typeof value === 'object' && value !== null) return { value };
  if (typeof value !== 'string')
    return { problem: `Value must be valid JSON: ${shown(value)} is ${kindOfValue(value)}` };
  if (value === '') return { value };
  try {
    return { value: JSON.parse(value) as Json };
  } catch (error) {
    return { problem: `Value must be valid JSON: ${(error as Error).message}` };
  }
}

/** What is wrong with a converted value. */
export function breaches(value: Json, constraints: readonly Constraint[], isDefault: boolean): string[] {
  return checkConstraints(value, constraints, { skipCustom: isDefault });
}
