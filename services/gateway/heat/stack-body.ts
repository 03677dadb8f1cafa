/** Translates a request to create, update or validate a stack into a call of templating. */
import type { CompileQuestion } from '@anneal/contracts/templating.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { failurePolicies, type FailurePolicy } from '@anneal/contracts/scheduling.ts';
import { heatError } from './wording.ts';

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
  /** The adopted objects, by resource. */
  readonly adopt: JsonObject | undefined;
}

const absent = (value: Json | undefined): value is null | undefined => value === undefined || value === null;

/** @throws AnnealError InvalidRequest that names every invalid field. */
export function readStackBody(given: JsonObject): StackRequest {
  const mistakes: Mistake[] = [];
  const wrong = (path: string, message: string): undefined => {
    mistakes.push({ code: 'InvalidField', path, message });
    return undefined;
  };
  const adopted = readAdopted(given['adopt_stack_data'], wrong);
  // The request wins over the adopted stack. Clients send unset fields as empty, so drop empty fields.
  const body = adopted ? { ...adopted.body, ...withoutEmpty(given) } : given;
  // Some clients send every field, empty when they have nothing for it.
  if (!absent(body['template_url']) && body['template_url'] !== '') {
    wrong('template_url', 'is not fetched by this server: send the template itself in template');
  }
  const files = readFiles(body['files'], wrong);
  const request: StackRequest = {
    template: readDocument(body['template'], 'template', wrong),
    environments: readEnvironments(body, files, wrong),
    files: withoutEnvironments(files, body['environment_files']),
    parameters: absent(body['parameters'])
      ? {}
      : isObject(body['parameters'])
        ? body['parameters']
        : (wrong('parameters', 'must be an object') ?? {}),
    clearParameters: readNames(body['clear_parameters'], 'clear_parameters', wrong),
    timeoutMinutes: readTimeout(body['timeout_mins'], wrong),
    onFailure: readPolicy(body, wrong),
    tags: readTags(body['tags'], wrong),
    converge: readFlag(body['converge'], 'converge', wrong) ?? false,
    planHash: readText(body['plan_hash'], 'plan_hash', wrong),
    adopt: adopted?.resources,
  };
  if (mistakes.length > 0) {
    const [first] = mistakes;
    const listed = mistakes.map(({ path, message }) => `${path} ${message}`).join('; ');
    throw new AnnealError(
      'InvalidRequest',
      mistakes.length === 1 && first ? `${first.path} ${first.message}.` : listed,
      {
        mistakes,
      },
    );
  }
  return request;
}

type Wrong = (path: string, message: string) => undefined;

const withoutAbsent = (body: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => !absent(value)));

const withoutEmpty = (body: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(body).filter(([, value]) => !absent(value) && !(isObject(value) && Object.keys(value).length === 0)),
  );

