/** Questions about workflows and their executions. The scheduling service answers them; those that change an execution go to its shard. */
import { z } from 'zod';
import { call } from '../define.ts';
import { json, jsonObject } from '../json.ts';
import { actorSchema, occasionSchema } from '../origin.ts';
import { executionStates, taskStates } from '../workflow.ts';

/** The resource type of the requests that start a sub-workflow. No template can name it. */
export const subWorkflowType = 'Anneal::Workflow::Execution';
/** The resource type of the requests that run an action. No template can name it. */
export const workflowActionType = 'Anneal::Workflow::Action';

/** Executions and their actions have ids with this beginning; stacks and resources have none. */
const executionPrefix = 'run-';
export const isExecutionId = (id: string): boolean => id.startsWith(executionPrefix);
export const executionIdFrom = (uuid: string): string => `${executionPrefix}${uuid}`;
/** The execution that an action belongs to. */
export const executionOfAction = (id: string): string => id.split('.').slice(0, -3).join('.');

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

export const executionViewSchema = z.object({
  id: z.string(),
  workflow: z.string(),
  project: z.string(),
  state: z.enum(executionStates),
  reason: z.string().nullable(),
  description: z.string(),
  input: jsonObject,
  output: json,
  root: z.string().meta({ description: 'The execution that the tree of sub-workflows began with.' }),
  parent: z.object({ execution_id: z.string(), task: z.string() }).nullable(),
  stack: z.object({ id: z.string(), name: z.string() }).nullable(),
  started_by: actorSchema,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
});
export type ExecutionView = z.infer<typeof executionViewSchema>;

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
  }),
  answer: z.object({ executions: z.array(executionViewSchema) }),
});
