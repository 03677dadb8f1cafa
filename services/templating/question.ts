/** Converts a question to the input of the compiler. A PATCH starts from the stored template, environment and files. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { type Plan, planSchema, type PlanParameter, withPassed } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { CompileQuestion } from '@anneal/contracts/calls/templating.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Blobs } from '@anneal/store/port.ts';
import type { CompileParameters } from '@anneal/hot/tree/compile-parameters.ts';

export interface Sources {
  readonly blobs: Pick<Blobs, 'getText'>;
  readonly secrets: Secrets;
}

/** The rules for every template: the known types, and the operator's limits. */
export interface Rules {
  readonly types: readonly ResourceType[];
  readonly maxResources: number;
  readonly maxDepth: number;
}

export async function readQuestion(
  asked: CompileQuestion,
  { blobs, secrets, types, maxResources, maxDepth, now }: Sources & Rules & Pick<CompileParameters, 'now'>,
): Promise<CompileParameters> {
  // Open the environments and parameters. The gateway seals them, because each may hold a secret.
  const question = {
    ...asked,
    environments: asked.environments.map((each) => secrets.open<string | JsonObject>(each)),
    parameters: secrets.open(asked.parameters),
  };
  const { existing } = question;
  const read = async (hash: string, what: string): Promise<JsonObject> => {
    const text = await blobs.getText(hash);
    if (text === undefined)
      throw new AnnealError('NotFound', `The ${what} ${hash} is missing in the store; send it again.`);
    return parseExact(text) as JsonObject;
  };
  const template = question.template ?? (existing && (await read(existing.template, 'template')));
  if (template === undefined) throw new AnnealError('InvalidRequest', 'No template specified');
  const previous =
    question.previous_plan === undefined ? undefined : await readPlan(question.previous_plan, { blobs, secrets });
  const written = existing && secrets.open(await read(existing.environment, 'environment'));
  const stored = written && previous ? withPassed(written, previous) : written;
  const environment = existing && stored && withoutParameters(stored, existing.clear_parameters);
  const files = existing ? await read(existing.files, 'files') : {};
  return {
    template,
    environments: environment
      ? [{ content: environment, file: 'stored environment' }, ...question.environments]
      : question.environments,
    files: { ...(files as Record<string, string>), ...question.files },
    parameters: question.parameters,
    stackName: question.stack_name,
    stackId: question.stack_id,
    projectId: question.project,
    types,
    maxResources,
    maxDepth,
    now,
    ...(previous && { previousParameters: previous.parameters }),
    // Drop the stored value of a parameter that the new template lacks. A parameter in the question must exist.
    ...(environment && {
      droppable: new Set(
        Object.keys(mapOf(environment['parameters'])).filter((name) => !Object.hasOwn(question.parameters, name)),
      ),
    }),
  };
}

const mapOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});

function withoutParameters(environment: JsonObject, names: readonly string[]): JsonObject {
  if (names.length === 0) return environment;
  const kept = Object.entries(mapOf(environment['parameters'])).filter(([name]) => !names.includes(name));
  return { ...environment, parameters: toRecord(kept) };
}

/** Reads the parameters of a plan, with secrets opened, and which of them were passed to it. */
export async function readPlan(
  hash: string,
  { blobs, secrets }: Sources,
): Promise<Pick<Plan, 'passed'> & { readonly parameters: Record<string, PlanParameter> }> {
  const text = await blobs.getText(hash);
  if (text === undefined)
    throw new AnnealError('NotFound', `The plan ${hash} is missing in the store; compile it again.`);
  const { parameters, passed } = planSchema.pick({ parameters: true, passed: true }).parse(parseExact(text));
  const opened = Object.entries(parameters).map(([name, parameter]) => [
    name,
    { ...parameter, value: secrets.open(parameter.value) },
  ]);
  return { parameters: Object.fromEntries(opened), ...(passed && { passed }) };
}
