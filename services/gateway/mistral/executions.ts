/** The calls about executions, their tasks and actions for one request of Mistral's API. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { jsonObject, type JsonObject } from '@anneal/contracts/json.ts';
import {
  environmentShow,
  executionAct,
  executionIdFrom,
  executionList,
  executionShow,
  executionStart,
  isExecutionId,
  taskActions,
  type executionActSchema,
  type ExecutionTaskView,
  type ExecutionView,
  type TaskActionView,
} from '@anneal/contracts/calls/workflow.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import { occasionOf } from '../identity/occasion.ts';

const wrongMap = 'must be a map, or the JSON text of a map';
/** A map, or its JSON text. */
export const mapOrText = z
  .union([jsonObject.meta({ type: 'object' }), z.string()], wrongMap)
  .transform((given, context): JsonObject => {
    try {
      return typeof given === 'string' ? jsonObject.parse(parseExact(given)) : given;
    } catch {
      context.addIssue({ code: 'custom', message: wrongMap });
      return z.NEVER;
    }
  })
  .meta({ description: 'A map, or its JSON text.' });

/** Parameters of an execution. */
export const paramsSchema = z.strictObject({ env: jsonObject.exactOptional(), task_name: z.string().exactOptional() });
/** Parameters of a start, whose `env` may be the name of an environment. */
const startParamsSchema = paramsSchema.extend({ env: z.union([jsonObject, z.string().min(1)]).optional() });
/** The fields of parameters are read from their JSON text, too. */
export const paramsOrText = <T>(params: z.ZodType<T>) =>
  mapOrText
    .pipe(params as z.ZodType<T, JsonObject>)
    .meta({ description: 'A map with `env` and `task_name`, or its JSON text.' });

/** The fields that name a workflow. One of them is needed. */
export const workflowFields = {
  workflow_id: z.string().min(1).optional(),
  workflow_name: z.string().min(1).optional(),
};
type NamesWorkflow = z.output<z.ZodObject<typeof workflowFields>>;
/** The name or id of the workflow; empty when it has none, which the schema refuses. */
export const workflowOf = ({ workflow_name, workflow_id }: NamesWorkflow): string => workflow_name ?? workflow_id ?? '';
/** Refuses a body that names no workflow. */
export const needsWorkflow = [
  (body: NamesWorkflow): boolean => workflowOf(body) !== '',
  'workflow_name or workflow_id is required',
] as const;

/** The body of a start. */
export const executionStartSchema = z
  .strictObject({
    id: z.uuid().optional(),
    ...workflowFields,
    workflow_namespace: z.literal('').optional(),
    input: mapOrText.default({}),
    params: paramsOrText(startParamsSchema).default({}),
    description: z.string().max(1024).optional(),
  })
  .refine(...needsWorkflow);
/** The most executions that a list reads. */
const mostListed = 1000;

/** Calls about executions for one request. */
export class Executions {
  readonly #ask: Ask;
  readonly #request: FastifyRequest;
  readonly project: string;

  constructor(ask: Ask, request: FastifyRequest) {
    this.#ask = ask;
    this.#request = request;
    this.project = projectOf(request);
  }

  async start(id: string, wanted: z.output<typeof executionStartSchema>) {
    const { input, description } = wanted;
    const { env: given, task_name } = wanted.params;
    const { project } = this;
    const env =
      typeof given === 'string'
        ? (await this.#ask('scheduling', environmentShow, { project, data: { project, name: given } })).variables
        : given;
    const data = {
      id,
      project,
      owner: callerOf(this.#request).name,
      workflow: workflowOf(wanted),
      input,
      ...(env && { env }),
      ...(task_name !== undefined && { task_name }),
      ...(description !== undefined && { description }),
      occasion: occasionOf(this.#request),
    };
    return this.#ask('scheduling', executionStart, { project, data });
  }

  /** The newest executions; with `root`, those of one tree. */
  async list(root?: string): Promise<ExecutionView[]> {
    const { project } = this;
    const data = { project, limit: mostListed, ...(root !== undefined && { root }) };
    return (await this.#ask('scheduling', executionList, { project, data })).executions;
  }

  async actions(execution: string, task: string): Promise<TaskActionView[]> {
    const { project } = this;
    return (await this.#ask('scheduling', taskActions, { project, data: { project, id: execution, task } })).actions;
  }

  show(id: string, tasks = false) {
    const { project } = this;
    return this.#ask('scheduling', executionShow, { project, data: { project, id, tasks } });
  }

  act(id: string, action: z.infer<typeof executionActSchema>): Promise<ExecutionView> {
    const { project } = this;
    return this.#ask('scheduling', executionAct, { project, data: { project, id, action } });
  }

  /** A run of a task. @throws AnnealError NotFound */
  async task(id: string): Promise<{ execution: ExecutionView; task: ExecutionTaskView }> {
    const dot = id.lastIndexOf('.');
    if (dot < 1) throw new AnnealError('NotFound', `No task ${id}: the id of a task is \`<execution>.<number>\`.`);
    const { execution, tasks } = await this.show(id.slice(0, dot), true);
    const task = tasks.find((each) => each.id === id);
    if (!task) throw new AnnealError('NotFound', `The task ${id} does not exist in this project.`);
    return { execution, task };
  }
}

/** The id of an execution. A client that chose the UUID may leave out the prefix. */
export const fullExecutionId = (id: string): string => (isExecutionId(id) ? id : executionIdFrom(id));
