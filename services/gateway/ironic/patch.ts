/** Changes of objects in Ironic's API: each is a JSON Patch. */
import { nodePatchSchema, type NodePatch } from '@anneal/contracts/calls/nodes.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { patched, type PatchedFields } from '@anneal/contracts/json-patch.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { z } from 'zod';

/** The body of a change. */
export const patchBody = z.array(nodePatchSchema.element.strict()).max(100);

/** The fields after a patch. @throws AnnealError InvalidRequest that names each impossible operation. */
export function fieldsPatchedBy(
  patch: NodePatch,
  { what, before, ...allowed }: PatchedFields & { readonly what: string; readonly before: object },
): JsonObject {
  const { result, mistakes } = patched(before as JsonObject, patch, allowed);
  if (mistakes.length === 0) return result;
  const all = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `The ${what} cannot be changed in this way: ${all}`, { mistakes });
}
