/** The calls about executions, their tasks and actions for one request of Mistral's API. */
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
import { parseField } from '../http/input.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import { occasionOf } from '../identity/occasion.ts';

/** A map, or its JSON text. */
export const mapOrText = z
  .unknown()
  .transform((value, context): JsonObject => {
    try {
      const parsed = jsonObject.safeParse(typeof value === 'string' ? JSON.parse(value) : value);
      if (parsed.success) return parsed.data;
    } catch {
      // Reported below, as a value of another form.
    }
    context.addIssue({ code: 'custom', message: 'must be a map, or the JSON text of a map' });
    return z.NEVER;
  })
  .meta({ description: 'A map, or its JSON text.' });

/** Parameters of an execution. */
export const paramsSchema = z.strictObject({ env: jsonObject.optional(), task_name: z.string().optional() });
/** Parameters of a start, whose `env` may be the name of an environment. */
const startParamsSchema = paramsSchema.extend({ env: z.union([jsonObject, z.string().min(1)]).optional() });
/** The body of a start. */
export const executionStartSchema = z.strictObject({
  id: z.uuid().optional(),
  workflow_id: z.string().optional(),
  workflow_name: z.string().optional(),
  workflow_namespace: z.literal('').optional(),
  input: mapOrText.default({}),
  params: mapOrText.default({}),
  description: z.string().max(1024).optional(),
});
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

  async start(
    id: string,
    { workflow_id, workflow_name, input, params, description }: z.infer<typeof executionStartSchema>,
  ) {
    const workflow = workflow_name ?? workflow_id;
    if (workflow === undefined) {
      throw new AnnealError('InvalidRequest', 'An execution needs workflow_name or workflow_id.');
    }
    const { env: given, task_name } = parseField(startParamsSchema, params, 'The params');
    const { project } = this;
    const env =
      typeof given === 'string'
        ? (await this.#ask('scheduling', environmentShow, { project, data: { project, name: given } })).variables
        : given;
    const data = {
      id,
      project,
      owner: callerOf(this.#request).name,
      workflow,
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
