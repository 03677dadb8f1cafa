/** Questions about stacks. Those that change a stack are forwarded to the stack's shard, which answers. */
import { z } from 'zod';
import { call, message } from '../define.ts';
import { failureSchema } from '../failure.ts';
import { json, jsonObject } from '../json.ts';
import { occasionSchema } from '../origin.ts';
import { pageCounts, pageSchema } from '../page.ts';
import { leafFailureSchema } from '../resource.ts';
import { stackTimerSchema } from '../stack-timer.ts';

/** A hundred years. A later deadline has no date that every store and client can read. */
export const mostTimeoutMinutes = 100 * 366 * 24 * 60;

/** The actions of a stack, in Heat's words. */
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

/** The status of an action, in Heat's words. */
export const statuses = ['IN_PROGRESS', 'COMPLETE', 'FAILED'] as const;

/** The actions that the state of a resource names, in Heat's words. */
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

/** A fact about an object that holds for a time, as in Kubernetes. */
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
  finished_at: z.iso.datetime().nullable().optional().meta({
    description: 'When the last action ended. Null while one runs; absent when it is not known.',
  }),
  cancelled: z
    .boolean()
    .optional()
    .meta({ description: 'True when a client cancelled the last action. It is FAILED.' }),
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

/** An event of a stack or of one of its resources. */
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

/** The compiled template of a question, as hashes of contents. */
export const compiledFields = {
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
export const namedStack = z.object({ project: z.string(), stack: z.string() });

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
    ...compiledFields,
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
    ...compiledFields,
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
  question: namedStack.extend({ action: stackActSchema, occasion }),
  answer: stackViewSchema,
});

export const stackShow = call('stack.show', 'Read a stack.', {
  question: namedStack.extend({ outputs: z.boolean() }),
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

export const stackEvents = call('stack.events', 'List the events of a stack in the order of their sequence.', {
  question: namedStack.extend({
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
