/** Workflows and their executions. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import {
  cronTriggerViewSchema,
  executionTaskSchema,
  executionViewSchema,
  workflowViewSchema,
  type CronTriggerView,
  type executionActSchema,
  type ExecutionTaskView,
  type ExecutionView,
  type WorkflowView,
} from '@anneal/contracts/calls/workflow.ts';
import { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { read, readList } from './read.ts';

/** The workflows of the project. */
export interface WorkflowCalls {
  /** Stores all workflows of a text, or none. */
  create(parameters: { text: string; replace: boolean }): Promise<WorkflowView[]>;
  list(): Promise<WorkflowView[]>;
  show(parameters: { workflow: string }): Promise<WorkflowView>;
  delete(parameters: { workflow: string }): Promise<void>;
}

/** The executions of the project. */
export interface ExecutionCalls {
  /** Starts an execution. A repeat with the same `id`, a UUID, starts nothing new. */
  start(parameters: {
    workflow: string;
    id?: string | undefined;
    input?: JsonObject;
    env?: JsonObject | undefined;
    task_name?: string | undefined;
  }): Promise<ExecutionView>;
  list(parameters: { workflow?: string | undefined; limit: number }): Promise<ExecutionView[]>;
  show(parameters: { id: string }): Promise<{ execution: ExecutionView; tasks: ExecutionTaskView[] }>;
  act(parameters: { id: string; action: z.infer<typeof executionActSchema> }): Promise<ExecutionView>;
}

/** Cron triggers of the project. */
export interface CronTriggerCalls {
  create(parameters: {
    name: string;
    workflow: string;
    input?: JsonObject;
    pattern?: string | undefined;
    first_time?: string | undefined;
    count?: number | undefined;
  }): Promise<CronTriggerView>;
  list(): Promise<CronTriggerView[]>;
  delete(parameters: { name: string }): Promise<void>;
}

const service = 'api';
const shownSchema = z.object({ execution: executionViewSchema, tasks: z.array(executionTaskSchema) });

/** The calls for workflows. Each throws the gateway's AnnealError. */
export function workflowsOf(connection: GatewayConnection): WorkflowCalls {
  const pathOf = (workflow: string): string => `/workflows/${encodeURIComponent(workflow)}`;
  return {
    async create(body) {
      const what = 'store the workflows';
      const answer = await connection.json({ service, path: '/workflows', method: 'POST', body, what });
      return readList({ workflows: workflowViewSchema }, answer, what);
    },
    async list() {
      const what = 'list the workflows';
      return readList(
        { workflows: workflowViewSchema },
        await connection.json({ service, path: '/workflows', what }),
        what,
      );
    },
    async show({ workflow }) {
      const what = `show the workflow ${workflow}`;
      return read(workflowViewSchema, await connection.json({ service, path: pathOf(workflow), what }), what);
    },
    async delete({ workflow }) {
      await connection.call({
        service,
        path: pathOf(workflow),
        method: 'DELETE',
        what: `delete the workflow ${workflow}`,
      });
    },
  };
}

/** The calls for executions. Each throws the gateway's AnnealError. */
export function executionsOf(connection: GatewayConnection): ExecutionCalls {
  const pathOf = (id: string): string => `/executions/${encodeURIComponent(id)}`;
  return {
    async start(parameters) {
      const what = `start the workflow ${parameters.workflow}`;
      const body = Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined));
      return read(
        executionViewSchema,
        await connection.json({ service, path: '/executions', method: 'POST', body, what }),
        what,
      );
    },
    async list({ workflow, limit }) {
      const what = 'list the executions';
      const body = await connection.json({ service, path: '/executions', query: { workflow, limit }, what });
      return readList({ executions: executionViewSchema }, body, what);
    },
    async show({ id }) {
      const what = `show the execution ${id}`;
      return read(shownSchema, await connection.json({ service, path: pathOf(id), what }), what);
    },
    async act({ id, action }) {
      const what = `${action.kind} the execution ${id}`;
      const path = `${pathOf(id)}/action`;
      return read(
        executionViewSchema,
        await connection.json({ service, path, method: 'POST', body: action, what }),
        what,
      );
    },
  };
}

/** The calls for cron triggers. Each throws the gateway's AnnealError. */
export function cronTriggersOf(connection: GatewayConnection): CronTriggerCalls {
  const path = '/cron_triggers';
  return {
    async create(parameters) {
      const what = `create the cron trigger ${parameters.name}`;
      const body = Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== undefined));
      return read(cronTriggerViewSchema, await connection.json({ service, path, method: 'POST', body, what }), what);
    },
    async list() {
      const what = 'list the cron triggers';
      return readList({ cron_triggers: cronTriggerViewSchema }, await connection.json({ service, path, what }), what);
    },
    async delete({ name }) {
      const what = `delete the cron trigger ${name}`;
      await connection.call({ service, path: `${path}/${encodeURIComponent(name)}`, method: 'DELETE', what });
    },
  };
}
