/** Questions to the scheduling service. Those that change a stack are forwarded to the stack's shard, which answers. */
import { z } from 'zod';
import { pageCounts, pageSchema } from '../page.ts';
import { call, message } from '../define.ts';
import { driftSchema } from '../drift.ts';
import { failureSchema } from '../failure.ts';
import { json, jsonObject } from '../json.ts';
import { occasionSchema } from '../origin.ts';
import { scalingOutcomeSchema } from './scaling.ts';
import { leafFailureSchema } from '../resource.ts';
import { stackTimerSchema } from '../stack-timer.ts';

/** A hundred years. A later deadline has no date that every store and client can read. */
export const mostTimeoutMinutes = 100 * 366 * 24 * 60;

export const stackActions = [
  'CREATE',
  'UPDATE',
  'DELETE',
  'ROLLBACK',
  'CHECK',
  'SUSPEND',
  'RESUME',
  'SNAPSHOT',
  'RESTORE',
  'ADOPT',
] as const;
export const statuses = ['IN_PROGRESS', 'COMPLETE', 'FAILED'] as const;
export const resourceStates = [
  'INIT',
  'CREATE',
  'UPDATE',
  'DELETE',
  'CHECK',
  'SUSPEND',
  'RESUME',
  'SNAPSHOT',
  'ADOPT',
] as const;
/**
 * Policy after a failed create or update: keep it, roll back to the last complete state, or wait for an operator
 * command.
 */
export const failurePolicies = ['keep', 'rollback', 'pause'] as const;
export type FailurePolicy = (typeof failurePolicies)[number];

export const conditionSchema = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  since: z.iso.datetime(),
});
export type Condition = z.infer<typeof conditionSchema>;

/** A stack as its readers see it. Hidden parameters are `******`. */
export const stackViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  owner: z.string(),
  description: z.string(),
  action: z.enum(stackActions),
  status: z.enum(statuses),
  reason: z.string(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime().nullable(),
  deleted_at: z.iso.datetime().nullable(),
  timeout_minutes: z.number().nullable(),
  on_failure: z.enum(failurePolicies),
  tags: z.array(z.string()),
  parent: z
    .string()
    .nullable()
    .meta({ description: 'Ids of the parent stacks of a nested stack; a stack without a parent is its own root.' }),
  parent_resource: z.string().nullable(),
  root: z.string(),
  depth: z.number().int(),
  traversal: z.string().meta({ description: 'The traversal that is running or ran last.' }),
  version: z.number().int(),
  template: z.string(),
  environment: z.string(),
  files: z.string(),
  plan: z.string(),
  conditions: z.array(conditionSchema),
  parameters: z
    .record(z.string(), json)
    .meta({ description: 'As the texts that Heat shows. Older services send the values.' }),
  group: z.boolean().optional().meta({
    description: 'True for the nested stack of a group, whose template is made from its properties.',
  }),
  outputs: z
    .array(z.object({ key: z.string(), description: z.string(), value: json, error: z.string().optional() }))
    .optional()
    .meta({ description: 'Only on request. Values that may show a secret are sealed.' }),
  failures: z.array(leafFailureSchema).meta({ description: 'Leaves that failed, the first cause first.' }),
});
export type StackView = z.infer<typeof stackViewSchema>;