/** Reads the JSON text from `abandon` or `export`: the request for the stack, and its resources. */
function readAdopted(
  value: Json | undefined,
  wrong: Wrong,
): { readonly body: JsonObject; readonly resources: JsonObject } | undefined {
  if (absent(value)) return undefined;
  let data: Json = value;
  if (typeof value === 'string') {
    try {
      data = JSON.parse(value) as Json;
    } catch (error) {
      return wrong('adopt_stack_data', `is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (!isObject(data)) return wrong('adopt_stack_data', 'must be a JSON object');
  const { template, environment, files, resources } = data;
  if (!isObject(template)) wrong('adopt_stack_data.template', 'must be an object');
  if (!isObject(resources)) wrong('adopt_stack_data.resources', 'must be an object');
  return {
    body: withoutAbsent({ template: template ?? null, environment: environment ?? null, files: files ?? null }),
    resources: isObject(resources) ? takenOver(resources) : {},
  };
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

/** Reads the failure policy. `on_failure` is Anneal's own; Heat has only `disable_rollback`. */
function readPolicy(body: JsonObject, wrong: Wrong): FailurePolicy | undefined {
  const given = body['on_failure'];
  if (!absent(given)) {
    const policy = failurePolicies.find((one) => one === given);
    return policy ?? wrong('on_failure', `must be one of ${failurePolicies.join(', ')}`);
  }
  const disabled = readFlag(body['disable_rollback'], 'disable_rollback', wrong);
  return disabled === undefined ? undefined : disabled ? 'keep' : 'rollback';
}

function readText(value: Json | undefined, path: string, wrong: Wrong): string | undefined {
  if (absent(value)) return undefined;
  return typeof value === 'string' ? value : wrong(path, 'must be a text');
}

function readDocument(value: Json | undefined, path: string, wrong: Wrong): string | JsonObject | undefined {
  if (absent(value)) return undefined;
  if (typeof value === 'string' || isObject(value)) return value;
  return wrong(path, 'must be an object or a text');
}

function readFiles(value: Json | undefined, wrong: Wrong): Record<string, string> {
  if (absent(value)) return {};
  if (!isObject(value)) return wrong('files', 'must be an object of texts') ?? {};
  const files: [string, string][] = [];
  for (const [name, content] of Object.entries(value)) {
    if (typeof content === 'string') files.push([name, content]);
    else wrong(`files.${name}`, 'must be a text');
  }
  return Object.fromEntries(files);
}

/** Reads the environments. Named files win over `environment`, which clients send merged for older servers. */
function readEnvironments(body: JsonObject, files: Record<string, string>, wrong: Wrong): (string | JsonObject)[] {
  const names = readNames(body['environment_files'], 'environment_files', wrong);
  const environment = readDocument(body['environment'], 'environment', wrong);
  if (names.length > 0) {
    const named = names.flatMap((name) => {
      const content = files[name];
      if (content !== undefined) return [content];
      wrong('environment_files', `names ${name}, which is not among the files that were sent`);
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

/** Removes environment files, because they may hold secrets. The merged environment is kept sealed. */
function withoutEnvironments(files: Record<string, string>, names: Json | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(files).filter(([name]) => !(Array.isArray(names) && names.includes(name))));
}

function readNames(value: Json | undefined, path: string, wrong: Wrong): string[] {
  if (absent(value)) return [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  return wrong(path, 'must be a list of names') ?? [];
}

function readTimeout(value: Json | undefined, wrong: Wrong): number | null | undefined {
  if (absent(value)) return undefined;
  const minutes = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof minutes !== 'number' || !Number.isInteger(minutes) || minutes < 0) {
    return wrong('timeout_mins', 'must be a whole number of minutes, 0 or more');
  }
  return minutes === 0 ? null : minutes;
}

function readFlag(value: Json | undefined, path: string, wrong: Wrong): boolean | undefined {
  if (absent(value)) return undefined;
  if (typeof value === 'boolean') return value;
  const lower = typeof value === 'string' ? value.toLowerCase() : '';
  if (lower === 'true' || lower === 'false') return lower === 'true';
  return wrong(path, 'must be true or false');
}

const mostTags = 100;

function readTags(value: Json | undefined, wrong: Wrong): string[] | undefined {
  if (absent(value)) return undefined;
  if (typeof value !== 'string') return wrong('tags', 'must be a text with commas between the tags');
  const tags = value.split(',').map((tag) => tag.trim());
  if (value.trim() === '') return [];
  if (tags.some((tag) => tag.length === 0 || tag.length > 80 || !tag.isWellFormed())) {
    return wrong('tags', 'must each have 1 to 80 characters');
  }
  if (tags.length > mostTags) return wrong('tags', `must be at most ${mostTags} tags, not ${tags.length}`);
  return tags;
}

/** Reads the name and the request of a stack to create. */
export function readNewStack(body: JsonObject): { readonly name: string; readonly wanted: StackRequest } {
  const name = readStackName(body);
  if (!absent(body['converge'])) {
    throw new AnnealError(
      'InvalidRequest',
      'converge is for updates: of what is not there yet, nothing can be looked at.',
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
  if (typeof name !== 'string' || !/^[A-Za-z][A-Za-z0-9_.-]{0,254}$/.test(name)) {
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
export function sealGiven(question: CompileQuestion, secrets: Secrets): CompileQuestion {
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
