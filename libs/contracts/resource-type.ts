/** A provider's description of the resource types that it serves: the schema language of Heat's plugins, as data. */
import { z } from 'zod';
import { json, type Json } from './json.ts';

/** The types of properties, in Heat's words. */
export const propertyTypes = ['String', 'Integer', 'Number', 'Boolean', 'Map', 'List', 'Any'] as const;
export type PropertyType = (typeof propertyTypes)[number];

const bounds = { min: z.number().optional(), max: z.number().optional() };
/** A constraint of a property. */
export const constraintSchema = z.object({
  length: z.object(bounds).optional(),
  range: z.object(bounds).optional(),
  modulo: z.object({ step: z.number(), offset: z.number() }).optional(),
  allowed_values: z.array(json).optional(),
  allowed_pattern: z.string().optional(),
  custom_constraint: z.string().optional(),
  description: z.string().optional(),
});
export type Constraint = z.infer<typeof constraintSchema>;

/** The schema of a property, as a provider announces it. */
export interface PropertySchema {
  type: PropertyType;
  description?: string | undefined;
  required?: boolean | undefined;
  default?: Json | undefined;
  /** May change without replacing the resource. */
  update_allowed?: boolean | undefined;
  /** May never change. */
  immutable?: boolean | undefined;
  constraints?: Constraint[] | undefined;
  /** For a Map: its keys. For a List: `{ '*': schema of an item }`. */
  schema?: Record<string, PropertySchema> | undefined;
}

/** The schema of a property, as a provider announces it. */
export const propertySchema: z.ZodType<PropertySchema> = z.lazy(() =>
  z.object({
    type: z.enum(propertyTypes),
    description: z.string().optional(),
    required: z.boolean().optional(),
    default: json.optional(),
    update_allowed: z.boolean().optional(),
    immutable: z.boolean().optional(),
    constraints: z.array(constraintSchema).optional(),
    schema: z.record(z.string(), propertySchema).optional(),
  }),
);

/** Where a type whose resources are stacks keeps the parts of the stack. */
export const stackTypeSchema = z.object({
  template: z.object({
    property: z.string(),
    holds: z.enum(['text', 'file']).meta({
      description:
        'The value of the property: the template itself, or the name of a file that was sent with the request.',
    }),
  }),
  parameters: z.string().meta({ description: 'The property with the parameters of the stack.' }),
  timeout: z.string().meta({ description: 'The property with the time limit of each action, in minutes.' }),
  outputs: z
    .enum(['map', 'each'])
    .meta({ description: 'Attributes that show the outputs: one map of all, or one `Outputs.<name>` for each.' }),
  root: z.boolean().meta({
    description:
      'True when the stack is the root of its own tree: the stack list shows it, and the tree around ends at it.',
  }),
});
export type StackType = z.infer<typeof stackTypeSchema>;

/** A type of resources, as a provider announces it. */
export const resourceTypeSchema = z.object({
  type: z.string().min(1).meta({ description: 'E.g. `OS::Heat::SoftwareDeployment`.' }),
  description: z.string().optional(),
  properties: z.record(z.string(), propertySchema),
  attributes: z.record(z.string(), z.object({ type: z.string().optional(), description: z.string().optional() })),
  open_attributes: z
    .boolean()
    .optional()
    .meta({ description: 'True when templates may read attributes that are not listed (outputs of a deployment).' }),
  open_properties: z
    .boolean()
    .optional()
    .meta({ description: 'True when any property is accepted unchecked (OS::Heat::None).' }),
  reference: z
    .string()
    .optional()
    .meta({ description: 'The value of `{get_resource}`: this attribute. Absent: the physical id.' }),
  actions: z
    .array(z.enum(['adopt', 'check', 'suspend', 'resume', 'snapshot', 'signal']))
    .optional()
    .meta({
      description:
        'Actions that its provider serves besides create, update and delete. `adopt`: a create that names the object to take over.',
    }),
  replacement: z.literal('delete_first').optional().meta({
    description:
      'Delete the original before the replacement is created. Absent: afterwards. An environment may override it.',
  }),
  renewed: z
    .literal(true)
    .optional()
    .meta({ description: 'Every update of its stack replaces it, even without a difference.' }),
  follows: z.array(z.string()).optional().meta({
    description:
      'Properties that follow the attributes which they read between updates, too: the provider gets a `resource.signal` with `{follows: {property: value}, sequence}`. Of two such signals under one fence the one with the higher sequence is the newer.',
  }),
  failed_update: z.literal('repair').optional().meta({
    description:
      'The next update repairs a resource whose update failed. Absent: it replaces the resource, because the effect of the failed update is unknown.',
  }),
  supersedes: z.literal(true).optional().meta({
    description:
      'A newer request for a resource replaces the one in flight: the provider stops the older work and answers only the newer request. A newer `create` may follow a `create`. Absent: the engine waits for the answer before it sends the next request.',
  }),
  cancels: z.literal(true).optional().meta({
    description:
      'The provider takes `resource.cancel`: it stops the work on the request with that fence and answers the request, as `failed` when the work was not complete. Absent: the engine never sends it.',
  }),
  withdraws: z.literal(true).optional().meta({
    description:
      'The provider takes `resource.withdraw`: it answers the request with that fence as `failed` when its work has not begun, and does nothing when it has. Absent: the engine never sends it.',
  }),
  queue: z
    .object({
      kind: z.string().min(1).meta({ description: 'Types with the same kind share their queues, and their provider.' }),
      property: z.string().meta({ description: 'The property whose value names the queue.' }),
    })
    .optional()
    .meta({
      description:
        'The provider works on the requests of a queue in the order of arrival. A request may come before those that its `after` lists are answered: the provider begins it when they have completed, and fails it when one fails. The physical id of such a resource is its id. Absent: the engine sends a request when all requirements are complete.',
    }),
  name_limit: z
    .int()
    .min(16)
    .max(255)
    .optional()
    .meta({ description: 'The most characters of a physical name. Absent: 255.' }),
  stack: stackTypeSchema.optional().meta({ description: 'The resource is a stack of its own, which the engine runs.' }),
  budget_seconds: z.number().positive().optional().meta({
    description: 'Seconds that one action of this type may take without progress before it counts as stalled.',
  }),
});
export type ResourceType = z.infer<typeof resourceTypeSchema>;
