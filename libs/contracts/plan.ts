/**
 * A plan: a compiled template, as data. It can be read without side effects; it is stored by content hash and shared.
 * `libs/hot` creates it; `libs/convergence` and the scheduling service read it.
 */
import { toRecord } from './ordered-map.ts';
import { z } from 'zod';
import { json, type Json, jsonObject, type JsonObject } from './json.ts';
import { stackSinkSchema } from './stack-sink.ts';

/** A place in a template. */
export const sourceSchema = z.object({
  file: z.string().optional(),
  line: z.number().int(),
  column: z.number().int(),
});
export type PlanSource = z.infer<typeof sourceSchema>;

/**
 * An expression tree. A tree that contains no call is one `literal`, however deep. `call` names a function of the
 * template language; its arguments are expressions.
 */
export type Expression =
  | { kind: 'literal'; value: Json }
  | { kind: 'list'; items: Expression[] }
  | { kind: 'map'; entries: { key: string; value: Expression }[] }
  | { kind: 'call'; function: string; arguments: Expression; source?: PlanSource | undefined };

/** An expression tree. */
export const expressionSchema: z.ZodType<Expression> = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('literal'), value: json }),
    z.object({ kind: z.literal('list'), items: z.array(expressionSchema) }),
    z.object({ kind: z.literal('map'), entries: z.array(z.object({ key: z.string(), value: expressionSchema })) }),
    z.object({
      kind: z.literal('call'),
      function: z.string(),
      arguments: expressionSchema,
      source: sourceSchema.optional(),
    }),
  ]),
);

/** A parameter of a plan, with its value. */
export const planParameterSchema = z.object({
  type: z.enum(['string', 'number', 'boolean', 'comma_delimited_list', 'json']),
  value: json.meta({
    description: 'The resolved value; for a stored hidden parameter, a sealed value (`runtime/secrets.ts`).',
  }),
  text: z.string().optional().meta({
    description:
      'The value as readers see it, where it cannot be written from the value: 1.0 and 1 are one number in JSON.',
  }),
  hidden: z.boolean(),
  immutable: z.boolean().optional(),
  description: z.string().optional(),
});
export type PlanParameter = z.infer<typeof planParameterSchema>;

/** The contents of a resource that is a nested stack, besides the resource's properties. */
export const replaceLostSchema = z.strictObject({
  after: z.number().nonnegative().meta({ description: 'Seconds of silence of the host, or of a fault of the node.' }),
  min_in_service: z.number().int().nonnegative().default(0).meta({
    description: 'The members that are never replaced at the same time as the others.',
  }),
  node_faults: z.boolean().default(false).meta({ description: 'Whether a fault of the node is a loss.' }),
});

/** The facts about a nested stack in a plan. */
export const planNestedSchema = z.object({
  kind: z.enum(['template', 'group', 'stack']).meta({
    description:
      '`template`: a file, or a type that the registry maps to one. `group`: the template of its members follows from its properties. `stack`: its template is one of its properties.',
  }),
  type: z.string().meta({
    description: 'The type as the template names it. The registry resolves it again when the nested stack is compiled.',
  }),
  digest: z.string().meta({
    description:
      'Hash of the file of its template, of the sections of the registry for resources in it, and of what the parent stack reads of it; a difference means an update.',
  }),
  reads: z
    .array(z.array(json))
    .meta({ description: 'The parts that the parent stack reads: `[attribute, …path]`, as far as they are literal.' }),
  replace_lost: replaceLostSchema.optional().meta({
    description: 'Only for a group that scales: which lost members it replaces, when the environment says so.',
  }),
});
export type PlanNested = z.infer<typeof planNestedSchema>;

/** A hook at which a member of a group waits. */
export const lifecycleHookSchema = z.object({
  transition: z.enum(['launching', 'terminating', 'updating']),
  heartbeat_timeout: z.number().positive().meta({ description: 'In seconds.' }),
  global_timeout: z.number().positive().optional(),
  default_result: z.enum(['continue', 'abandon']),
  metadata: jsonObject.optional().meta({ description: 'The event of a wait contains it unchanged.' }),
});
export type LifecycleHook = z.infer<typeof lifecycleHookSchema>;

