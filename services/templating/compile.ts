/** Compiles and validates templates. The results are named by content hash, and hidden values in them are sealed. */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { charactersUncut, writeJson } from '@anneal/contracts/slices/json-slices.ts';
import type { Plan, PlanParameter } from '@anneal/contracts/plan.ts';
import type { CompileAnswer, TemplateCheck } from '@anneal/contracts/calls/templating.ts';
import { compile, type CompileResult } from '@anneal/hot/compile.ts';
import type { CompileParameters } from '@anneal/hot/tree/compile-parameters.ts';
import { withDigests } from '@anneal/hot/tree/entry-digest.ts';
import { compileNested, type CompileNested } from '@anneal/hot/compile-nested.ts';
import { sourcesOf } from '@anneal/hot/tree/sources.ts';
import { keystoneTypes } from '@anneal/hot/types/openstack/keystone.ts';
import { outline, type Outline } from '@anneal/hot/tooling/outline.ts';
import { replaceHidden, validate } from '@anneal/hot/validate.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { contentHash } from '@anneal/store/content-hash.ts';
import type { Sources } from './question.ts';

/** The answer to a question, and the contents that it names: they must be stored before it is sent. */
export interface CompiledContents<Answer extends Json = CompileAnswer & JsonObject> {
  readonly answer: Answer;
  readonly contents: readonly Uint8Array<ArrayBuffer>[];
}

/** @throws AnnealError InvalidTemplate with every mistake */
export async function compileTemplate(
  parameters: CompileParameters,
  { secrets }: Pick<Sources, 'secrets'>,
): Promise<CompiledContents & { readonly environment: JsonObject }> {
  const { files = {} } = parameters;
  return contentsOf(compile(parameters), { files, filesHash: undefined, secrets });
}

/** @throws AnnealError InvalidTemplate with every mistake */
export async function compileNestedTemplate(
  parameters: CompileNested & { readonly filesHash: string },
  { secrets }: Pick<Sources, 'secrets'>,
): Promise<CompiledContents> {
  const { files, filesHash } = parameters;
  const { answer, contents } = await contentsOf(compileNested(parameters), { files, filesHash, secrets });
  return { answer, contents };
}

