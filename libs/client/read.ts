/** Reads an answer by its schema. A mismatch is a fault of the gateway; the error names the wrong place. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';

/**
 * The answer in its declared form.
 * @throws AnnealError Defect that names the wrong places
 */
export function read<T>(schema: z.ZodType<T>, body: unknown, what: string): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
  throw new AnnealError('Defect', `Could not ${what}: unexpected response from the gateway (${places.join('; ')}).`);
}

/** `{ "<key>": [...] }`, the form of every list. */
export function readList<T>(schema: z.ZodType<T>, key: string, body: unknown, what: string): T[] {
  return read(z.object({ [key]: z.array(schema) }), body, what)[key] ?? [];
}
