/**
 * What the stack around a nested one reads of it. The nested stack answers with its plain attributes and, for what a name
 * alone cannot say (`[group, attributes, x]`, `[nested, resource.x, y]`), with the answer to each read of the template.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';

/** The entry among the attributes that holds the reads. No output can have this name and be read by it. */
export const readsKey = '$reads';

export interface Read {
  /** The attribute, and the path into it. */
  readonly path: readonly Json[];
  readonly value: Json;
  /** Why it gives nothing: the members do not have it. Said to whoever reads it. */
  readonly problem?: string;
}

/** What was answered to this very read, or to the beginning of it that the template had written out. */
export function findRead(
  attributes: JsonObject,
  path: readonly Json[],
): { readonly value: Json; readonly rest: readonly Json[]; readonly problem?: string | undefined } | undefined {
  const reads = readsOf(attributes);
  let best: Read | undefined;
  for (const read of reads) {
    if (read.path.length > path.length || (best && read.path.length <= best.path.length)) continue;
    if (read.path.every((step, index) => JSON.stringify(step) === JSON.stringify(path[index]))) best = read;
  }
  return best && { value: best.value, rest: path.slice(best.path.length), problem: best.problem };
}

export const readsOf = (attributes: JsonObject): readonly Read[] =>
  (attributes[readsKey] ?? []) as unknown as readonly Read[];

export function withoutReads(attributes: JsonObject): JsonObject {
  const { [readsKey]: _, ...rest } = attributes;
  return rest;
}