interface Content {
  readonly hash: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

async function contentOf(value: unknown): Promise<Content> {
  const text = JSON.stringify(value);
  // Readers read large JSON in slices when it was written in slices.
  const bytes = new TextEncoder().encode(text.length < charactersUncut ? text : await writeJson(value));
  return { hash: await contentHash(bytes), bytes };
}

const sharedContents = new WeakMap<object, Promise<Content>>();

/** Many nested stacks share one template, environment or sources: each object is written once, and never changes. */
function sharedContentOf(value: object): Promise<Content> {
  const content = sharedContents.get(value) ?? contentOf(value);
  sharedContents.set(value, content);
  return content;
}

async function contentsOf(
  compiled: CompileResult,
  {
    files,
    filesHash,
    secrets,
  }: {
    files: Readonly<Record<string, string>>;
    /** The whole tree shares its files, which are in the store. Undefined: they are not stored yet. */
    filesHash: string | undefined;
    secrets: Secrets;
  },
): Promise<CompiledContents & { readonly environment: JsonObject }> {
  if ('mistakes' in compiled) throw refused(compiled.mistakes);
  const sealed = sealHidden({ ...compiled, secrets });
  const { environment } = sealed;
  const contents: Uint8Array<ArrayBuffer>[] = [];
  const named = async (content: Promise<Content>): Promise<string> => {
    const { hash, bytes } = await content;
    contents.push(bytes);
    return hash;
  };
  const nests = Object.values(sealed.plan.resources).some(({ nested }) => nested);
  const sources = nests ? await named(sharedContentOf(sourcesOf(environment, files))) : undefined;
  const plan = { ...withDigests(sealed.plan), ...(sources !== undefined && { sources }) };
  const answer = {
    plan: await named(contentOf(plan)),
    template: await named(sharedContentOf(compiled.template)),
    environment: await named(sharedContentOf(environment)),
    files: filesHash ?? (await named(contentOf(files))),
    ...(sources !== undefined && { sources }),
    description: plan.description,
    resource_count: Object.keys(plan.resources).length,
    ...(compiled.warnings.length > 0 && { warnings: asJson(compiled.warnings) }),
    ...operatorResourcesOf(plan),
  };
  return { answer, contents, environment };
}

const operatorTypes: ReadonlySet<string> = new Set(keystoneTypes.map(({ type }) => type));

function operatorResourcesOf({ resources }: Plan): { operator_resources?: Record<string, string> } {
  const found = Object.entries(resources).filter(([, { type }]) => operatorTypes.has(type));
  return found.length === 0
    ? {}
    : { operator_resources: Object.fromEntries(found.map(([name, { type }]) => [name, type])) };
}

export function validateTemplate(parameters: CompileParameters & { showNested: boolean }): JsonObject {
  const validated = validate(parameters);
  if ('mistakes' in validated) throw refused(validated.mistakes);
  const { answer, warnings } = validated;
  return warnings.length > 0 ? { ...answer, Warnings: asJson(warnings) } : answer;
}

/** The mistakes, the parameters and the order of work of a template that may be unfinished. */
export function checkTemplate(parameters: CompileParameters): TemplateCheck & JsonObject {
  const checked = validate(parameters);
  if ('mistakes' in checked) {
    const nothing = { warnings: [], description: '', parameters: {}, parameter_groups: null, outline: null };
    return { mistakes: asJson(checked.mistakes), ...nothing };
  }
  const { answer, warnings, plan } = checked;
  return {
    mistakes: [],
    warnings: asJson(warnings),
    description: plan.description,
    parameters: answer['Parameters'] as Record<string, JsonObject>,
    parameter_groups: answer['ParameterGroups'] ?? null,
    outline: outline(plan) as Outline & TemplateCheck['outline'] & JsonObject,
  };
}

const asJson = (warnings: readonly Mistake[]): Mistake[] & Json =>
  warnings.map((each) => ({ ...each })) as Mistake[] & Json;

/** Uses the first mistake as the message, because old clients show only the message. */
function refused(mistakes: readonly Mistake[]): AnnealError {
  const [first] = mistakes;
  const more = mistakes.length - 1;
  const message = `${first?.message ?? 'The template is not valid.'}${more > 0 ? ` (and ${more} more)` : ''}`;
  return new AnnealError('InvalidTemplate', message, { mistakes });
}

function sealHidden({
  plan,
  environment,
  hiddenInside,
  secrets,
}: {
  plan: Plan;
  environment: JsonObject;
  hiddenInside: ReadonlySet<string>;
  secrets: Secrets;
}): { plan: Plan; environment: JsonObject } {
  const own = Object.entries(plan.parameters).flatMap(([name, parameter]) => (parameter.hidden ? [name] : []));
  const hidden = new Set([...own, ...hiddenInside]);
  const parameters = Object.fromEntries(
    Object.entries(plan.parameters).map(([name, parameter]): [string, PlanParameter] => [
      name,
      { ...parameter, value: parameter.hidden ? secrets.seal(parameter.value) : secrets.fromOutside(parameter.value) },
    ]),
  );
  return { plan: { ...plan, parameters }, environment: sealedEnvironment(environment, { hidden, secrets }) };
}

const sealedBy = new WeakMap<JsonObject, Map<string, JsonObject>>();

/** The same object for the same environment and hidden names, so that stacks share it. */
function sealedEnvironment(
  environment: JsonObject,
  { hidden, secrets }: { hidden: ReadonlySet<string>; secrets: Secrets },
): JsonObject {
  const held = new Set(
    [environment['parameters'], environment['parameter_defaults']].flatMap((each) => Object.keys(each ?? {})),
  );
  const names = [...held].filter((name) => hidden.has(name)).join('\n');
  const known = sealedBy.get(environment) ?? new Map<string, JsonObject>();
  sealedBy.set(environment, known);
  const before = known.get(names);
  if (before) return before;
  const sealed = replaceHidden(
    secrets.fromOutside(environment),
    (name) => hidden.has(name),
    (value) => secrets.seal(secrets.open(value)),
  );
  known.set(names, sealed);
  return sealed;
}
