/**
 * What a template comes to: every parameter, condition, property and output worked out, with the attributes of the
 * resources given instead of made. What is not given is unknown and is marked so; nothing is guessed.
 */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, PlanResource } from '@anneal/contracts/plan.ts';
import { compileBody, type CompileParameters } from './compile.ts';
import { evaluateParts, type Scope } from './evaluate.ts';
import { readFront } from './front.ts';
import { Mistakes } from './mistakes.ts';
import { withinWork, Work } from './work.ts';
import { isExact } from './number.ts';
import { toRecord } from './node.ts';
import { entriesOf } from './record.ts';
import { resolveProperties } from './properties.ts';
import type { Body } from './tree.ts';
import { type Partial, unknown } from './unknown.ts';

/** Stands in the answer for a value that is not known, at its place: the rest of a list or a map is there. */
export const unknownMark = '$unknown';

export interface RenderParameters extends CompileParameters {
  /**
   * By resource, then by attribute. `__id__` is the reference id; `__resources__`, of a template resource, has the same
   * for the resources inside.
   */
  readonly attributes?: JsonObject;
}

export interface Rendered {
  readonly parameters: JsonObject;
  /** Null: not decided, since a parameter has no value. */
  readonly conditions: JsonObject;
  readonly resources: JsonObject;
  readonly outputs: JsonObject;
}

export function render({
  work = new Work(),
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
    // With an external id nothing is created, so nothing is required.
    const wrong = resource.external_id ? [] : (resolved?.mistakes ?? []);
    for (const { steps: _, ...mistake } of wrong) mistakes.add({ ...mistake, at: source });
    const shown = renderer.resource(resource, body.writtenTypes.get(name), resolved?.all ?? {});
    return [name, child ? { ...shown, nested: { ...renderBody(child.body, mistakes) } } : shown];
  });
  const outputs = Object.values(plan.outputs).map((output): [string, Json] => [
    output.name,
    renderer.value(output.value, `outputs.${output.name}.value`),
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
    resolved: Readonly<Record<string, Partial>>,
  ): JsonObject {
    const { name, type, properties, requires } = resource;
    const path = `resources.${name}`;
    const part = (key: 'metadata' | 'update_policy' | 'external_id'): JsonObject => {
      const expression = resource[key];
      return expression ? { [key]: this.value(expression, `${path}.${key}`) } : {};
    };
    // What the template writes, and apart from it what the type fills in.
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

/** With the mark in the place of everything that is not known. */
function marked(value: Partial): Json {
  if (value === unknown) return { [unknownMark]: true };
  // An integer of twenty digits is shown with all of them; a whole float is no different in JSON.
  if (isExact(value)) return Number.isSafeInteger(Number(value)) ? Number(value) : (value as Json);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(marked);
  return toRecord(entriesOf(value).map(([key, item]) => [key, marked(item)]));
}
