/** Questions about workflows and their executions. The scheduling service answers them; those that change an execution go to its shard. */
import { z } from 'zod';
import { call } from '../define.ts';
import { mistakeSchema } from '../failure.ts';
import { json, jsonObject } from '../json.ts';
import { actorSchema, occasionSchema } from '../origin.ts';
import { executionStates, taskStates } from '../workflow.ts';

/** The resource type of the requests that start a sub-workflow. No template can name it. */
export const subWorkflowType = 'Anneal::Workflow::Execution';
/** The resource type of the requests that run an action. No template can name it. */
export const workflowActionType = 'Anneal::Workflow::Action';

/** Executions and their actions have ids with this beginning; stacks and resources have none. */
const executionPrefix = 'run-';
/** True for the id of an execution. */
export const isExecutionId = (id: string): boolean => id.startsWith(executionPrefix);
/** Makes the id of an execution. */
export const executionIdFrom = (uuid: string): string => `${executionPrefix}${uuid}`;
/** The execution that an action belongs to. */
export const executionOfAction = (id: string): string => id.split('.').slice(0, -3).join('.');

/** A workflow as readers see it. */
export const workflowViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  project: z.string(),
  description: z.string(),
  type: z.enum(['direct', 'reverse']),
  tags: z.array(z.string()),
  input: z.array(z.object({ name: z.string(), required: z.boolean(), default: json })),
  tasks: z.array(z.string()),
  definition: z.string().meta({ description: 'The text; empty for the workflow of a resource.' }),
  resource: z
    .string()
    .nullable()
    .meta({ description: 'The id of the resource of a stack that made it; null for one that a client made.' }),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export type WorkflowView = z.infer<typeof workflowViewSchema>;

/** An execution of a workflow as readers see it. */
export const executionViewSchema = z.object({
  id: z.string(),
  workflow: z.string(),
  project: z.string(),
  state: z.enum(executionStates),
  reason: z.string().nullable(),
  description: z.string(),
  input: jsonObject,
  output: json,
  globals: jsonObject.optional().meta({ description: 'The global values that its tasks have published.' }),
  root: z.string().meta({ description: 'The execution that the tree of sub-workflows began with.' }),
  parent: z.object({ execution_id: z.string(), task: z.string() }).nullable(),
  stack: z.object({ id: z.string(), name: z.string() }).nullable(),
  started_by: actorSchema,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
});
export type ExecutionView = z.infer<typeof executionViewSchema>;

/** A task of an execution. */
export const executionTaskSchema = z.object({
  id: z.string(),
  name: z.string(),
  state: z.enum(taskStates),
  reason: z.string().nullable(),
  calls: z.string().meta({ description: 'The action or workflow that it calls.' }),
  attempt: z.number().int(),
  items: z.object({ total: z.number().int(), ended: z.number().int() }),
  result: json,
  published: jsonObject,
  created_at: z.iso.datetime(),
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
});
export type ExecutionTaskView = z.infer<typeof executionTaskSchema>;

const named = z.object({ project: z.string(), workflow: z.string().meta({ description: 'Name or id.' }) });

export const workflowCreate = call('workflow.create', 'Store the workflows of a text.', {
  question: z.object({
    project: z.string(),
    text: z.string().max(1_048_576),
    replace: z
      .boolean()
      .meta({ description: 'Replace workflows of the same name. Running executions keep their own.' }),
  }),
  answer: z.object({ workflows: z.array(workflowViewSchema) }),
});
export const workflowList = call('workflow.list', 'List the workflows of a project by name.', {
  question: z.object({ project: z.string() }),
  answer: z.object({ workflows: z.array(workflowViewSchema) }),
});
export const workflowShow = call('workflow.show', 'Read a workflow.', { question: named, answer: workflowViewSchema });
export const workflowDelete = call('workflow.delete', 'Delete a workflow. Its executions stay.', {
  question: named,
  answer: z.object({}),
});

const actionNamed = z.object({ project: z.string(), action: z.string().meta({ description: 'Name or id.' }) });
/** An ad hoc action as readers see it. */
export const adHocActionViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  base: z.string(),
  input: z.array(z.object({ name: z.string(), required: z.boolean(), default: json })),
  definition: z.string().meta({ description: 'The text; empty for an action of a workbook.' }),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export type AdHocActionView = z.infer<typeof adHocActionViewSchema>;
export const adHocActionCreate = call('workflow_action.create', 'Store the ad hoc actions of a text.', {
  question: z.object({
    project: z.string(),
    text: z.string().max(1_048_576),
    replace: z
      .boolean()
      .meta({ description: 'Replace actions of the same name. Stored workflows keep the ones that they have.' }),
  }),
  answer: z.object({ actions: z.array(adHocActionViewSchema) }),
});
export const adHocActionList = call('workflow_action.list', 'List the ad hoc actions of a project by name.', {
  question: z.object({ project: z.string() }),
  answer: z.object({ actions: z.array(adHocActionViewSchema) }),
});
export const adHocActionDelete = call('workflow_action.delete', 'Delete an ad hoc action. Workflows keep it.', {
  question: actionNamed,
  answer: z.object({}),
});
export const workflowCheck = call('workflow.check', 'Name every mistake of a text, and store nothing.', {
  question: z.object({ project: z.string(), text: z.string().max(1_048_576), kind: z.enum(['workflows', 'actions']) }),
  answer: z.object({ mistakes: z.array(mistakeSchema) }),
});

