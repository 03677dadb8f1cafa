/** Compiles everything before the resources: sections, environment, values of the parameters. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { PlanParameter } from '@anneal/contracts/plan.ts';
import { type Environment, type EnvironmentDocument, readEnvironments } from '../environment/environment.ts';
import { withTextKeys } from '@anneal/python/values/exact.ts';
import { Mistakes } from '../mistakes.ts';
import { type MappingEntry, isPlainObject, toRecord } from '@anneal/python/yaml/node.ts';
import { TemplateLibrary } from './library.ts';
import { checkParameterGroups } from '../parameters/parameter-groups.ts';
import { type ParameterSchema, readParameterSchemas } from '../parameters/parameter-schema.ts';
import { resolveParameters } from '../environment/resolve-parameters.ts';
import { fromJson } from '../syntax/parse.ts';
import { pseudoParameters } from '../parameters/pseudo.ts';
import type { EvaluationWork } from '../evaluate/work.ts';
import { readTemplate, sectionEntries, sectionNode, type Template } from '../syntax/template.ts';
import type { CompileParameters } from './compile-parameters.ts';

/** A template that is read, and the values of its parameters. */
export interface Front {
  readonly read: Template;
  readonly environment: Environment;
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
  readonly values: Record<string, PlanParameter>;
  readonly library: TemplateLibrary;
}

/**
 * Undefined when the template or its parameters section cannot be read at all. `missingAllowed`: a parameter may lack
 * a value.
 */
export function readFront(
  options: CompileParameters & { mistakes: Mistakes; missingAllowed: boolean; work: EvaluationWork },
): Front | undefined {
  const { mistakes, work } = options;
  const read = readTemplate({ content: options.template, mistakes });
  const library = options.library ?? new TemplateLibrary(options.files ?? {});
  const section = read && sectionNode(read, 'parameters');
  const schemas = read && section && readParameterSchemas({ section, version: read.version, mistakes, work });
  const parameterType = (name: string) => schemas?.get(name)?.type ?? library.parameterType(name, work);
  const environments = readEnvironments(documentsOf(options), { mistakes, parameterType });
  if (!read || !schemas) return undefined;
  if (schemas.delete('__proto__')) sectionEntries(read, 'parameters', mistakes);
  const environment = forget(withGiven(environments, options), schemas, options.droppable);
  const { values } = resolveParameters({
    schemas,
    environment,
    pseudo: pseudoParameters(read.dialect, options),
    previous: options.previousParameters,
    missingAllowed: options.missingAllowed,
    now: options.now,
    mistakes,
    work,
  });
  checkParameterGroups({ section: sectionNode(read, 'parameter_groups'), names: new Set(schemas.keys()), mistakes });
  return { read, environment, schemas, values, library };
}

function documentsOf({ environments = [] }: CompileParameters): EnvironmentDocument[] {
  return environments.map((item, index) => {
    const file = environments.length === 1 ? 'environment' : `environment ${index + 1}`;
    if (typeof item === 'string') return { content: item, file };
    return isDocument(item) ? item : { content: item, file };
  });
}
const isDocument = (item: JsonObject | EnvironmentDocument): item is EnvironmentDocument =>
  isPlainObject(item) && Object.keys(item).length === 2 && typeof item['file'] === 'string' && 'content' in item;

/** Parameters given for the stack are stored with the environment and override it. */
function withGiven(environment: Environment, { parameters }: CompileParameters): Environment {
  const given = parameters && asEntries(parameters);
  if (!given?.size) return environment;
  const merged = new Map<string, MappingEntry>([...environment.parameters, ...given]);
  const before = environment.merged['parameters'];
  const stored = toRecord([
    ...Object.entries((before ?? {}) as JsonObject),
    ...Object.entries(withTextKeys(parameters ?? {})),
  ]);
  return { ...environment, parameters: merged, merged: { ...environment.merged, parameters: stored } };
}

/** Converts values to the entries of a document. A value nested too deeply for a document yields no entries. */
export function asEntries(values: JsonObject): ReadonlyMap<string, MappingEntry> {
  const node = fromJson({ value: values, mistakes: new Mistakes() });
  return node?.kind === 'map' ? node.entries : new Map<string, MappingEntry>();
}

function forget(
  environment: Environment,
  schemas: ReadonlyMap<string, unknown>,
  droppable: ReadonlySet<string> = new Set(),
): Environment {
  const lost = (name: string): boolean => droppable.has(name) && !schemas.has(name);
  if (![...environment.parameters.keys()].some(lost)) return environment;
  const stored = (environment.merged['parameters'] ?? {}) as JsonObject;
  return {
    ...environment,
    parameters: new Map([...environment.parameters].filter(([name]) => !lost(name))),
    merged: { ...environment.merged, parameters: toRecord(Object.entries(stored).filter(([name]) => !lost(name))) },
  };
}
