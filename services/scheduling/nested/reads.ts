/**
 * What the stack around a nested one reads of it. The nested stack answers with its plain attributes and, for what a name
 * alone cannot say (`[group, attributes, x]`, `[nested, resource.x, y]`), with the answer to each read of the template.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceDocument } from '@anneal/convergence/documents.ts';

/**
 * The entry among the attributes of a nested stack that holds the reads. Other resources keep an attribute of this name as
 * it is; an output of this name is itself one of the reads.
 */
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
  resource: Showing,
  path: readonly Json[],
): { readonly value: Json; readonly rest: readonly Json[]; readonly problem?: string | undefined } | undefined {
  const reads = readsOf(resource);
  let best: Read | undefined;
  for (const read of reads) {
    if (read.path.length > path.length || (best && read.path.length <= best.path.length)) continue;
    if (read.path.every((step, index) => JSON.stringify(step) === JSON.stringify(path[index]))) best = read;
  }
  return best && { value: best.value, rest: path.slice(best.path.length), problem: best.problem };
}

type Showing = Pick<ResourceDocument, 'attributes' | 'nested'>;

export const readsOf = ({ attributes, nested }: Showing): readonly Read[] =>
  nested === null ? [] : ((attributes[readsKey] ?? []) as unknown as readonly Read[]);

export function withoutReads({ attributes, nested }: Showing): JsonObject {
  if (nested === null) return attributes;
  const { [readsKey]: _, ...rest } = attributes;
  return rest;
}