export const resourceViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  type: z.string(),
  stack_id: z.string(),
  stack_name: z.string(),
  action: z.enum(resourceStates),
  status: z.enum(statuses),
  reason: z.string(),
  physical_id: z.string().nullable(),
  requires: z.array(z.string()),
  required_by: z.array(z.string()),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  started_at: z.iso
    .datetime()
    .nullable()
    .meta({ description: 'Start and end of the action that is running, or ran last.' }),
  finished_at: z.iso.datetime().nullable(),
  description: z.string(),
  version: z.number().int(),
  conditions: z.array(conditionSchema),
  attributes: jsonObject.optional(),
  properties: jsonObject.optional(),
  metadata: jsonObject.optional(),
  failure: failureSchema.optional(),
  drift: z
    .array(driftSchema)
    .optional()
    .meta({ description: 'Differences from the applied properties that the last check found.' }),
  nested_stack: z
    .object({ id: z.string(), name: z.string() })
    .optional()
    .meta({ description: 'The nested stack of this resource, if it has one.' }),
  parent_resource: z
    .string()
    .optional()
    .meta({ description: 'For a resource in a nested stack: the parent resource.' }),
  warm: z.literal(true).optional().meta({ description: 'It is complete, and waits in the warm pool of its group.' }),
  hook: z
    .object({
      name: z.string(),
      since: z.iso.datetime(),
      kind: z.enum(['hook', 'lifecycle']),
      deadline: z.iso.datetime().nullable(),
    })
    .optional()
    .meta({ description: 'The hook where it waits for an operator or another system.' }),
});
export type ResourceView = z.infer<typeof resourceViewSchema>;

export const stackEventSchema = z.object({
  id: z.string(),
  stack_id: z.string(),
  stack_name: z.string(),
  sequence: z.number().int().meta({ description: 'Grows by one per stack.' }),
  time: z.iso.datetime(),
  resource_name: z.string().meta({ description: "The stack's own name in events of the stack." }),
  resource_type: z.string(),
  physical_id: z.string().nullable(),
  action: z.string(),
  status: z.string(),
  reason: z.string(),
  failure: failureSchema.optional(),
});
export type StackEvent = z.infer<typeof stackEventSchema>;

const accepted = {
  plan: z.string(),
  template: z.string(),
  environment: z.string(),
  files: z.string(),
  sources: z.string().optional().meta({ description: 'See the plan.' }),
  description: z.string(),
};

/** The sender and its request. Absent: the sender does not say. */
const occasion = occasionSchema.optional();

/** Identifies a stack: by id, or by name among the live stacks of the project. */
const which = z.object({ project: z.string(), stack: z.string() });

export const stackCreate = call('stack.create', 'Record a new stack and start its first traversal.', {
  question: z.object({
    id: z.string().meta({ description: 'Chosen by the requester, so that a repeat creates nothing new.' }),
    name: z.string(),
    project: z.string(),
    owner: z.string(),
    timeout_minutes: z.number().int().positive().max(mostTimeoutMinutes).nullable(),
    on_failure: z.enum(failurePolicies),
    tags: z.array(z.string()),
    adopt: jsonObject.optional().meta({
      description: 'By resource: objects to take over instead of creating them, in the form of an abandoned stack.',
    }),
    occasion,
    ...accepted,
  }),
  answer: stackViewSchema,
});

export const stackUpdate = call('stack.update', 'Update a stack: start a traversal towards another plan.', {
  question: z.object({
    id: z.string(),
    project: z.string(),
    timeout_minutes: z.number().int().positive().max(mostTimeoutMinutes).nullable().optional(),
    on_failure: z.enum(failurePolicies).optional(),
    tags: z.array(z.string()).optional(),
    converge: z
      .boolean()
      .optional()
      .meta({ description: 'Check the real objects first, and update those that differ.' }),
    plan_hash: z.string().optional().meta({
      description: 'The hash of a plan that was shown. The update is refused when the basis of that plan has changed.',
    }),
    occasion,
    ...accepted,
  }),
  answer: stackViewSchema,
});

export const stackDelete = call(
  'stack.delete',
  'Delete a stack: start a traversal towards an empty plan. Accepted in every state.',
  {
    question: z.object({ id: z.string(), project: z.string(), occasion }),
    answer: stackViewSchema,
  },
);

/** Actions on a stack besides create, update and delete. All but the cancellation are traversals. */
export const stackActSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('check') }),
  z.object({ kind: z.literal('suspend') }),
  z.object({ kind: z.literal('resume') }),
  /** Without rollback the stack stays as it is, FAILED. */
  z.object({ kind: z.literal('cancel'), rollback: z.boolean() }),
  z.object({ kind: z.literal('rollback') }),
  /** Retry the parts that failed. */
  z.object({ kind: z.literal('retry') }),
  z.object({ kind: z.literal('snapshot'), id: z.string(), name: z.string() }),
  z.object({ kind: z.literal('restore'), snapshot: z.string() }),
  /** Delete the stack, and leave everything that it created. */
  z.object({ kind: z.literal('abandon') }),
]);
export type StackAct = z.infer<typeof stackActSchema>;

