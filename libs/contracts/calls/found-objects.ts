/** The objects of every kind whose names have the words of a search. */
import { z } from 'zod';

/** The kinds, in the order in which they are shown. */
export const objectKinds = [
  'stack',
  'group',
  'host',
  'node',
  'queue',
  'image',
  'workflow',
  'schedule',
  'subscription',
  'project',
  'user',
] as const;
export type ObjectKind = (typeof objectKinds)[number];

const foundObjectSchema = z.object({
  kind: z.enum(objectKinds),
  id: z.string(),
  name: z.string(),
  stack: z.string().optional().meta({ description: 'Of a group: the name of its root stack.' }),
});
/** An object that was found. */
export type FoundObject = z.infer<typeof foundObjectSchema>;

/** The objects that fit a search, by kind. */
export const foundObjectsSchema = z.object({
  objects: z.array(foundObjectSchema),
  unavailable: z.array(z.enum(objectKinds)).meta({ description: 'Kinds whose service did not answer.' }),
});
/** The objects that were found, of every kind. */
export type FoundObjects = z.infer<typeof foundObjectsSchema>;
