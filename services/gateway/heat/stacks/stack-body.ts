/** Translates a request to create, update or validate a stack into a call of templating. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { CompileQuestion } from '@anneal/contracts/calls/templating.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { failurePolicies, mostTimeoutMinutes, type FailurePolicy } from '@anneal/contracts/calls/stacks.ts';
import { z } from 'zod';
import { readGivenJson } from '@anneal/runtime/given-json.ts';
import { bodyReader } from '../../http/input.ts';
import { booleanOrWord } from '../query.ts';
import { refuseInHeat } from '../wording.ts';

/** The request for a stack, in the terms of the gateway. */
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

/** A client sends every field, and null for one that it has nothing for. */
const given = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

// The texts of mistakes continue the name of the field as a sentence (`refuseInHeat`).
const object = z.custom<JsonObject>(isObject, { error: 'must be an object' }).meta({ type: 'object' });
const document = z.union([z.string(), object], 'must be an object or a string');
const names = z
  .custom<string[]>((value) => Array.isArray(value) && value.every((item) => typeof item === 'string'), {
    error: 'must be a list of names',
  })
  .meta({ type: 'array', items: { type: 'string' } });
const text = z.string('must be a string');
const flag = booleanOrWord('must be true or false');
const files = z.record(z.string(), text, 'must be an object whose values are strings');
const minutesText = `must be a non-negative integer number of minutes, at most ${mostTimeoutMinutes}`;
const wholeMinutes = z.int(minutesText).min(0, minutesText).max(mostTimeoutMinutes, minutesText);
const minutes = z.union(
  [wholeMinutes, z.string().regex(/^\d+$/, minutesText).transform(Number).pipe(wholeMinutes)],
  minutesText,
);
const mostTags = 100;
const tags = z
  .string('must be a string of tags separated by commas')
  .transform((list) => (list.trim() === '' ? [] : list.split(',').map((tag) => tag.trim())))
  .refine((list) => list.every((tag) => tag.length > 0 && tag.length <= 80 && tag.isWellFormed()), {
    error: 'must contain tags of 1 to 80 characters',
    abort: true,
  })
  .refine((list) => list.length <= mostTags, {
    error: ({ input }) => `must contain at most ${mostTags} tags, not ${(input as string[]).length}`,
  });

/** The data from `abandon` or `export`, or its JSON as text: a request for the stack, and its resources. */
const adopted = z
  .union([z.string(), object], 'must be a JSON object')
  .transform((sent, check): unknown => {
    if (typeof sent !== 'string') return sent;
    const read = readGivenJson(sent);
    if (read.isRead) return read.value;
    check.addIssue(read.detail === undefined ? read.why : `is not JSON: ${read.detail}`);
    return z.NEVER;
  })
  .pipe(
    z.object(
      { template: object, environment: given(document), files: given(files), resources: object },
      'must be a JSON object',
    ),
  );

const commonFields = {
  adopt_stack_data: given(adopted).meta({ description: 'What `abandon` or `export` answers.' }),
  template_url: given(z.literal('', 'is not fetched by this server: send the template itself in template')),
  files: given(files),
  template: given(document).meta({ description: 'A create and a PUT need one, here or in `adopt_stack_data`.' }),
  environment_files: given(names),
  environment: given(document),
  parameters: given(object),
  timeout_mins: given(minutes),
  on_failure: given(z.enum(failurePolicies, `must be one of ${failurePolicies.join(', ')}`)),
  disable_rollback: given(flag),
  tags: given(tags),
};
const changeFields = {
  clear_parameters: given(names),
  converge: given(flag),
  plan_hash: given(text),
  revision: given(text),
};
type Fields = Partial<z.output<z.ZodObject<typeof commonFields & typeof changeFields>>>;

/** An absent body has no fields. `on_failure` is Anneal's own, and decides also beside a `disable_rollback` without meaning. */
const bodyWith = <T extends z.ZodRawShape>(fields: T) =>
  z.preprocess(
    (sent) =>
      isObject(sent) && (sent['on_failure'] ?? null) !== null ? { ...sent, disable_rollback: null } : (sent ?? {}),
    z.object(fields),
  );

