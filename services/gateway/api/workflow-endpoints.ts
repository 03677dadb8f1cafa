/** Workflows and their executions. */
import { jsonObject, type JsonObject } from '@anneal/contracts/json.ts';
import {
  cronTriggerCreate,
  cronTriggerDelete,
  cronTriggerList,
  cronTriggerShow,
  cronTriggerViewSchema,
  executionAct,
  executionActSchema,
  executionIdFrom,
  executionList,
  executionShow,
  executionStart,
  executionTaskSchema,
  executionViewSchema,
  workflowCreate,
  workflowDelete,
  workflowList,
  workflowShow,
  workflowViewSchema,
} from '@anneal/contracts/calls/workflow.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import { occasionOf } from '../identity/occasion.ts';
import { route, type Route } from '../http/route.ts';
import { strictActs } from './stack-endpoints.ts';

const startSchema = z.strictObject({
  id: z.uuid().optional().meta({ description: 'Chosen by the client: a repeat with the same id starts nothing new.' }),
  workflow: z.string().min(1),
  input: jsonObject.default({}),
  env: jsonObject.optional(),
  task_name: z.string().optional(),
  description: z.string().max(1024).optional(),
});

/** The endpoints of workflows. */
export function workflowEndpoints({ ask }: { ask: Ask }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/workflows',
      summary:
        'Store the workflows of a text of the Mistral language, all of them or none. A refusal names every mistake.',
      body: z.strictObject({ text: z.string().max(1_048_576), replace: z.boolean().default(false) }),
      status: 201,
      answer: z.object({ workflows: z.array(workflowViewSchema) }),
      handle: ({ request, body }) => {
        const project = projectOf(request);
        return ask('scheduling', workflowCreate, { project, data: { project, ...body } });
      },
    }),
    route({
      method: 'GET',
      path: '/workflows',
      summary: 'List the workflows of the project.',
      answer: z.object({ workflows: z.array(workflowViewSchema) }),
      handle: ({ request }) => {
        const project = projectOf(request);
        return ask('scheduling', workflowList, { project, data: { project } });
      },
    }),
    route({
      method: 'GET',
      path: '/workflows/{workflow}',
      summary: 'Show a workflow by name or id.',
      answer: workflowViewSchema,
      handle: ({ request, params: { workflow } }) => {
        const project = projectOf(request);
        return ask('scheduling', workflowShow, { project, data: { project, workflow } });
      },
    }),
    route({
      method: 'DELETE',
      path: '/workflows/{workflow}',
      summary: 'Delete a workflow. Its executions stay.',
      handle: ({ request, params: { workflow } }) => {
        const project = projectOf(request);
        return ask('scheduling', workflowDelete, { project, data: { project, workflow } });
      },
    }),
  ];
}

/** The endpoints of executions. */
export function executionEndpoints({ ask, newId }: { ask: Ask; newId: () => string }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/executions',
      summary: 'Start an execution of a workflow.',
      body: startSchema,
      status: 201,
      answer: executionViewSchema,
      handle: ({ request, body: { id, input, ...given } }) => {
        const [project, owner] = [projectOf(request), callerOf(request).name];
        const wanted = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
        return ask('scheduling', executionStart, {
          project,
          data: {
            id: executionIdFrom(id ?? newId()),
            project,
            owner,
            input,
            ...(wanted as Pick<typeof given, 'workflow'>),
            occasion: occasionOf(request),
          },
        });
      },
    }),
    route({
      method: 'GET',
      path: '/executions',
      summary: 'List the executions of the project, the newest first.',
      query: z.strictObject({
        workflow: z.string().optional(),
        limit: z.int().min(1).max(1000).default(100),
      }),
      answer: z.object({ executions: z.array(executionViewSchema) }),
      handle: ({ request, query: { workflow, limit } }) => {
        const project = projectOf(request);
        const data = { project, limit, ...(workflow !== undefined && { workflow }) };
        return ask('scheduling', executionList, { project, data });
      },
    }),
    route({
      method: 'GET',
      path: '/executions/{id}',
      summary: 'Show an execution and the runs of its tasks.',
      answer: z.object({ execution: executionViewSchema, tasks: z.array(executionTaskSchema) }),
      handle: ({ request, params: { id } }) => {
        const project = projectOf(request);
        return ask('scheduling', executionShow, { project, data: { project, id, tasks: true } });
      },
    }),
    route({
      method: 'POST',
      path: '/executions/{id}/action',
      summary:
        'Act on an execution: pause, resume, cancel, rerun or skip a failed task, complete a task that waits for a client, or delete an ended execution.',
      body: strictActs<z.infer<typeof executionActSchema>>(executionActSchema),
      answer: executionViewSchema,
      handle: ({ request, params: { id }, body }) => {
        const project = projectOf(request);
        return ask('scheduling', executionAct, { project, data: { project, id, action: body } });
      },
    }),
  ];
}

const cronSchema = z.strictObject({
  name: z.string().min(1).max(255),
  workflow: z.string().min(1),
  input: jsonObject.default({}),
  params: z.strictObject({ env: jsonObject.optional(), task_name: z.string().optional() }).default({}),
  pattern: z.string().optional().meta({ description: 'Expression of cron with five fields, in UTC.' }),
  first_time: z.iso.datetime().optional().meta({ description: 'The first execution; later ones follow the pattern.' }),
  count: z.number().int().positive().optional().meta({ description: 'The number of executions.' }),
});

/** The endpoints of cron triggers. */
export function cronTriggerEndpoints({ ask }: { ask: Ask }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/cron_triggers',
      summary: 'Start a workflow at the times of a cron expression. It needs a pattern or a first time.',
      body: cronSchema,
      status: 201,
      answer: cronTriggerViewSchema,
      handle: ({ request, body: { pattern = null, first_time = null, count = null, params, ...given } }) => {
        const [project, owner] = [projectOf(request), callerOf(request).name];
        const plain = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
        const data = { project, owner, ...given, params: plain as JsonObject, pattern, first_time, count };
        return ask('scheduling', cronTriggerCreate, { project, data });
      },
    }),
    route({
      method: 'GET',
      path: '/cron_triggers',
      summary: 'List the cron triggers of the project.',
      answer: z.object({ cron_triggers: z.array(cronTriggerViewSchema) }),
      handle: ({ request }) => {
        const project = projectOf(request);
        return ask('scheduling', cronTriggerList, { project, data: { project } });
      },
    }),
    route({
      method: 'GET',
      path: '/cron_triggers/{name}',
      summary: 'Show a cron trigger by name or id.',
      answer: cronTriggerViewSchema,
      handle: ({ request, params: { name } }) => {
        const project = projectOf(request);
        return ask('scheduling', cronTriggerShow, { project, data: { project, name } });
      },
    }),
    route({
      method: 'DELETE',
      path: '/cron_triggers/{name}',
      summary: 'Delete a cron trigger of a client. Its executions stay.',
      handle: ({ request, params: { name } }) => {
        const project = projectOf(request);
        return ask('scheduling', cronTriggerDelete, { project, data: { project, name } });
      },
    }),
  ];
}
