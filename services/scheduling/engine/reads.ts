/**
 * The values of a nested stack that the template around it reads. The nested stack answers with its plain attributes.
 * For reads that need more than a name (`[group, attributes, x]`, `[nested, resource.x, y]`), it adds the value of each
 * read.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { serversKey } from '../groups/member-events.ts';
import type { ResourceDocument } from '@anneal/convergence/documents.ts';

/**
 * The entry among the attributes of a nested stack that holds the reads. Other resources keep an attribute of this name
 * as it is; an output of this name is itself one of the reads.
 */
export const readsKey = '$reads';

export interface NestedRead {
  /** The attribute, and the path into it. */
  readonly path: readonly Json[];
  readonly value: Json;
  /** Why the read has no value: the members lack the attribute. Reported as the error of the expression. */
  readonly problem?: string;
}

/** The value of exactly this read, or of its longest beginning that the template contains. */
export function findRead(
  resource: Showing,
  path: readonly Json[],
): { readonly value: Json; readonly rest: readonly Json[]; readonly problem?: string | undefined } | undefined {
  const reads = readsOf(resource);
  let best: NestedRead | undefined;
  for (const read of reads) {
    if (read.path.length > path.length || (best && read.path.length <= best.path.length)) continue;
    if (read.path.every((step, index) => JSON.stringify(step) === JSON.stringify(path[index]))) best = read;
  }
  return best && { value: best.value, rest: path.slice(best.path.length), problem: best.problem };
}

type Showing = Pick<ResourceDocument, 'attributes' | 'nested'>;

export const readsOf = ({ attributes, nested }: Showing): readonly NestedRead[] =>
  nested === null ? [] : ((attributes[readsKey] ?? []) as unknown as readonly NestedRead[]);

export function withoutReads({ attributes, nested }: Showing): JsonObject {
  if (nested === null) return attributes;
  const { [readsKey]: _, [serversKey]: __, ...rest } = attributes;
  return rest;
}
