/** Compiles and validates templates, stores the results by content hash, and seals hidden values. */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { writeJson } from '@anneal/contracts/slices/json-slices.ts';
import type { Plan, PlanParameter } from '@anneal/contracts/plan.ts';
import type { CompileAnswer, TemplateCheck } from '@anneal/contracts/calls/templating.ts';
import { compile, type CompileResult } from '@anneal/hot/compile.ts';
import type { CompileParameters } from '@anneal/hot/compile/parameters.ts';
import { withDigests } from '@anneal/hot/compile/entry-digest.ts';
import { compileNested, type CompileNested } from '@anneal/hot/nested/compile-nested.ts';
import { sourcesOf } from '@anneal/hot/nested/sources.ts';
import { keystoneTypes } from '@anneal/hot/types/openstack/keystone.ts';
import { outline, type Outline } from '@anneal/hot/tooling/outline.ts';
import { replaceHidden, validate } from '@anneal/hot/validate.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Sources } from './question.ts';

/** @throws AnnealError InvalidTemplate with every mistake; then nothing is stored. */
export async function compileAndStore(
  parameters: CompileParameters,
  { blobs, secrets }: Sources,
): Promise<CompileAnswer & JsonObject> {
  const { files = {} } = parameters;
  const compiled = compile(parameters);
  return keep(compiled, { files, put: async (store) => store(files) }, { blobs, secrets });
}

/** @throws AnnealError InvalidTemplate with every mistake; then nothing is stored. */
export async function compileNestedAndStore(
  parameters: CompileNested & { readonly filesHash: string },
  sources: Sources,
): Promise<CompileAnswer & JsonObject> {
  const { files, filesHash } = parameters;
  // The whole tree shares its files, which are in the store.
  return keep(compileNested(parameters), { files, put: async () => filesHash }, sources);
}

type Put = (value: unknown) => Promise<string>;

async function keep(
  compiled: CompileResult,
  { files, put: putFiles }: { files: Readonly<Record<string, string>>; put: (put: Put) => Promise<string> },
  { blobs, secrets }: Sources,
): Promise<CompileAnswer & JsonObject> {
  if ('mistakes' in compiled) throw refused(compiled.mistakes);
  const sealed = sealHidden({ ...compiled, secrets });
  const { environment } = sealed;
  // Readers read large JSON in slices when it was written in slices.
  const put: Put = async (value) => blobs.put(await writeJson(value));
  const nests = Object.values(sealed.plan.resources).some(({ nested }) => nested);
  const sources = nests ? await put(sourcesOf(environment, files)) : undefined;
  const plan = { ...withDigests(sealed.plan), ...(sources !== undefined && { sources }) };
  const [planHash, template, environmentHash, filesHash] = await Promise.all([
    put(plan),
    put(compiled.template),
    put(environment),
    putFiles(put),
  ]);
  return {
    plan: planHash,
    template,
    environment: environmentHash,
    files: filesHash,
    ...(sources !== undefined && { sources }),
    description: plan.description,
    resource_count: Object.keys(plan.resources).length,
    ...(compiled.warnings.length > 0 && { warnings: asJson(compiled.warnings) }),
    ...operatorResourcesOf(plan),
  };
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
  const sealedEnvironment = replaceHidden(
    secrets.fromOutside(environment),
    (name) => hidden.has(name),
    (value) => secrets.seal(secrets.open(value)),
  );
  return { plan: { ...plan, parameters }, environment: sealedEnvironment };
}
