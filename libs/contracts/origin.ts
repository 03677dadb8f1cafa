/**
 * The origin of an event: where its subject is, who acted, and why. Every event about stacks, resources, deployments,
 * groups, hosts and nodes carries it as `origin` in its data.
 */
import { z } from 'zod';

/** The kinds of actors. */
export const actorKinds = ['user', 'host', 'policy', 'alarm', 'schedule', 'workflow', 'hook', 'system'] as const;
/** The person or program that asked for something. */
export const actorSchema = z.object({
  kind: z.enum(actorKinds),
  id: z.string().meta({ description: 'Empty when the actor has no id.' }),
  name: z.string(),
});
export type Actor = z.infer<typeof actorSchema>;

/** The kinds of causes. */
export const causeKinds = [
  'request',
  'signal',
  'alarm',
  'schedule',
  'update',
  'replacement',
  'rollback',
  'timer',
  'failure',
  'system',
] as const;
/** The event or request that led to something. */
export const causeSchema = z.object({
  kind: z.enum(causeKinds),
  id: z.string().nullable().meta({ description: 'The id of the request or event that began it.' }),
  reason: z.string().nullable(),
});

/** The actor and the cause of what happens. */
const actorAndCause = { actor: actorSchema, cause: causeSchema };
/** The actor and the cause of a request. */
export const occasionSchema = z.object({
  ...actorAndCause,
  operator: z.string().optional().meta({
    description: 'The id of the user, when it acts with the role admin. Needed to change users, roles and projects.',
  }),
});
export type Occasion = z.infer<typeof occasionSchema>;

/** Where an object is. */
export const placeSchema = z.object({
  root: z
    .object({ stack_id: z.string(), stack_name: z.string() })
    .nullable()
    .meta({ description: 'The stack at the top of the tree; null for an object that belongs to no stack.' }),
  path: z.string().meta({
    description: 'The names of the resources from the root to the subject, as in `group/0/server`; "" for the root.',
  }),
  tags: z.array(z.string()).meta({ description: 'The tags of the root.' }),
});
export type TreePlace = z.infer<typeof placeSchema>;

/** The place, the actor and the cause of an event. */
export const originSchema = placeSchema.extend(actorAndCause);
export type Origin = z.infer<typeof originSchema>;

/** The place of an object that belongs to no stack. */
export const noPlace: TreePlace = { root: null, path: '', tags: [] };

const systemActor: Actor = { kind: 'system', id: '', name: 'anneal' };

/** An occasion without a request from outside. */
export const systemOccasion = (
  kind: Occasion['cause']['kind'] = 'system',
  { id = null, reason = null }: Partial<Pick<Occasion['cause'], 'id' | 'reason'>> = {},
): Occasion => ({ actor: systemActor, cause: { kind, id, reason } });

/** The origin of events of older versions, and of objects whose origin is not known. */
export const unknownOrigin = (): Origin => ({ ...noPlace, ...systemOccasion() });

/** The place of an object inside another one. */
export const placeWithin = (place: TreePlace, name: string): TreePlace => ({
  ...place,
  path: place.path === '' ? name : `${place.path}/${name}`,
});

/** How people write a place: `web/group/0/server`. Empty for a place in no stack. */
export const pathFrom = ({ root, path }: TreePlace): string =>
  root ? (path === '' ? root.stack_name : `${root.stack_name}/${path}`) : '';