export const stackAct = call('stack.act', 'Start another action of a stack.', {
  question: which.extend({ action: stackActSchema, occasion }),
  answer: stackViewSchema,
});

export const resourceActSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('mark'), unhealthy: z.boolean(), reason: z.string().max(4096) }),
  /** Accept a failed resource as it is. */
  z.object({ kind: z.literal('skip') }),
  z.object({ kind: z.literal('clear hook'), hook: z.string() }),
  z.object({ kind: z.literal('heartbeat'), hook: z.string(), token: z.string() }),
  z.object({
    kind: z.literal('complete hook'),
    hook: z.string(),
    token: z.string(),
    result: z.enum(['continue', 'abandon']),
  }),
]);
export type ResourceAct = z.infer<typeof resourceActSchema>;

export const resourceAct = call('resource.act', 'Run an action on one resource of a stack.', {
  question: which.extend({ resource: z.string(), action: resourceActSchema, occasion }),
  answer: z.object({
    deadline: z.iso.datetime().optional().meta({ description: 'For a heartbeat: the new deadline of the wait.' }),
  }),
});

export const snapshotSchema = z.object({
  id: z.string(),
  name: z.string(),
  stack_id: z.string(),
  status: z.enum(statuses),
  reason: z.string(),
  created_at: z.iso.datetime(),
  data: jsonObject
    .optional()
    .meta({ description: 'In the form of an abandoned stack; only when one snapshot is shown.' }),
});
export type Snapshot = z.infer<typeof snapshotSchema>;

export const snapshotList = call('snapshot.list', 'List the snapshots of a stack.', {
  question: which,
  answer: z.object({ snapshots: z.array(snapshotSchema) }),
});
export const snapshotShow = call('snapshot.show', 'Read a snapshot.', {
  question: which.extend({ snapshot: z.string() }),
  answer: snapshotSchema,
});
export const snapshotDelete = call('snapshot.delete', 'Delete a snapshot.', {
  question: which.extend({ snapshot: z.string() }),
  answer: z.object({}),
});

const stackRevisionSchema = z.object({
  id: z.string(),
  at: z.iso.datetime().meta({ description: 'When the stack was last sent towards it.' }),
  action: z.enum(stackActions),
  status: z.enum(statuses).meta({ description: 'How that action ended, or that it has not.' }),
  reason: z.string(),
  is_current: z.boolean(),
  plan: z.string().meta({ description: 'Content hash of the plan. Equal plans have equal hashes.' }),
  occasion: occasionSchema
    .optional()
    .meta({ description: 'Who sent the stack towards it last, and why; absent in revisions of older versions.' }),
});
/** A state that an update sent a stack towards. */
export type StackRevision = z.infer<typeof stackRevisionSchema>;

export const stackRevisionList = call(
  'stack.revision.list',
  'List the stored revisions of a stack, the newest first.',
  {
    question: which,
    answer: z.object({ revisions: z.array(stackRevisionSchema) }),
  },
);
export const stackRevisionShow = call('stack.revision.show', 'Read a stored revision of a stack. Secrets are masked.', {
  question: which.extend({ revision: z.string() }),
  answer: stackRevisionSchema.extend({
    template: jsonObject,
    environment: jsonObject,
    files: jsonObject,
    parameters: jsonObject,
    contents: z
      .object({ template: z.string(), environment: z.string(), files: z.string() })
      .meta({ description: 'Content hashes, for an update that begins from it.' }),
  }),
});

export const stackExport = call('stack.export', 'Export a stack in the form that an adopt accepts.', {
  question: which,
  answer: jsonObject,
});

