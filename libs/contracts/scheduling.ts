/** Questions to the scheduling service. Those that change a stack are forwarded to the stack's shard, which answers. */
import { z } from 'zod';
import { call, message } from './define.ts';
import { failureSchema } from './errors.ts';
import { json, jsonObject } from './json.ts';
import { driftSchema, leafFailureSchema } from './resource.ts';

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
/** What becomes of a create or an update that fails: it stays so, goes back to what was last complete, or waits for a word. */
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
  /** Ids of the stacks around a nested one; a stack of its own is its own root. */
  parent: z.string().nullable(),
  parent_resource: z.string().nullable(),
  root: z.string(),
  depth: z.number().int(),
  /** The traversal that is running or ran last. */
  traversal: z.string(),
  version: z.number().int(),
  template: z.string(),
  environment: z.string(),
  files: z.string(),
  plan: z.string(),
  conditions: z.array(conditionSchema),
  parameters: z.record(z.string(), json),
  /** Only when asked for. What could show a secret is sealed. */
  outputs: z
    .array(z.object({ key: z.string(), description: z.string(), value: json, error: z.string().optional() }))
    .optional(),
  /** Leaves that failed, the first cause first. */
  failures: z.array(leafFailureSchema),
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
  /** When the action that is running, or ran last, began and ended. */
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
  description: z.string(),
  version: z.number().int(),
  conditions: z.array(conditionSchema),
  attributes: jsonObject.optional(),
  properties: jsonObject.optional(),
  metadata: jsonObject.optional(),
  failure: failureSchema.optional(),
  /** What the last check found to differ from what was applied. */
  drift: z.array(driftSchema).optional(),
  /** The stack that it is made as, if it is one. */
  nested_stack: z.object({ id: z.string(), name: z.string() }).optional(),
  /** Of a resource in a nested stack: the resource around it. */
  parent_resource: z.string().optional(),
  /** Where it waits for someone outside. */
  hook: z
    .object({
      name: z.string(),
      since: z.iso.datetime(),
      kind: z.enum(['hook', 'lifecycle']),
      deadline: z.iso.datetime().nullable(),
    })
    .optional(),
});
export type ResourceView = z.infer<typeof resourceViewSchema>;

export const stackEventSchema = z.object({
  id: z.string(),
  stack_id: z.string(),
  stack_name: z.string(),
  /** Grows by one per stack. */
  sequence: z.number().int(),
  time: z.iso.datetime(),
  /** The stack's own name in events of the stack. */
  resource_name: z.string(),
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
  description: z.string(),
};

/** Which stack: by id, or by name among the live ones of the project. */
const which = z.object({ project: z.string(), stack: z.string() });

export const stackCreate = call('stack.create', 'Record a new stack and start its first traversal.', {
  question: z.object({
    /** Chosen by the asker, so that a repeat creates nothing new. */
    id: z.string(),
    name: z.string(),
    project: z.string(),
    owner: z.string(),
    timeout_minutes: z.number().int().positive().nullable(),
    on_failure: z.enum(failurePolicies),
    tags: z.array(z.string()),
    /** By resource: what is taken over instead of being created, in the form in which a stack is abandoned. */
    adopt: jsonObject.optional(),
    ...accepted,
  }),
  answer: stackViewSchema,
});

export const stackUpdate = call('stack.update', 'Start a traversal towards another plan.', {
  question: z.object({
    id: z.string(),
    project: z.string(),
    timeout_minutes: z.number().int().positive().nullable().optional(),
    on_failure: z.enum(failurePolicies).optional(),
    tags: z.array(z.string()).optional(),
    /** Look at what is really there first, and update what differs. */
    converge: z.boolean().optional(),
    /** The hash of a plan that was shown: refused when what it was made from has moved. */
    plan_hash: z.string().optional(),
    ...accepted,
  }),
  answer: stackViewSchema,
});

export const stackDelete = call('stack.delete', 'Start a traversal towards nothing. Accepted in every state.', {
  question: z.object({ id: z.string(), project: z.string() }),
  answer: stackViewSchema,
});

/** What can be asked of a stack besides create, update and delete. Each but the cancellation is a traversal. */
export const stackActSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('check') }),
  z.object({ kind: z.literal('suspend') }),
  z.object({ kind: z.literal('resume') }),
  /** Without rollback it stays as it stands, FAILED. */
  z.object({ kind: z.literal('cancel'), rollback: z.boolean() }),
  z.object({ kind: z.literal('rollback') }),
  /** What failed, once more. */
  z.object({ kind: z.literal('retry') }),
  z.object({ kind: z.literal('snapshot'), id: z.string(), name: z.string() }),
  z.object({ kind: z.literal('restore'), snapshot: z.string() }),
  /** Delete the stack, and leave everything that it made. */
  z.object({ kind: z.literal('abandon') }),
]);
export type StackAct = z.infer<typeof stackActSchema>;

