/** A workflow after its check: the form that executions run. `libs/hot/workflow` makes it from text. */
import { z } from 'zod';
import { json, jsonObject } from './json.ts';

/** Values that a transition or a task publishes. */
const publishSchema = z.object({ branch: jsonObject, global: jsonObject });

/** A link to a task or to an engine command. */
export const workflowLinkSchema = z.object({
  to: z.string().meta({ description: 'A task, or `noop`, `fail`, `succeed`, `pause`.' }),
  guard: z.string().nullable().meta({ description: 'Expression; the link is taken when it holds.' }),
  message: json.meta({ description: 'Text of `fail`, `succeed` or `pause`; may hold expressions.' }),
});
export type WorkflowLink = z.infer<typeof workflowLinkSchema>;

/** The consequences of a task's result. */
export const workflowClauseSchema = z.object({ publish: publishSchema, next: z.array(workflowLinkSchema) });
export type WorkflowClause = z.infer<typeof workflowClauseSchema>;

const inputSchema = z.array(z.object({ name: z.string(), required: z.boolean(), default: json }));

/** An action that calls another one with given inputs. A workflow holds a copy of each that its tasks call. */
export const adHocActionSchema = z.object({
  name: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  base: z.string().meta({ description: 'An action of the catalogue, or another ad hoc action.' }),
  base_input: json.meta({ description: 'The input of the base; `$` in expressions is the input of this action.' }),
  input: inputSchema,
  output: json.meta({ description: 'The result; `$` in expressions is the result of the base.' }),
  has_output: z.boolean().meta({ description: 'False: the result is that of the base.' }),
});
export type AdHocAction = z.infer<typeof adHocActionSchema>;

/** Values whose type is Json may hold expressions. */
export const workflowTaskSchema = z.object({
  name: z.string(),
  description: z.string(),
  action: z.string().nullable(),
  workflow: z.string().nullable(),
  through: z
    .array(adHocActionSchema)
    .optional()
    .meta({ description: 'The ad hoc actions, from that of the task to that which calls `action`.' }),
  input: json,
  publish: jsonObject,
  publish_on_error: jsonObject,
  publish_on_skip: jsonObject,
  on_success: workflowClauseSchema.nullable(),
  on_error: workflowClauseSchema.nullable(),
  on_complete: workflowClauseSchema.nullable(),
  on_skip: workflowClauseSchema.nullable(),
  requires: z.array(z.string()),
  join: z.union([z.literal('all'), z.number().int().positive()]).nullable(),
  with_items: z.array(z.object({ name: z.string(), list: json })),
  concurrency: json,
  retry: z
    .object({ count: json, delay: json, break_on: z.string().nullable(), continue_on: z.string().nullable() })
    .nullable(),
  wait_before: json,
  wait_after: json,
  timeout: json,
  pause_before: json,
  fail_on: json,
  keep_result: z.boolean(),
});
export type WorkflowTask = z.infer<typeof workflowTaskSchema>;

/** A workflow in its compiled form. */
export const workflowSpecSchema = z.object({
  name: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  type: z.enum(['direct', 'reverse']),
  input: inputSchema,
  vars: jsonObject,
  output: jsonObject.nullable().meta({ description: 'Null: all published values.' }),
  output_on_error: jsonObject.nullable(),
  tasks: z.array(workflowTaskSchema).meta({ description: 'In the order of the text.' }),
});
export type WorkflowSpec = z.infer<typeof workflowSpecSchema>;

/** States of an execution. */
export const executionStates = ['RUNNING', 'PAUSED', 'SUCCESS', 'ERROR', 'CANCELLED'] as const;
export type ExecutionState = (typeof executionStates)[number];
/** States of a task. */
export const taskStates = [
  'WAITING',
  'IDLE',
  'DELAYED',
  'RUNNING',
  'SUCCESS',
  'ERROR',
  'CANCELLED',
  'SKIPPED',
] as const;
export type TaskState = (typeof taskStates)[number];

/** Names in a clause that are no tasks. */
export const engineCommands = ['noop', 'fail', 'succeed', 'pause'] as const;
export type EngineCommand = (typeof engineCommands)[number];