const noTemplate = 'No template specified';
/** The body of an update that keeps the fields that it leaves out. */
export const changedStackSchema = bodyWith({ ...commonFields, ...changeFields }).transform(requestOf);
/** The body of an update that replaces everything, of a preview of one, and of a validation. */
export const replacedStackSchema = changedStackSchema.refine(({ template }) => template !== undefined, noTemplate);

const nameText = {
  error: ({ input }: { input?: unknown }): string =>
    (input ?? '') === ''
      ? 'No stack name specified'
      : `Invalid stack name ${typeof input === 'string' ? input.slice(0, 300) : JSON.stringify(input)} must contain only alphanumeric or "_-." characters, must start with alpha and must be 255 characters or less.`,
};
/** The body of a create: the name and the request. */
export const newStackSchema = bodyWith({
  stack_name: z.string(nameText).regex(/^[A-Za-z][A-Za-z0-9_.-]{0,254}$/, nameText),
  ...commonFields,
  converge: z
    .null('is only for updates, because a new stack has no resources to compare with reality')
    .optional()
    .transform(() => undefined),
})
  .transform(({ stack_name: name, ...fields }, check) => ({ name, wanted: requestOf(fields, check) }))
  .refine(({ wanted }) => wanted.template !== undefined, noTemplate);

/** Reads a request that did not come as the body of a route of Heat. @throws AnnealError InvalidRequest, as there */
export const readStackBody = bodyReader(changedStackSchema, refuseInHeat);
/** Reads the name and the request of a create in the same way. */
export const readNewStack = bodyReader(newStackSchema, refuseInHeat);

function requestOf(body: Fields, check: z.RefinementCtx): StackRequest {
  const { adopt_stack_data: data, environment_files: apart = [], disable_rollback: keeps } = body;
  const template = sentOr(body.template, data?.template);
  const sentFiles = sentOr(body.files, data?.files) ?? {};
  const environment = sentOr(body.environment, data?.environment);
  for (const name of apart) {
    if (Object.hasOwn(sentFiles, name)) continue;
    const message = `names ${name}, which is not among the files that were sent`;
    check.addIssue({ code: 'custom', path: ['environment_files'], message });
  }
  return {
    template,
    environments: environmentsOf(environment, { files: sentFiles, apart }),
    // Environment files may hold secrets. They are kept sealed, among the environments.
    files: toRecord(Object.entries(sentFiles).filter(([name]) => !apart.includes(name))),
    parameters: body.parameters ?? {},
    clearParameters: body.clear_parameters ?? [],
    // Heat's way to ask for no deadline.
    timeoutMinutes: body.timeout_mins === 0 ? null : body.timeout_mins,
    onFailure: body.on_failure ?? (keeps === undefined ? undefined : keeps ? 'keep' : 'rollback'),
    tags: body.tags,
    converge: body.converge ?? false,
    planHash: body.plan_hash,
    revision: body.revision,
    adopt: data && takenOver(data.resources),
  };
}

const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;

/** The request wins over the adopted stack. Clients send unset fields as empty. */
const sentOr = <T>(sent: T | undefined, other: T | undefined): T | undefined =>
  other !== undefined && isEmpty(sent) ? other : (sent ?? other);

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
    return [name, { ...toRecord(own), ...(isObject(inner) && { resources: takenOver(inner) }) }];
  });
  return toRecord(entries);
}

/** The environments. Named files win over `environment`, which clients send merged for older servers. */
function environmentsOf(
  environment: string | JsonObject | undefined,
  { files: sent, apart }: { files: Readonly<Record<string, string>>; apart: readonly string[] },
): (string | JsonObject)[] {
  if (apart.length > 0) {
    const hooks = hooksOf(environment);
    return [...apart.flatMap((name) => sent[name] ?? []), ...(hooks ? [hooks] : [])];
  }
  return environment === undefined || environment === '' || isEmpty(environment) ? [] : [environment];
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
  return kept.length > 0 ? toRecord(kept) : undefined;
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
