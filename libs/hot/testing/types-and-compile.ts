/** Shared test helpers: the built-in types, and a compile that needs nothing else. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import { compile } from '../compile.ts';
import type { CompileParameters } from '../tree/compile-parameters.ts';
import { evaluate, type Scope, type Unknown } from '../evaluate.ts';
import { configurationTypes } from '../types/configuration.ts';
import { provisioningTypes } from '../types/provisioning.ts';
import { schedulingTypes } from '../types/scheduling.ts';
import { EvaluationWork } from '../evaluate/work.ts';

/** The types that the services serve. */
export const types = [...schedulingTypes, ...provisioningTypes, ...configurationTypes];

/** The plan, or the mistakes. */
export function compiled(template: string | JsonObject, more: Partial<CompileParameters> = {}): Plan | Mistake[] {
  const result = compile({ template, stackName: 's', stackId: '', projectId: 'p', types, ...more });
  return 'plan' in result ? result.plan : result.mistakes;
}

/** The plan. @throws Error with the mistakes */
export function planOf(template: string | JsonObject, more: Partial<CompileParameters> = {}): Plan {
  const result = compiled(template, more);
  if (Array.isArray(result)) throw new Error(result.map(({ message }) => message).join('\n'));
  return result;
}

/** The mistakes; empty when the template compiles. */
export function mistakesOf(template: string | JsonObject, more: Partial<CompileParameters> = {}): Mistake[] {
  const result = compiled(template, more);
  return Array.isArray(result) ? result : [];
}

/** Evaluates a node of a template with the given parameters, references and attributes. */
export function valueOf(
  yaml: string,
  {
    version = '2018-08-31',
    parameters = {},
    resources = {},
    ...more
  }: {
    version?: string;
    parameters?: JsonObject;
    resources?: Record<string, { id: string; attributes: JsonObject }>;
    files?: Record<string, string>;
  } = {},
): Json | Unknown {
  const lines = [
    `heat_template_version: ${version}`,
    `parameters: ${JSON.stringify(Object.fromEntries(Object.keys(parameters).map((name) => [name, { type: typeof parameters[name] === 'string' ? 'string' : 'json' }])))}`,
    `resources: ${JSON.stringify(Object.fromEntries(Object.keys(resources).map((name) => [name, { type: 'OS::Heat::None' }])))}`,
    'outputs:',
    '  o:',
    '    value:',
    ...yaml.split('\n').map((line) => `      ${line}`),
  ];
  const plan = planOf(lines.join('\n'), { parameters, ...more });
  const scope: Scope = {
    templateVersion: plan.template_version,
    work: new EvaluationWork(),
    parameter: (name) => plan.parameters[name]?.value,
    reference: (name) => resources[name]?.id,
    attribute: (name) => resources[name]?.attributes,
  };
  const output = plan.outputs['o'];
  if (!output) throw new Error('no output');
  return evaluate(output.value, scope, 'outputs.o.value');
}