/** One resource of a plan: its change when the plan is applied, and the reason. */
export const plannedChangeSchema = z.object({
  resource: z.string().meta({ description: 'From the root of the stack: `a`, or `a.resources.b`.' }),
  type: z.string(),
  change: z
    .enum([
      'unchanged',
      'update',
      'replace',
      'create',
      'delete',
      'maybe update',
      'maybe replace',
      'maybe create',
      'maybe delete',
    ])
    .meta({ description: '`maybe`: depends on values that are known only while the plan is applied.' }),
  order: z
    .enum(['create before delete', 'delete before create'])
    .optional()
    .meta({ description: 'For a replacement.' }),
  because: z
    .string()
    .optional()
    .meta({ description: 'A reason that its properties do not show: why it changes, or why not.' }),
  properties: z
    .array(
      z.object({
        property: z.string(),
        before: json.optional(),
        after: json.optional(),
        known: z.boolean(),
        replaces: z.boolean().meta({ description: 'Changing it requires a new resource.' }),
      }),
    )
    .meta({
      description:
        'The differences; `known` is false where the new value comes from a resource that is not created or changed yet.',
    }),
  required_by: z
    .array(z.string())
    .optional()
    .meta({ description: 'For a new resource: those of the same stack that need it. Older services send none.' }),
  step: z
    .number()
    .int()
    .meta({ description: '1 is done first; changes with the same number may be done at the same time.' }),
});
export type PlannedChange = z.infer<typeof plannedChangeSchema>;

export const stackPreview = call('stack.preview', 'Plan an update; read-only.', {
  question: z
    .object({ id: z.string().optional(), project: z.string(), ...accepted })
    .meta({ description: 'Without `id`: the contents of a new stack.' }),
  answer: z.object({
    hash: z.string().meta({
      description:
        'Hash of the current stack and of the new one: an update with this hash is refused once either differs.',
    }),
    changes: z.array(plannedChangeSchema),
    parameters: jsonObject
      .optional()
      .meta({ description: 'The parameters as texts, with hidden ones masked. Older services send none.' }),
  }),
});

/** The most stacks that an explanation names as idle, the outermost first. */
export const mostIdle = 1000;
export const stackWhy = call(
  'stack.why',
  'Explain why a stack or resource makes no progress: the chain from the stack to the cause of the wait.',
  {
    question: which.extend({ resource: z.string().optional() }),
    answer: z.object({
      summary: z.string().meta({ description: 'One sentence.' }),
      chain: z
        .array(z.object({ object: z.string(), state: z.string(), reason: z.string(), since: z.string().nullable() }))
        .meta({ description: 'From the outermost to the cause.' }),
      exits: z.array(z.string()).meta({ description: 'The steps that an operator can take.' }),
      request: z
        .object({
          stack_id: z.string(),
          resource: z.string(),
          queue: z.string(),
          resource_id: z.string().optional().meta({ description: 'The id by which the provider knows the resource.' }),
        })
        .optional()
        .meta({
          description: 'The request at the end of the chain that a provider works on, and the queue of the provider.',
        }),
      idle_stacks: z.array(z.string()).max(mostIdle).optional().meta({
        description: 'The ids of the idle stack and of the stacks nested in it, whose hosts may have died since.',
      }),
      idle_resource: z.string().optional().meta({
        description: 'The name of the idle resource of the one idle stack, when only its host matters.',
      }),
    }),
  },
);

export const attentionSchema = z.object({
  id: z.string(),
  name: z.string(),
  action: z.enum(stackActions),
  status: z.enum(statuses),
  paused: z.boolean().meta({ description: 'Whether it stands still after a failure until an operator decides.' }),
  since: z.iso.datetime(),
  why: stackWhy.answer,
});
/** A stack that works, has failed or waits, and why. */
export type StackAttention = z.infer<typeof attentionSchema>;

export const stackOverview = call(
  'stack.overview',
  'Count the stacks of a project by state, and explain those that work or have failed. Nested stacks are not counted.',
  {
    question: z.object({
      project: z.string(),
      most: z.number().int().positive().max(100).meta({ description: 'The most stacks that each list explains.' }),
    }),
    answer: z.object({
      counts: z.record(z.string(), z.number().int()).meta({ description: 'E.g. `{"CREATE_COMPLETE": 12}`.' }),
      working: z.array(attentionSchema).meta({ description: 'Stacks in progress, the longest first.' }),
      failed: z.array(attentionSchema).meta({ description: 'Failed and paused stacks, the latest first.' }),
      working_count: z.number().int().optional(),
      failed_count: z.number().int().optional(),
    }),
  },
);