export const stackAct = call('stack.act', 'Start another action of a stack.', {
  question: which.extend({ action: stackActSchema }),
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

export const resourceAct = call('resource.act', 'Say something about one resource of a stack.', {
  question: which.extend({ resource: z.string(), action: resourceActSchema }),
  answer: z.object({}),
});

export const snapshotSchema = z.object({
  id: z.string(),
  name: z.string(),
  stack_id: z.string(),
  status: z.enum(statuses),
  reason: z.string(),
  created_at: z.iso.datetime(),
  /** In the form in which a stack is abandoned; only when one is shown. */
  data: jsonObject.optional(),
});
export type Snapshot = z.infer<typeof snapshotSchema>;

export const snapshotList = call('snapshot.list', 'The snapshots of a stack.', {
  question: which,
  answer: z.object({ snapshots: z.array(snapshotSchema) }),
});
export const snapshotShow = call('snapshot.show', 'One snapshot.', {
  question: which.extend({ snapshot: z.string() }),
  answer: snapshotSchema,
});
export const snapshotDelete = call('snapshot.delete', 'Forget a snapshot.', {
  question: which.extend({ snapshot: z.string() }),
  answer: z.object({}),
});

export const stackExport = call('stack.export', 'A stack in the form in which it can be adopted again.', {
  question: which,
  answer: jsonObject,
});

/** One resource of a plan, as it would be after it is applied, and why. */
export const plannedChangeSchema = z.object({
  /** From the root of the stack: `a`, or `a.resources.b`. */
  resource: z.string(),
  type: z.string(),
  /** `maybe`: what is known only while it is applied decides. */
  change: z.enum([
    'unchanged',
    'update',
    'replace',
    'create',
    'delete',
    'maybe update',
    'maybe replace',
    'maybe create',
    'maybe delete',
  ]),
  /** Of a replacement. */
  order: z.enum(['create before delete', 'delete before create']).optional(),
  /** What its properties do not say: why it changes, or why not. */
  because: z.string().optional(),
  /** What differs; `known` is false where the new value comes from something that is yet to be made or changed. */
  properties: z.array(
    z.object({
      property: z.string(),
      before: json.optional(),
      after: json.optional(),
      known: z.boolean(),
      /** Its change takes a new resource. */
      replaces: z.boolean(),
    }),
  ),
  /** 1 is done first; what has the same number may be done at the same time. */
  step: z.number().int(),
});
export type PlannedChange = z.infer<typeof plannedChangeSchema>;

export const stackPreview = call('stack.preview', 'What an update would do; nothing is changed.', {
  /** Without `id`: what a new stack would be made of. */
  question: z.object({ id: z.string().optional(), project: z.string(), ...accepted }),
  answer: z.object({
    /** Of the stack as it is and of what it would become: an update with this hash is refused once either differs. */
    hash: z.string(),
    changes: z.array(plannedChangeSchema),
  }),
});

export const stackWhy = call('stack.why', 'Why nothing is happening: from the stack to what it waits for.', {
  question: which.extend({ resource: z.string().optional() }),
  answer: z.object({
    /** One sentence. */
    summary: z.string(),
    /** From the outermost to the cause. */
    chain: z.array(
      z.object({ object: z.string(), state: z.string(), reason: z.string(), since: z.string().nullable() }),
    ),
    /** What can be done about it. */
    exits: z.array(z.string()),
  }),
});

export const stackShow = call('stack.show', 'One stack.', {
  question: which.extend({ outputs: z.boolean() }),
  answer: stackViewSchema,
});

export const stackList = call('stack.list', 'Stacks of a project, newest first.', {
  question: z.object({
    project: z.string(),
    limit: z.number().int().positive().max(1000).optional(),
    /** The id of the last stack of the page before. */
    marker: z.string().optional(),
    names: z.array(z.string()).optional(),
    ids: z.array(z.string()).optional(),
    /** E.g. CREATE_COMPLETE, or COMPLETE. */
    states: z.array(z.string()).optional(),
    deleted: z.boolean().optional(),
    /** Nested stacks too. */
    nested: z.boolean().optional(),
  }),
  answer: z.object({ stacks: z.array(stackViewSchema) }),
});

export const stackResources = call('stack.resources', 'The resources of a stack.', {
  question: which.extend({
    name: z.string().optional(),
    detail: z.boolean(),
    /** How many levels of nested stacks to go down; 0 is none. */
    nested_depth: z.number().int().nonnegative().optional(),
  }),
  answer: z.object({ stack: stackViewSchema, resources: z.array(resourceViewSchema) }),
});

export const stackEvents = call('stack.events', 'The events of a stack, in order of their sequence.', {
  question: which.extend({
    /** Exclusive: the id of the last event seen. An unknown one is ignored. */
    marker: z.string().optional(),
    limit: z.number().int().positive().max(1000).optional(),
    descending: z.boolean(),
    resource: z.string().optional(),
    nested_depth: z.number().int().nonnegative().optional(),
  }),
  answer: z.object({ stack: stackViewSchema, events: z.array(stackEventSchema) }),
});

export const stackSignal = call('stack.signal', 'Hand a signal to a resource.', {
  question: which.extend({
    resource: z.string(),
    /** Only to this incarnation of the resource; a replacement has another id. */
    resource_id: z.string().optional(),
    signal: json,
  }),
  answer: z.object({}),
});

export const timerFired = message(
  'timer.fired',
  'A durable timer of a stack came due.',
  z.object({
    stack_id: z.string(),
    /** What was waited for, e.g. `deadline` or `resource:<id>`. */
    timer: z.string(),
    /** The traversal it was set in; an older one is ignored. */
    traversal: z.string(),
  }),
);

export const groupAdjust = message(
  'group.adjust',
  'A policy asks a group that scales for another size. Nothing happens while the group is busy, cools down, or has that size.',
  z.object({
    /** The group's nested stack. */
    stack_id: z.string(),
    policy: z.string(),
    adjustment_type: z.enum(['change_in_capacity', 'exact_capacity', 'percent_change_in_capacity']),
    adjustment: z.number(),
    min_step: z.number().int().nonnegative().nullable(),
    /** In seconds; null is the group's own. */
    cooldown: z.number().nonnegative().nullable(),
  }),
);
