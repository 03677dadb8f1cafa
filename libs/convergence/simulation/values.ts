/**
 * The values of the small world. The output of a resource names the incarnation that it belongs to, and repeats what the
 * resource was given, so a check can tell whose value a reader has.
 */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, Plan } from '@anneal/contracts/plan.ts';
import { representative, type ResourceDocument } from '../documents.ts';

/** FNV-1a in two halves. */
export function shortHash(text: string): string {
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let index = 0; index < text.length; index += 1) {
    low = Math.imul(low ^ text.charCodeAt(index), 0x01000193);
    high = Math.imul(high ^ low, 0x85ebca6b);
  }
  return [low, high].map((half) => (half >>> 0).toString(36)).join('');
}

/** A short id that a trace can be read by: what it names, and a hash of the whole text. */
export function idFrom(text: string): string {
  const [, , what = ''] = text.split('\n');
  return `${what.replace(/^(\w+) (\w+).*$/s, '$2')}.${shortHash(text)}`;
}

/** The attributes of a resource with these properties. `drawn` is the random value of a resource that has one. */
export const outputOf = (id: string, properties: JsonObject, drawn?: Json): JsonObject => ({
  output: {
    of: id,
    value: properties['value'] ?? null,
    from: properties['from'] ?? null,
    ...(properties['hidden'] !== undefined && { hidden: properties['hidden'] }),
    ...(drawn !== undefined && { drawn }),
  },
});

/** The random value in the attributes of a resource. */
export function drawnIn({ output }: JsonObject): Json | undefined {
  return isObject(output) ? output['drawn'] : undefined;
}

/** The ids of the objects whose outputs are among the properties. */
export function usesOf({ from }: JsonObject): string[] {
  return (Array.isArray(from) ? from : []).flatMap((output) =>
    isObject(output) && typeof output['of'] === 'string' ? [output['of']] : [],
  );
}

/** The names of the resources whose outputs an expression lists. */
export const readBy = (expression: Expression | undefined): readonly string[] =>
  (expression?.kind === 'list' ? expression.items : []).flatMap((item) =>
    item.kind === 'call' && item.arguments.kind === 'literal' ? [item.arguments.value as string] : [],
  );

/** The outputs of a stack, as a reader sees them at any time. */
export function outputsOf({ outputs }: Pick<Plan, 'outputs'>, resources: Iterable<ResourceDocument>): JsonObject {
  const byName = Map.groupBy(resources, ({ name }) => name);
  const shown = (name: string): Json => representative(byName.get(name) ?? [])?.attributes['output'] ?? null;
  return Object.fromEntries(Object.values(outputs).map(({ name, value }) => [name, readBy(value).map(shown)]));
}
