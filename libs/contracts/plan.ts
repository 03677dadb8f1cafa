/**
 * A plan: a compiled template, as data. Reading it needs no side effect; it is stored by content hash and shared.
 * `libs/hot` makes it, `libs/convergence` and the scheduling service read it.
 */
import { z } from 'zod';
import { json, type Json } from './json.ts';

export const sourceSchema = z.object({
  file: z.string().optional(),
  line: z.number().int(),
  column: z.number().int(),
});
export type Source = z.infer<typeof sourceSchema>;

/**
 * An expression tree. A tree without a call in it is one `literal`, whatever its depth.
 * `call` names a function of the template language; its arguments are expressions.
 */
export type Expression =
  | { kind: 'literal'; value: Json }
  | { kind: 'list'; items: Expression[] }
  | { kind: 'map'; entries: { key: string; value: Expression }[] }
  | { kind: 'call'; function: string; arguments: Expression; source?: Source | undefined };

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

export const planParameterSchema = z.object({
  type: z.enum(['string', 'number', 'boolean', 'comma_delimited_list', 'json']),
  /** The resolved value; of a hidden parameter at rest, a sealed one (`runtime/secrets.ts`). */
  value: json,
  hidden: z.boolean(),
  immutable: z.boolean().optional(),
  description: z.string().optional(),
});
export type PlanParameter = z.infer<typeof planParameterSchema>;

/** Of a resource that is made as a stack of its own: what that stack is made of, besides the resource's properties. */
export const planNestedSchema = z.object({
  /**
   * `template`: a file, or a type that the registry maps to one. `group`: the template of its members follows from its
   * properties. `stack`: its template is one of its properties.
   */
  kind: z.enum(['template', 'group', 'stack']),
  /** The type as the template names it. The registry is asked for it again when the nested stack is compiled. */
  type: z.string(),
  /** Content hash of all templates, files and sections of the environment that reach it; when it differs, there is an update. */
  digest: z.string(),
  /** What the stack around it reads: `[attribute, …path]`, as far as it is written out. */
  reads: z.array(z.array(json)),
});
export type PlanNested = z.infer<typeof planNestedSchema>;

export const lifecycleHookSchema = z.object({
  transition: z.enum(['launching', 'terminating', 'updating']),
  /** In seconds. */
  heartbeat_timeout: z.number().positive(),
  global_timeout: z.number().positive().optional(),
  default_result: z.enum(['continue', 'abandon']),
});
export type LifecycleHook = z.infer<typeof lifecycleHookSchema>;

export const planResourceSchema = z.object({
  name: z.string(),
  /** What serves it: the registry is followed. Of a template: the type as the template around it names it. */
  type: z.string(),
  /** The type as the template names it, when the registry leads from it to another: what readers see. */
  written_type: z.string().optional(),
  /** One expression per property. Absent properties are absent here; defaults of the type are filled in when resolved. */
  properties: z.record(z.string(), expressionSchema),
  /** Names of the resources that this one requires: explicit and through get_resource/get_attr. Sorted. */
  requires: z.array(z.string()),
  metadata: expressionSchema.optional(),
  deletion_policy: z.enum(['Delete', 'Retain', 'Snapshot']).optional(),
  update_policy: expressionSchema.optional(),
  external_id: expressionSchema.optional(),
  description: z.string().optional(),
  nested: planNestedSchema.optional(),
  /** Where it waits for someone outside: `pre-create`, `post-update` …; globs of the environment applied. */
  hooks: z.array(z.string()).optional(),
  /** `update`, `replace`: what may not be done to it. */
  restricted_actions: z.array(z.string()).optional(),
  lifecycle_hooks: z.array(lifecycleHookSchema).optional(),
  /** What is there goes before its replacement is made; absent: afterwards. */
  replacement: z.literal('delete_first').optional(),
  /** Every update of its stack replaces it, though nothing differs; of a nested stack: goes into it, for what it holds. */
  renewed: z.literal(true).optional(),
  /** Of a preview: whether it is there depends on what is not known yet. */
  undecided: z.literal(true).optional(),
  /**
   * Content hash of this entry and of the parameters that it reads, where it stands in the template left out: while it is
   * the same, and what it requires is untouched, the resource need not be evaluated again.
   */
  digest: z.string().optional(),
  source: sourceSchema.optional(),
});
export type PlanResource = z.infer<typeof planResourceSchema>;

export const planOutputSchema = z.object({
  name: z.string(),
  value: expressionSchema,
  description: z.string().optional(),
  source: sourceSchema.optional(),
});
export type PlanOutput = z.infer<typeof planOutputSchema>;

/** How the members of a group are created or changed: at most `batch_size` at a time, the next batch after a pause. */
export const planRollingSchema = z.object({
  /** In the order in which they are worked on. */
  members: z.array(z.string()),
  batch_size: z.number().int().positive(),
  /** So many are left alone at any time. */
  min_in_service: z.number().int().nonnegative(),
  pause_seconds: z.number().nonnegative(),
  /** Made first so that enough stay in service, and gone at the end: they are in no later plan. */
  temporary: z.array(z.string()).optional(),
});
export type PlanRolling = z.infer<typeof planRollingSchema>;

export const planSchema = z.object({
  format: z.literal(1),
  /** The value of heat_template_version: functions differ between versions. */
  template_version: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), planParameterSchema),
  resources: z.record(z.string(), planResourceSchema),
  outputs: z.record(z.string(), planOutputSchema),
  rolling: planRollingSchema.optional(),
});
export type Plan = z.infer<typeof planSchema>;
