/**
 * Evaluates a template: every parameter, condition, property and output, with given attributes instead of created
 * resources. Values that are not given are marked as unknown, and are never guessed.
 */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, PlanResource } from '@anneal/contracts/plan.ts';
import { compileBody } from './compile.ts';
import type { CompileParameters } from './tree/compile-parameters.ts';
import { evaluateParts, type Scope } from './evaluate.ts';
import { readFront } from './tree/prepare.ts';
import { Mistakes } from './mistakes.ts';
import { withinWork, EvaluationWork } from './evaluate/work.ts';
import { isExact } from '@anneal/python/values/number.ts';
import { toRecord } from '@anneal/python/yaml/node.ts';
import { entriesOf } from '@anneal/python/values/record.ts';
import { resolveProperties } from './resources/properties.ts';
import type { Body } from './tree/tree.ts';
import { type PartialValue, unknown } from './evaluate/unknown.ts';

/** Marks an unknown value at its position. The rest of a list or a map is present. */
export const unknownMark = '$unknown';
/** Marks an output that cannot have a value, with the reason. */
export const errorMark = '$error';

/** A template, and the attributes that the real resources would have. */
export interface RenderParameters extends CompileParameters {
  /**
   * Attributes by resource. `__id__` is the reference id. For a template resource, `__resources__` holds the same for
   * the resources inside.
   */
  readonly attributes?: JsonObject;
}

/** The evaluated template. */
export interface Rendered {
  readonly parameters: JsonObject;
  /** Null: undecided, because a parameter has no value. */
  readonly conditions: JsonObject;
  readonly resources: JsonObject;
  readonly outputs: JsonObject;
}

/** Evaluates a template without a server. What depends on an absent attribute stays undecided. */
export function render({
  limits,
  work = new EvaluationWork(limits),
  ...given
}: RenderParameters): { readonly rendered: Rendered; readonly warnings: Mistake[] } | { readonly mistakes: Mistake[] } {
  const options = { ...given, work };
  const mistakes = new Mistakes();
  const rendered = withinWork(mistakes, () => {
    const front = readFront({ ...options, mistakes, missingAllowed: false });
    const body = front && compileBody({ ...options, front, mistakes });
    return body && !mistakes.any ? renderBody(body, mistakes) : undefined;
  });
  return rendered && !mistakes.any ? { rendered, warnings: mistakes.warnings() } : { mistakes: mistakes.all() };
}

function renderBody(body: Body, mistakes: Mistakes): Rendered {
  const { plan, conditions, scope, nested, schemas, types } = body;
  const renderer = new Renderer({ scope, mistakes });
  const resources = Object.values(plan.resources).map((resource): [string, Json] => {
    const { name, source } = resource;
    const type = types.get(name);
    const child = nested.get(name);
    const resolved =
      type && resolveProperties({ resource, type, scope, isTemplate: child !== undefined, absentAsNull: true });
    // With an external id Anneal creates nothing, so no property is required.
    const wrong = resource.external_id ? [] : (resolved?.mistakes ?? []);
    for (const { steps: _, ...mistake } of wrong) mistakes.add({ ...mistake, at: source });
    const shown = renderer.resource(resource, body.writtenTypes.get(name), resolved?.all ?? {});
    return [name, child ? { ...shown, nested: { ...renderBody(child.body, mistakes) } } : shown];
  });
  const outputs = Object.values(plan.outputs).map(({ name, value }): [string, Json] => [
    name,
    renderer.output(value, `outputs.${name}.value`),
  ]);
  const own = Object.keys(plan.parameters).filter((name) => schemas.has(name));
  return {
    parameters: toRecord(own.map((name) => [name, marked(scope.parameter(name) ?? null)])),
    conditions,
    resources: toRecord(resources),
    outputs: toRecord(outputs),
  };
}

class Renderer {
  readonly #scope: Scope;
  readonly #mistakes: Mistakes;

  constructor({ scope, mistakes }: { scope: Scope; mistakes: Mistakes }) {
    this.#scope = scope;
    this.#mistakes = mistakes;
  }

  resource(
    resource: PlanResource,
    written: string | undefined,
    resolved: Readonly<Record<string, PartialValue>>,
  ): JsonObject {
    const { name, type, properties, requires } = resource;
    const path = `resources.${name}`;
    const part = (key: 'metadata' | 'update_policy' | 'external_id'): JsonObject => {
      const expression = resource[key];
      return expression ? { [key]: this.value(expression, `${path}.${key}`) } : {};
    };
    // Separates the properties that the template sets from the defaults of the type.
    const [given, defaults] = [true, false].map((isGiven) =>
      toRecord(
        Object.entries(resolved)
          .filter(([key]) => Object.hasOwn(properties, key) === isGiven)
          .map(([key, value]) => [key, marked(value)]),
      ),
    );
    return {
      type: written ?? type,
      ...(written !== undefined && written !== type && { resolved_type: type }),
      properties: given ?? {},
      ...(Object.keys(defaults ?? {}).length > 0 && { defaults: defaults ?? {} }),
      ...part('metadata'),
      ...(requires.length > 0 && { depends_on: [...requires] }),
      ...(resource.deletion_policy && { deletion_policy: resource.deletion_policy }),
      ...part('update_policy'),
      ...part('external_id'),
      ...(resource.description !== undefined && { description: resource.description }),
    };
  }

  output(expression: Expression, path: string): Json {
    try {
      return marked(evaluateParts(expression, this.#scope, path));
    } catch (error) {
      if (!(error instanceof AnnealError)) throw error;
      return { [errorMark]: error.message };
    }
  }

  value(expression: Expression, path: string): Json {
    try {
      return marked(evaluateParts(expression, this.#scope, path));
    } catch (error) {
      if (!(error instanceof AnnealError)) throw error;
      for (const mistake of error.mistakes ?? []) {
        const { line, column, file } = mistake;
        const at = line === undefined || column === undefined ? undefined : { line, column, ...(file && { file }) };
        this.#mistakes.add({ ...mistake, at });
      }
      return null;
    }
  }
}

/** Puts the mark in place of every unknown value. */
function marked(value: PartialValue): Json {
  if (value === unknown) return { [unknownMark]: true };
  // Show an integer of twenty digits with all of them. In JSON a whole float equals the integer.
  if (isExact(value)) return Number.isSafeInteger(Number(value)) ? Number(value) : (value as Json);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(marked);
  return toRecord(entriesOf(value).map(([key, item]) => [key, marked(item)]));
}