export const stackShow = call('stack.show', 'Read a stack.', {
  question: which.extend({ outputs: z.boolean() }),
  answer: stackViewSchema,
});

export const stackList = call('stack.list', 'List the stacks of a project, newest first.', {
  question: z.object({
    project: z.string(),
    limit: z.number().int().positive().max(1000).optional(),
    marker: z.string().optional().meta({ description: 'The id of the last stack of the page before.' }),
    names: z.array(z.string()).optional(),
    ids: z.array(z.string()).optional(),
    states: z.array(z.string()).optional().meta({ description: 'E.g. CREATE_COMPLETE, or COMPLETE.' }),
    deleted: z.boolean().optional(),
    nested: z.boolean().optional().meta({ description: 'Include nested stacks.' }),
    all_projects: z
      .boolean()
      .optional()
      .meta({ description: 'List the stacks of every project. The caller must be an operator.' }),
    page: pageSchema.optional().meta({
      description:
        'A page of the stacks of the project that exist and are not nested, instead of the conditions above.',
    }),
  }),
  answer: z.object({
    ...pageCounts,
    stacks: z.array(stackViewSchema).meta({ description: 'Without their parameters, which cost a read for each.' }),
  }),
});

export const stackResources = call('stack.resources', 'List the resources of a stack.', {
  question: which.extend({
    name: z.string().optional(),
    detail: z.boolean(),
    sealed: z.boolean().optional().meta({ description: 'Leave secret attributes sealed instead of masking them.' }),
    nested_depth: z
      .number()
      .int()
      .nonnegative()
      .optional()
      .meta({ description: 'How many levels of nested stacks to include; 0 for none.' }),
    page: pageSchema.optional().meta({ description: 'A page in the order of the tree, without attributes.' }),
  }),
  answer: z.object({
    stack: stackViewSchema,
    resources: z.array(resourceViewSchema),
    ...pageCounts,
    paths: z.array(z.string()).optional().meta({ description: 'With a page: the path of each resource in the tree.' }),
    states: z
      .record(z.string(), z.number().int())
      .optional()
      .meta({ description: 'With a page: how many resources are in each state.' }),
  }),
});

export const stackEvents = call('stack.events', 'List the events of a stack in the order of their sequence.', {
  question: which.extend({
    marker: z
      .string()
      .optional()
      .meta({ description: 'Exclusive: the id of the last event seen. An unknown one is ignored.' }),
    limit: z.number().int().positive().max(1000).optional(),
    descending: z.boolean(),
    resource: z.string().optional(),
    nested_depth: z.number().int().nonnegative().optional(),
  }),
  answer: z.object({ stack: stackViewSchema, events: z.array(stackEventSchema) }),
});

export const stackSignal = call('stack.signal', 'Send a signal to a resource.', {
  question: which.extend({
    resource: z.string(),
    resource_id: z
      .string()
      .optional()
      .meta({ description: 'Limits the signal to this incarnation of the resource; a replacement has another id.' }),
    signal: json,
    occasion,
  }),
  answer: z.object({
    scaling: scalingOutcomeSchema
      .optional()
      .meta({ description: 'Only for a scaling policy: whether its group scales, or why not.' }),
  }),
});

export const timerFired = message(
  'timer.fired',
  'A durable timer of a stack came due.',
  z.object({
    stack_id: z.string(),
    timer: z.string().meta({ description: 'The name of the timer, which replicas of release 0.1.0 read.' }),
    due: stackTimerSchema.optional().meta({
      description: 'What the timer waits for. Absent in messages of replicas of release 0.1.0: then the name says it.',
    }),
    traversal: z.string().meta({ description: 'The traversal that set the timer; an older one is ignored.' }),
  }),
);
