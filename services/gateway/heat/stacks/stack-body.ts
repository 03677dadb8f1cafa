/** Translates a request to create, update or validate a stack into a call of templating. */
import type { CompileQuestion } from '@anneal/contracts/calls/templating.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { failurePolicies, mostTimeoutMinutes, type FailurePolicy } from '@anneal/contracts/calls/scheduling.ts';
import { parse as parseJson } from 'secure-json-parse';
import { z } from 'zod';
import { exactReviver } from '@anneal/python/yaml/json-text.ts';
import { heatError } from '../wording.ts';
import { exactDocument, exactParameters, withPlainFields } from './exact-numbers.ts';

export interface StackRequest {
  readonly template: string | JsonObject | undefined;
  readonly environments: (string | JsonObject)[];
  readonly files: Record<string, string>;
  readonly parameters: Record<string, Json>;
  readonly clearParameters: string[];
  /** Undefined when the client did not set it. */
  readonly timeoutMinutes: number | null | undefined;
  readonly onFailure: FailurePolicy | undefined;
  readonly tags: string[] | undefined;
  /** True to read the real state of resources before comparing. */
  readonly converge: boolean;
  /** Hash of a previewed plan. The request is refused when the plan has changed. */
  readonly planHash: string | undefined;
  /** The stored revision from which a PATCH begins, instead of the current state. */
  readonly revision: string | undefined;
  /** The adopted objects, by resource. */
  readonly adopt: JsonObject | undefined;
}

const absent = (value: Json | undefined): value is null | undefined => value === undefined || value === null;

const object = z.custom<JsonObject>(isObject).meta({ type: 'object' });
const document = z.union([z.string(), object]);
const names = z
  .custom<string[]>((value) => Array.isArray(value) && value.every((item) => typeof item === 'string'))
  .meta({ type: 'array', items: { type: 'string' } });
const flag = z.union([z.boolean(), z.stringbool({ truthy: ['true'], falsy: ['false'] })]);
const minutes = z
  .union([z.number(), z.string().regex(/^\d+$/).transform(Number)])
  .refine((sent) => Number.isInteger(sent) && sent >= 0 && sent <= mostTimeoutMinutes);
const mostTags = 100;
const tags = z
  .string()
  .transform((text) => (text.trim() === '' ? [] : text.split(',').map((tag) => tag.trim())))
  .refine((list) => list.every((tag) => tag.length > 0 && tag.length <= 80 && tag.isWellFormed()), {
    error: 'must contain tags of 1 to 80 characters',
    abort: true,
  })
  .refine((list) => list.length <= mostTags, {
    error: ({ input }) => `must contain at most ${mostTags} tags, not ${(input as string[]).length}`,
  });

/** Clients send every field, and null for one that they have nothing for. */
const given = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

const bodySchema = z.object({
  template_url: given(z.literal('')),
  files: given(z.record(z.string(), z.string())),
  template: given(document),
  environment_files: given(names),
  environment: given(document),
  parameters: given(object),
  clear_parameters: given(names),
  timeout_mins: given(minutes),
  on_failure: given(z.enum(failurePolicies)),
  disable_rollback: given(flag),
  tags: given(tags),
  converge: given(flag),
  plan_hash: given(z.string()),
  revision: given(z.string()),
});

const adoptedField = {
  adopt_stack_data: document.nullish().meta({ description: 'What `abandon` or `export` answers.' }),
};
/** The body of an update, of a preview of one, and of a validation. */
export const stackBodySchema = bodySchema.extend(adoptedField);
const namePattern = /^[A-Za-z][A-Za-z0-9_.-]{0,254}$/;
/** The body of a create. */
export const newStackSchema = bodySchema
  .omit({ converge: true, clear_parameters: true, plan_hash: true, revision: true })
  .extend({ ...adoptedField, stack_name: z.string().regex(namePattern) });

const adoptedSchema = z.object({ template: object, resources: object });

/** The rest of the sentence that begins with the path of an invalid field. */
const fieldTexts: Readonly<Record<string, string>> = {
  template_url: 'is not fetched by this server: send the template itself in template',
  files: 'must be an object whose values are strings',
  template: 'must be an object or a string',
  environment_files: 'must be a list of names',
  environment: 'must be an object or a string',
  parameters: 'must be an object',
  clear_parameters: 'must be a list of names',
  timeout_mins: `must be a non-negative integer number of minutes, at most ${mostTimeoutMinutes}`,
  on_failure: `must be one of ${failurePolicies.join(', ')}`,
  disable_rollback: 'must be true or false',
  tags: 'must be a string of tags separated by commas',
  converge: 'must be true or false',
  plan_hash: 'must be a string',
  revision: 'must be a string',
};
const adoptedTexts: typeof fieldTexts = { template: 'must be an object', resources: 'must be an object' };

