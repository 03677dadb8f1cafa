/** Differences between a resource and its template. Apart, because the client loads it for every list of stacks. */
import { z } from 'zod';
import { json } from './json.ts';

/** A property whose real value differs from the applied one. */
export const driftSchema = z.object({ property: z.string(), expected: json, actual: json });
export type Drift = z.infer<typeof driftSchema>;
