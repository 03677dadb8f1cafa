/** The functions that read something outside their arguments. */
import type { Json } from '@anneal/contracts/json.ts';
import { isObject } from '../node.ts';
import { own, type TemplateFunction, wholeNumber, wrong } from './function.ts';

const getParam: TemplateFunction = {
  name: 'get_param',
  since: '2013-05-23',
  evaluate(argument, scope) {
    const [name, ...path] = Array.isArray(argument) ? argument : [argument];
    if (typeof name !== 'string') return wrong('Argument to "get_param" must be string or list');
    const value = scope.parameter(name);
    if (value === undefined) return undefined;
    // Whatever cannot be found is the empty string.
    return path.reduce<Json>((at, step) => parameterStep(at, step) ?? '', value);
  },
};

function parameterStep(value: Json, step: Json): Json | undefined {
  if (isObject(value)) return typeof step === 'string' ? own(value, step) : undefined;
  if (typeof step !== 'boolean' && typeof step !== 'string' && typeof step !== 'number') return undefined;
  const index = wholeNumber(step);
  if (index === undefined || (typeof step === 'number' && !Number.isInteger(step))) return undefined;
  return Array.isArray(value) ? value.at(index) : typeof value === 'string' ? value.at(index) : undefined;
}

const getResource: TemplateFunction = {
  name: 'get_resource',
  since: '2013-05-23',
  evaluate(argument, scope) {
    if (typeof argument !== 'string') return wrong('Argument to "get_resource" must be string');
    return scope.reference(argument);
  },
};

const getAttr: TemplateFunction = {
  name: 'get_attr',
  since: '2013-05-23',
  evaluate(argument, scope) {
    if (!Array.isArray(argument)) return wrong('Argument to "get_attr" must be a list');
    const [resource, attribute, ...path] = argument;
    const allAllowed = scope.templateVersion >= '2015-10-15';
    if (typeof resource !== 'string' || (attribute === undefined && !allAllowed)) {
      return wrong('Arguments to "get_attr" must be of the form [resource_name, attribute, (path), ...]');
    }
    const attributes = scope.attribute(resource);
    if (attributes === undefined) return undefined;
    if (attribute === undefined) {
      return Object.fromEntries(Object.entries(attributes).filter(([name]) => name !== 'show'));
    }
    if (typeof attribute !== 'string') return wrong('The attribute name in "get_attr" must be a string');
    // Whatever cannot be found is null, and indexes are integers here.
    return path.reduce<Json>((at, step) => attributeStep(at, step) ?? null, own(attributes, attribute) ?? null);
  },
};

function attributeStep(value: Json, step: Json): Json | undefined {
  if (isObject(value)) return typeof step === 'object' ? undefined : own(value, String(step));
  return typeof step === 'number' && (Array.isArray(value) || typeof value === 'string') ? value.at(step) : undefined;
}

/** Becomes a literal when the template is compiled, so that a plan needs no files. */
const getFile: TemplateFunction = {
  name: 'get_file',
  since: '2013-05-23',
  evaluate: () => wrong('"get_file" can only be worked out when the template is compiled'),
};

export const lookups = [getParam, getResource, getAttr, getFile];
