/** Reads an answer by its schema. A mismatch is a fault of the gateway; the error names the wrong place. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { safeParseExact } from '@anneal/contracts/exact-schema.ts';
import { z } from 'zod';

/**
 * The answer in its declared form.
 * @throws AnnealError Defect that names the wrong places
 */
export function read<T>(schema: z.ZodType<T>, body: unknown, what: string): T {
  const parsed = safeParseExact(schema, body);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
  throw new AnnealError('Defect', `Could not ${what}: unexpected response from the gateway (${places.join('; ')}).`);
}

/**
 * The rows of a list. Every list is an object with one field; `form` names it and has the schema of a row.
 * @throws AnnealError Defect that names the wrong places
 */
export function readList<T>(form: Readonly<Record<string, z.ZodType<T>>>, body: unknown, what: string): T[] {
  const lists = Object.entries(form).map(([field, row]) => [field, z.array(row)] as const);
  return Object.values(read(z.object(Object.fromEntries(lists)), body, what)).flat();
}