/** An environment of executions. */
export const environmentViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  variables: jsonObject,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export type EnvironmentView = z.infer<typeof environmentViewSchema>;
const environmentNamed = z.object({ project: z.string(), name: z.string().min(1).max(255) });
export const environmentSet = call('workflow_environment.set', 'Create or change an environment of executions.', {
  question: environmentNamed.extend({
    verb: z.enum(['create', 'update']),
    description: z.string().max(1024).optional(),
    variables: jsonObject.optional(),
  }),
  answer: environmentViewSchema,
});
export const environmentList = call('workflow_environment.list', 'List the environments of a project by name.', {
  question: z.object({ project: z.string() }),
  answer: z.object({ environments: z.array(environmentViewSchema) }),
});
export const environmentShow = call('workflow_environment.show', 'Read an environment.', {
  question: environmentNamed,
  answer: environmentViewSchema,
});
export const environmentDelete = call('workflow_environment.delete', 'Delete an environment. Executions keep it.', {
  question: environmentNamed,
  answer: z.object({}),
});

export const executionStart = call('execution.start', 'Start an execution of a workflow.', {
  question: named.extend({
    id: z.string().meta({ description: 'Chosen by the requester, so that a repeat starts nothing new.' }),
    owner: z.string(),
    input: jsonObject,
    env: jsonObject.optional().meta({ description: 'Values of `env()`.' }),
    task_name: z.string().optional().meta({ description: 'The goal of a reverse workflow.' }),
    description: z.string().max(1024).optional(),
    source: z.string().optional().meta({ description: 'The id of the resource that starts it.' }),
    stack: z.object({ id: z.string(), name: z.string() }).optional(),
    occasion: occasionSchema.meta({ description: 'The program or person that starts it, and why.' }),
  }),
  answer: executionViewSchema,
});

/** An action on an execution. */
export const executionActSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('pause') }),
  z.object({ kind: z.literal('resume'), env: jsonObject.optional() }),
  z.object({ kind: z.literal('cancel'), reason: z.string().max(1024).optional() }),
  z.object({ kind: z.literal('rerun'), task: z.string(), failed_items_only: z.boolean() }),
  z.object({ kind: z.literal('skip'), task: z.string() }),
  z.object({ kind: z.literal('complete'), task: z.string(), state: z.enum(['SUCCESS', 'ERROR']), output: json }),
  z.object({ kind: z.literal('delete') }),
]);

const which = z.object({ project: z.string(), id: z.string() });

export const executionAct = call('execution.act', 'Pause, resume, cancel, repair or delete an execution.', {
  question: which.extend({ action: executionActSchema }),
  answer: executionViewSchema,
});
export const executionShow = call('execution.show', 'Read an execution and its tasks.', {
  question: which.extend({ tasks: z.boolean() }),
  answer: z.object({ execution: executionViewSchema, tasks: z.array(executionTaskSchema) }),
});
export const executionList = call('execution.list', 'List the executions of a project, the newest first.', {
  question: z.object({
    project: z.string(),
    limit: z.number().int().positive().max(1000),
    workflow: z.string().optional().meta({ description: 'Name.' }),
    source: z.string().optional().meta({ description: 'The id of the resource that started them.' }),
    root: z.string().optional().meta({ description: 'The execution whose sub-workflows are wanted, with itself.' }),
  }),
  answer: z.object({ executions: z.array(executionViewSchema) }),
});

/** An action of one attempt of a task. */
export const taskActionSchema = z.object({
  id: z.string(),
  state: z.enum(['IDLE', 'RUNNING', 'SUCCESS', 'ERROR']),
  result: json,
});
export type TaskActionView = z.infer<typeof taskActionSchema>;
export const taskActions = call('task.actions', 'List the actions of the last attempt of a task, in item order.', {
  question: which.extend({ task: z.string().meta({ description: 'The id of the run of a task.' }) }),
  answer: z.object({ actions: z.array(taskActionSchema) }),
});

const cronFields = {
  name: z.string(),
  project: z.string(),
  workflow: z.string(),
  input: jsonObject,
  params: jsonObject.meta({ description: '`env` and `task_name` of each execution.' }),
  pattern: z.string().nullable().meta({ description: 'Expression of cron with five fields, in UTC.' }),
};
/** A cron trigger as readers see it. */
export const cronTriggerViewSchema = z.object({
  id: z.string(),
  ...cronFields,
  workflow_id: z.string(),
  next_execution_time: z.iso.datetime().nullable().meta({ description: 'Null when it starts nothing more.' }),
  remaining_executions: z.number().int().nullable().meta({ description: 'Null: no limit.' }),
  resource: z
    .string()
    .nullable()
    .meta({ description: 'The id of the resource of a stack that made it; null for one that a client made.' }),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export type CronTriggerView = z.infer<typeof cronTriggerViewSchema>;

export const cronTriggerCreate = call('cron_trigger.create', 'Start a workflow at the times of a cron expression.', {
  question: z.object({
    ...cronFields,
    owner: z.string(),
    first_time: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'The first execution; later ones follow the pattern.' }),
    count: z.number().int().positive().nullable().meta({ description: 'The number of executions; null: no limit.' }),
  }),
  answer: cronTriggerViewSchema,
});
const namedTrigger = z.object({ project: z.string(), name: z.string().meta({ description: 'Name or id.' }) });
export const cronTriggerList = call('cron_trigger.list', 'List the cron triggers of a project by name.', {
  question: z.object({ project: z.string() }),
  answer: z.object({ cron_triggers: z.array(cronTriggerViewSchema) }),
});
export const cronTriggerShow = call('cron_trigger.show', 'Read a cron trigger.', {
  question: namedTrigger,
  answer: cronTriggerViewSchema,
});
export const cronTriggerDelete = call('cron_trigger.delete', 'Delete a cron trigger. Its executions stay.', {
  question: namedTrigger,
  answer: z.object({}),
});