/** A resource of a plan. */
export const planResourceSchema = z.object({
  name: z.string(),
  type: z.string().meta({
    description:
      'The type that serves it, after the registry. For a template: the type as the parent template names it.',
  }),
  written_type: z.string().optional().meta({
    description: 'The type as the template names it, when the registry maps it to another: the type that readers see.',
  }),
  properties: z.record(z.string(), expressionSchema).meta({
    description:
      'One expression per property. A property that the template omits is absent; its default is filled in when it is resolved.',
  }),
  requires: z.array(z.string()).meta({
    description: 'Names of the resources that this one requires: explicitly and through get_resource/get_attr. Sorted.',
  }),
  metadata: expressionSchema.optional(),
  deletion_policy: z.enum(['Delete', 'Retain', 'Snapshot']).optional(),
  update_policy: expressionSchema.optional(),
  external_id: expressionSchema.optional(),
  description: z.string().optional(),
  nested: planNestedSchema.optional(),
  hooks: z.array(z.string()).optional().meta({
    description:
      'Where it waits for an operator or another system: `pre-create`, `post-update` …; globs of the environment applied.',
  }),
  restricted_actions: z
    .array(z.string())
    .optional()
    .meta({ description: '`update`, `replace`: the actions that are forbidden on it.' }),
  lifecycle_hooks: z.array(lifecycleHookSchema).optional(),
  replace_lost: replaceLostSchema.optional().meta({
    description: 'Only for a server: when it is replaced after its machine died, when the environment says so.',
  }),
  replacement: z
    .literal('delete_first')
    .optional()
    .meta({ description: 'Delete the original before the replacement is created. Absent: delete it afterwards.' }),
  renewed: z.literal(true).optional().meta({
    description:
      'Every update of its stack replaces it, even without a difference. A nested stack is updated, for such resources in it.',
  }),
  undecided: z
    .literal(true)
    .optional()
    .meta({ description: 'In a preview: whether it exists depends on a value that is not known yet.' }),
  digest: z.string().optional().meta({
    description:
      'Content hash of this entry and of the parameters that it reads, without its position in the template. While it is the same, and the resources that it requires did not change, the resource need not be evaluated again.',
  }),
  source: sourceSchema.optional(),
});
export type PlanResource = z.infer<typeof planResourceSchema>;

/** An output of a plan. */
export const planOutputSchema = z.object({
  name: z.string(),
  value: expressionSchema,
  description: z.string().optional(),
  source: sourceSchema.optional(),
});
export type PlanOutput = z.infer<typeof planOutputSchema>;

/** How the members of a group are created or changed: at most `batch_size` at a time, the next batch after a pause. */
export const planRollingSchema = z.object({
  members: z.array(z.string()).meta({ description: 'In the order in which they are worked on.' }),
  batch_size: z.number().int().positive(),
  min_in_service: z
    .number()
    .int()
    .nonnegative()
    .meta({ description: 'The number of members that are left alone at any time.' }),
  pause_seconds: z.number().nonnegative(),
  temporary: z.array(z.string()).optional().meta({
    description:
      'Members that are created first so that enough stay in service, and deleted at the end. No later plan has them.',
  }),
});
export type PlanRolling = z.infer<typeof planRollingSchema>;

/** Names among those that a nested stack has used that are no single source: see `libs/hot/tree/sources.ts`. */
export const usedNames = {
  /** It is not known yet what the stack will read. */
  everything: 'everything',
  /** Every update renews a resource in it. */
  renewed: 'renewed',
} as const;

/** A compiled template. */
export const planSchema = z.object({
  format: z.literal(1),
  template_version: z
    .string()
    .meta({ description: 'The value of heat_template_version: functions differ between versions.' }),
  description: z.string(),
  parameters: z.record(z.string(), planParameterSchema),
  resources: z.record(z.string(), planResourceSchema),
  outputs: z.record(z.string(), planOutputSchema),
  rolling: planRollingSchema.optional(),
  event_sinks: z
    .array(stackSinkSchema)
    .optional()
    .meta({ description: 'Of the root stack: the queues that receive the events of the whole tree.' }),
  sources: z.string().optional().meta({
    description:
      'Content hash of the digests of the files, registry entries and defaults that its nested stacks can read.',
  }),
  passed: z.array(z.string()).optional().meta({
    description:
      'Of a nested stack: the parameters that its resource passes. Its stored environment has no parameters. Absent: it has them.',
  }),
  used: z.array(z.string()).optional().meta({
    description: 'Of a nested stack: the names of the sources that it was compiled from. Absent: not known.',
  }),
});
export type Plan = z.infer<typeof planSchema>;

/** A stored environment with the parameters of the stack: a nested stack has them only in its plan. */
export function withPassed(
  environment: JsonObject,
  { passed, parameters }: Pick<Plan, 'passed' | 'parameters'>,
): JsonObject {
  if (!passed || passed.length === 0) return environment;
  const given = passed.flatMap((name) => {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    return parameter ? [[name, parameter.value] as const] : [];
  });
  return { ...environment, parameters: toRecord(given) };
}
