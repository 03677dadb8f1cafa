/** Functions that read values outside their arguments. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { type Reason, why } from '../evaluate/reason.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { isPlainObject, shown } from '@anneal/python/yaml/node.ts';
import { isExact } from '@anneal/python/values/number.ts';
import { walk } from '../evaluate/attribute-path.ts';
import { unknownParameter } from '../mistakes.ts';
import { own, type TemplateFunction, unnoticed, wholeNumberArgument, wrong } from './function.ts';

const getParam: TemplateFunction = {
  name: 'get_param',
  looksUp: true,
  evaluate(argument, scope) {
    const [name, ...path] = Array.isArray(argument) ? argument : [argument];
    if (typeof name !== 'string') return wrong(why`Argument to "get_param" must be string or list`);
    const value = scope.parameter(name);
    if (value === undefined && scope.lacks?.(name)) throw notProvided(name);
    if (value === undefined) return undefined;
    let at: Json | undefined = value;
    for (const step of path) at = at === undefined ? undefined : parameterStep(at, step);
    // A path that leads nowhere gives the empty string.
    if (at === undefined)
      unnoticed(scope, () => why`"get_param" finds nothing under ${[name, ...path].map(shown).join(', ')}`);
    return at === undefined ? '' : at;
  },
};

function notProvided(name: string): AnnealError {
  const message = `The Parameter (${name}) was not provided.`;
  const mistakes = [{ code: unknownParameter, message, path: 'parameters' }];
  return new AnnealError('InvalidTemplate', message, { mistakes });
}

function parameterStep(value: Json, step: Json): Json | undefined {
  if (isPlainObject(value)) return typeof step === 'string' ? own(value, step) : undefined;
  if (isExact(step)) return undefined;
  if (typeof step !== 'boolean' && typeof step !== 'string' && typeof step !== 'number') return undefined;
  const index = wholeNumberArgument(step);
  if (index === undefined || (typeof step === 'number' && !Number.isInteger(step))) return undefined;
  return Array.isArray(value) ? value.at(index) : typeof value === 'string' ? value.at(index) : undefined;
}

const getResource: TemplateFunction = {
  name: 'get_resource',
  looksUp: true,
  evaluate(argument, scope) {
    if (typeof argument !== 'string') return wrong(why`Argument to "get_resource" must be string`);
    return scope.reference(argument);
  },
};

const getAttr: TemplateFunction = {
  name: 'get_attr',
  written: true,
  looksUp: true,
  evaluate(given, scope) {
    const allAllowed = scope.templateVersion >= '2015-10-15';
    // A name of one character counts as a list that holds it.
    const argument = allAllowed && typeof given === 'string' && given.length === 1 ? [given] : given;
    if (!Array.isArray(argument)) return wrong(why`Argument to "get_attr" must be a list`);
    const [resource, attribute, ...path] = argument;
    if (typeof resource !== 'string' || (attribute === undefined && !allAllowed)) {
      return wrong(why`Arguments to "get_attr" must be of the form [resource_name, attribute, (path), ...]`);
    }
    const known = typeof attribute === 'string' ? scope.read?.(resource, attribute, path) : undefined;
    const missing = (): Reason => why`"get_attr" finds nothing under ${argument.map(shown).join(', ')}`;
    if (known === null) unnoticed(scope, missing);
    if (known !== undefined) return known;
    const attributes = scope.attribute(resource);
    if (attributes === undefined) return undefined;
    if (attribute === undefined || (attribute === null && allAllowed)) {
      return toRecord(Object.entries(attributes).filter(([name]) => name !== 'show'));
    }
    if (typeof attribute !== 'string') return wrong(why`The attribute name in "get_attr" must be a string`);
    // The first version walks the path itself; later versions pass it to the resource as a key.
    if (scope.templateVersion >= '2014-10-16' && path.some((step) => isPlainObject(step) || Array.isArray(step)))
      return wrong(why`Path components in attributes must be strings`);
    const found = walk(own(attributes, attribute) ?? null, path);
    if (found === null && (path.length > 0 || own(attributes, attribute) === undefined)) unnoticed(scope, missing);
    return found;
  },
};

/** `get_context` becomes `get_attr` of the attribute `data` when the template is compiled. */
const getContext: TemplateFunction = {
  name: 'get_context',
  written: true,
  looksUp: true,
  evaluate: () => wrong(why`"get_context" can only be worked out when the template is compiled`),
};

/** `get_file` becomes a literal when the template is compiled, so that a plan needs no files. */
const getFile: TemplateFunction = {
  name: 'get_file',
  evaluate: () => wrong(why`"get_file" can only be worked out when the template is compiled`),
};

/** The functions of this file. */
export const lookups = [getParam, getResource, getAttr, getContext, getFile];