/** Reads a value, and adds a mistake for every invalid field; undefined when there is one. */
function read<T>(
  schema: z.ZodType<T>,
  value: unknown,
  { texts, under = [], mistakes }: { texts: typeof fieldTexts; under?: readonly string[]; mistakes: Mistake[] },
): T | undefined {
  const parsed = schema.safeParse(value, {
    error: ({ path: [field, ...rest] = [] }) => (rest.length > 0 ? 'must be a string' : texts[String(field)]),
  });
  for (const { path, message } of parsed.error?.issues ?? []) {
    mistakes.push({ code: 'InvalidField', path: [...under, ...path].join('.'), message });
  }
  return parsed.data;
}

/** @throws AnnealError InvalidRequest that names every invalid field. */
export function readStackBody(received: JsonObject): StackRequest {
  const mistakes: Mistake[] = [];
  const sent = withPlainFields(received);
  const adopted = readAdopted(sent['adopt_stack_data'], mistakes);
  // The request wins over the adopted stack. Clients send unset fields as empty, so drop empty fields.
  const merged = adopted ? { ...adopted.body, ...withoutEmpty(sent) } : sent;
  // `on_failure` is Anneal's own. It decides alone, also beside a `disable_rollback` that means nothing.
  const { disable_rollback: disabled = null } = merged;
  const asked = { ...merged, disable_rollback: absent(merged['on_failure']) ? disabled : null };
  const body = read(bodySchema, asked, { texts: fieldTexts, mistakes });
  const environments = body && readEnvironments(body, mistakes);
  if (!body || !environments || mistakes.length > 0) throw invalid(mistakes);
  const { environment_files: apart = [], disable_rollback: keeps } = body;
  return {
    template: body.template === undefined ? undefined : exactDocument(body.template),
    environments: environments.map(exactDocument),
    // Environment files may hold secrets. They are kept sealed, among the environments.
    files: Object.fromEntries(Object.entries(body.files ?? {}).filter(([name]) => !apart.includes(name))),
    parameters: exactParameters(body.parameters ?? {}),
    clearParameters: body.clear_parameters ?? [],
    // Heat's way to ask for no deadline.
    timeoutMinutes: body.timeout_mins === 0 ? null : body.timeout_mins,
    onFailure: body.on_failure ?? (keeps === undefined ? undefined : keeps ? 'keep' : 'rollback'),
    tags: body.tags,
    converge: body.converge ?? false,
    planHash: body.plan_hash,
    revision: body.revision,
    adopt: adopted?.resources,
  };
}

function invalid(mistakes: readonly Mistake[]): AnnealError {
  const listed = mistakes.map(({ path, message }) => `${path} ${message}`);
  return new AnnealError('InvalidRequest', listed.length === 1 ? `${listed[0]}.` : listed.join('; '), { mistakes });
}

const withoutEmpty = (body: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(body).filter(([, value]) => !absent(value) && !(isObject(value) && Object.keys(value).length === 0)),
  );

