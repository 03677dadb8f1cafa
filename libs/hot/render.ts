/**
 * What a template comes to: every parameter, condition, property and output worked out, with the attributes of the
 * resources given instead of made. What is not given is unknown and is marked so; nothing is guessed.
 */
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, PlanResource } from '@anneal/contracts/plan.ts';
import { type CompileParameters, compileFront, readFront } from './compile.ts';
import { evaluateParts, type Scope } from './evaluate.ts';
import { Mistakes } from './mistakes.ts';
import { isObject, toRecord } from './node.ts';
import { resolveProperties } from './properties.ts';
import { type Partial, unknown } from './unknown.ts';

/** Stands in the answer for a value that is not known, at its place: the rest of a list or a map is there. */
export const unknownMark = '$unknown';

/** The key under which the attributes of a resource hold what `get_resource` gives. */
const idKey = '__id__';

export interface RenderParameters extends CompileParameters {
  /** By resource, then by attribute; `__id__` is the reference id. */
  readonly attributes?: JsonObject;
}

export interface Rendered {
  readonly parameters: JsonObject;
  /** Null: not decided, since a parameter has no value. */
  readonly conditions: JsonObject;
  readonly resources: JsonObject;
  readonly outputs: JsonObject;
}

export function render(options: RenderParameters): { readonly rendered: Rendered } | { readonly mistakes: Mistake[] } {
  const mistakes = new Mistakes();
  const front = readFront({ ...options, mistakes, missingAllowed: false });
  const body = front && compileFront({ ...options, ...front, mistakes });
  if (mistakes.any || !front || !body) return { mistakes: mistakes.all() };
  const { plan, conditions } = body;
  const given = attributesOf(options.attributes);
  const scope: Scope = {
    templateVersion: plan.template_version,
    parameter: (name) => (Object.hasOwn(plan.parameters, name) ? plan.parameters[name]?.value : undefined),
    reference: (name) => given.get(name)?.[idKey],
    attribute: (name) => withoutId(given.get(name)),
    isKnown: (name, attribute) => Object.hasOwn(given.get(name) ?? {}, attribute),
  };
  const renderer = new Renderer({ scope, mistakes });
  const types = new Map(options.types.map((type) => [type.type, type]));
  const resources = Object.values(plan.resources).map((resource): [string, Json] => {
    const type = types.get(resource.type);
    const resolved = type && resolveProperties({ resource, type, scope });
    for (const { steps: _, ...mistake } of resolved?.mistakes ?? []) mistakes.add({ ...mistake, at: resource.source });
    return [resource.name, renderer.resource(resource, body.writtenTypes.get(resource.name), resolved?.all ?? {})];
  });
  const outputs = Object.values(plan.outputs).map((output): [string, Json] => [
    output.name,
    renderer.value(output.value, `outputs.${output.name}.value`),
  ]);
  if (mistakes.any) return { mistakes: mistakes.all() };
  const own = Object.entries(plan.parameters).filter(([name]) => front.schemas.has(name));
  return {
    rendered: {
      parameters: toRecord(own.map(([name, { value }]) => [name, value])),
      conditions,
      resources: toRecord(resources),
      outputs: toRecord(outputs),
    },
  };
}

function attributesOf(attributes: JsonObject = {}): Map<string, JsonObject> {
  return new Map(Object.entries(attributes).flatMap(([name, value]) => (isObject(value) ? [[name, value]] : [])));
}

function withoutId(attributes: JsonObject | undefined): JsonObject | undefined {
  return attributes && toRecord(Object.entries(attributes).filter(([name]) => name !== idKey));
}

class Renderer {
  readonly #scope: Scope;
  readonly #mistakes: Mistakes;

  constructor({ scope, mistakes }: { scope: Scope; mistakes: Mistakes }) {
    this.#scope = scope;
    this.#mistakes = mistakes;
  }

  resource(resource: PlanResource, written: string | undefined, resolved: Readonly<Record<string, Partial>>): Json {
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
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(marked);
  return toRecord(Object.entries(value).map(([key, item]) => [key, marked(item)]));
}
