/** Changes of a queue's metadata: a JSON patch over `/metadata/<key>` with add, replace and remove. Pure. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { json } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import { zaqarError } from '../wording.ts';

export const metadataPatchSchema = z
  .array(
    z.object({
      op: z.enum(['add', 'replace', 'remove']),
      path: z.string().regex(/^\/metadata\/[^/]+$/, { message: 'must be /metadata/<key>' }),
      value: json.optional(),
    }),
  )
  .max(100);

/** @throws AnnealError Conflict for a missing key. */
export function patchMetadata(before: JsonObject, patch: z.output<typeof metadataPatchSchema>): JsonObject {
  const after = new Map(Object.entries(before));
  for (const { op, path, value } of patch) {
    const key = path.slice('/metadata/'.length).replaceAll('~1', '/').replaceAll('~0', '~');
    if (op !== 'add' && !after.has(key)) {
      throw zaqarError('Conflict', 'Resource conflict', `Can't ${op} non-existent object ${key}.`);
    }
    if (op === 'remove') after.delete(key);
    else after.set(key, value ?? null);
  }
  return toRecord(after);
}