/** Reads the JSON text from `abandon` or `export`: the request for the stack, and its resources. */
function readAdopted(
  sent: Json | undefined,
  mistakes: Mistake[],
): { readonly body: JsonObject; readonly resources: JsonObject } | undefined {
  if (absent(sent)) return undefined;
  const wrong = (message: string): undefined => {
    mistakes.push({ code: 'InvalidField', path: 'adopt_stack_data', message });
    return undefined;
  };
  let data: Json = sent;
  if (typeof sent === 'string') {
    try {
      data = parseJson(sent, exactReviver) as Json;
    } catch (error) {
      return wrong(`is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (!isObject(data)) return wrong('must be a JSON object');
  const valid = read(adoptedSchema, data, { texts: adoptedTexts, under: ['adopt_stack_data'], mistakes });
  const { template = null, environment = null, files = null } = data;
  return { body: { template, environment, files }, resources: takenOver(valid?.resources ?? {}) };
}

const parts: ReadonlySet<string> = new Set(['resource_id', 'metadata', 'attributes', 'resource_data']);

/**
 * Keeps only the known parts of each resource. The inputs of a nested stack, which may be secret, follow from its
 * template.
 */
function takenOver(resources: JsonObject): JsonObject {
  const entries = Object.entries(resources).map(([name, resource]): [string, Json] => {
    if (!isObject(resource)) return [name, resource];
    const own = Object.entries(resource).filter(([part]) => parts.has(part));
    const { resources: inner } = resource;
    return [name, { ...Object.fromEntries(own), ...(isObject(inner) && { resources: takenOver(inner) }) }];
  });
  return Object.fromEntries(entries);
}

/** The environments. Named files win over `environment`, which clients send merged for older servers. */
function readEnvironments(
  { files = {}, environment_files: from = [], environment }: z.infer<typeof bodySchema>,
  mistakes: Mistake[],
): (string | JsonObject)[] {
  if (from.length > 0) {
    const named = from.flatMap((name) => {
      const content = Object.hasOwn(files, name) ? files[name] : undefined;
      if (content !== undefined) return [content];
      const message = `names ${name}, which is not among the files that were sent`;
      mistakes.push({ code: 'InvalidField', path: 'environment_files', message });
      return [];
    });
    const hooks = hooksOf(environment);
    return hooks ? [...named, hooks] : named;
  }
  const empty = environment === undefined || (isObject(environment) && Object.keys(environment).length === 0);
  return empty || environment === '' ? [] : [environment];
}

/** Hooks from `--pre-create` and `--pre-update`. They are in no file: clients add them to the merged environment. */
function hooksOf(environment: string | JsonObject | undefined): JsonObject | undefined {
  const registry = isObject(environment) ? environment['resource_registry'] : undefined;
  const resources = isObject(registry) ? registry['resources'] : undefined;
  const hooks = isObject(resources) ? onlyHooks(resources) : undefined;
  return hooks && { resource_registry: { resources: hooks } };
}

function onlyHooks(resources: JsonObject): JsonObject | undefined {
  const kept = Object.entries(resources).flatMap(([name, value]): [string, Json][] => {
    if (name === 'hooks') return [[name, value]];
    const inside = isObject(value) ? onlyHooks(value) : undefined;
    return inside ? [[name, inside]] : [];
  });
  return kept.length > 0 ? Object.fromEntries(kept) : undefined;
}

/** Reads the name and the request of a stack to create. */
export function readNewStack(body: JsonObject): { readonly name: string; readonly wanted: StackRequest } {
  const name = readStackName(body);
  if (!absent(body['converge'])) {
    throw new AnnealError(
      'InvalidRequest',
      'converge is only for updates, because a new stack has no resources to compare with reality.',
    );
  }
  const wanted = readStackBody(body);
  requireTemplate(wanted);
  return { name, wanted };
}

/** @throws AnnealError InvalidRequest, worded as Heat's clients expect. */
function readStackName(body: JsonObject): string {
  const name = body['stack_name'];
  if (absent(name) || name === '') throw new AnnealError('InvalidRequest', 'No stack name specified');
  if (typeof name !== 'string' || !namePattern.test(name)) {
    throw heatError(
      'InvalidRequest',
      'StackValidationFailed',
      `Invalid stack name ${parameterOf(name)} must contain only alphanumeric or "_-." characters, must start with alpha and must be 255 characters or less.`,
    );
  }
  return name;
}

const parameterOf = (name: Json): string => (typeof name === 'string' ? name.slice(0, 300) : JSON.stringify(name));

export function requireTemplate({ template }: StackRequest): void {
  if (template === undefined) throw new AnnealError('InvalidRequest', 'No template specified');
}

/** Seals all values from the client before they are sent, because only the template shows which of them are secret. */
export function sealGiven<Q extends CompileQuestion>(question: Q, secrets: Secrets): Q {
  return {
    ...question,
    environments: question.environments.map((environment) => secrets.seal(environment)),
    // Seal all parameters at once, because thousands of seals would delay other requests.
    parameters: secrets.seal(question.parameters),
  };
}

export function toQuestion(
  request: StackRequest,
  about: { project: string; stackName: string; stackId: string },
): CompileQuestion {
  return {
    project: about.project,
    stack_name: about.stackName,
    stack_id: about.stackId,
    ...(request.template !== undefined && { template: request.template }),
    environments: request.environments,
    files: request.files,
    parameters: request.parameters,
  };
}
