/**
 * Renders many templates in one run: one case per input line and one answer per output line, in the same order. An
 * invalid case is answered with its errors and never stops the others.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { parseJsonText } from '@anneal/python/yaml/json-text.ts';
import { render, type RenderParameters } from '@anneal/hot/render.ts';
import { offlineLimits, type OfflineLimits } from './limits.ts';
import { offlineStack, textsOf } from './load.ts';

export function renderLine(
  line: string,
  { strict = false, limits = offlineLimits({}) }: { strict?: boolean; limits?: OfflineLimits } = {},
): JsonObject {
  const { id, parameters } = readCase(line);
  if (Array.isArray(parameters)) return { id, errors: parameters as unknown as Json };
  try {
    const answer = render({ ...parameters, ...limits, strict });
    return 'rendered' in answer ? { id, ...answer.rendered } : { id, errors: answer.mistakes as unknown as Json };
  } catch (error) {
    // A defect in one case must not leave the other cases without an answer.
    const message = error instanceof Error ? error.message : String(error);
    return { id, errors: [{ code: 'Defect', message, path: '' }] };
  }
}

/** Reads a case. Returns its id even when the rest is invalid. */
function readCase(line: string): { id: Json; parameters: RenderParameters | Mistake[] } {
  let value: unknown;
  try {
    // Keep details that JSON.parse would lose: 1.0 is not 1, and keys have an order.
    value = parseJsonText(line);
  } catch (error) {
    return { id: null, parameters: refused(`The case is not JSON: ${(error as Error).message}`) };
  }
  if (!isObject(value)) return { id: null, parameters: refused('The case is not a JSON object') };
  const { id = null, template, environment, parameters, files, attributes } = value;
  try {
    if (typeof template !== 'string' && !isObject(template)) throw misfit('template', 'a string or an object');
    return {
      id,
      parameters: {
        ...offlineStack,
        now: new Date(),
        ...pick(value, { stack_name: 'stackName', stack_id: 'stackId', project_id: 'projectId' }),
        template,
        environments: environmentsOf(environment),
        parameters: objectOf(parameters, 'parameters'),
        files: textsOf(objectOf(files, 'files'), 'files'),
        attributes: objectOf(attributes, 'attributes'),
      },
    };
  } catch (error) {
    if (error instanceof AnnealError) return { id, parameters: refused(error.message) };
    throw error;
  }
}

function environmentsOf(value: Json | undefined): (string | JsonObject)[] {
  if (value === undefined || value === null) return [];
  return (Array.isArray(value) ? value : [value]).map((item) => {
    if (typeof item === 'string' || isObject(item)) return item;
    throw misfit('environment', 'a string, null, or a list of strings');
  });
}

function objectOf(value: Json | undefined, field: string): JsonObject {
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  throw misfit(field, 'an object');
}

function pick(value: JsonObject, names: Readonly<Record<string, string>>): Record<string, string> {
  return toRecord(
    Object.entries(names).flatMap(([from, to]) => (typeof value[from] === 'string' ? [[to, value[from]]] : [])),
  );
}

const misfit = (field: string, expected: string): AnnealError =>
  new AnnealError('InvalidRequest', `The field ${field} of a case must be ${expected}`);
const refused = (message: string): Mistake[] => [{ code: 'InvalidCase', message, path: '' }];
