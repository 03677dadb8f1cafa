/** Cron triggers in Mistral's API. */
import { isoMoment } from '@anneal/contracts/readers/moment.ts';
import {
  cronTriggerCreate,
  cronTriggerDelete,
  cronTriggerList,
  cronTriggerShow,
} from '@anneal/contracts/calls/workflow.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { route, type Route } from '../http/route.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import { mapOrText, needsWorkflow, paramsOrText, paramsSchema, workflowFields, workflowOf } from './executions.ts';
import { mistralList, mistralPage } from './list.ts';
import { cronTriggerBody, mistralCronTriggerSchema } from './views.ts';

const wantedSchema = z
  .strictObject({
    name: z.string().min(1).max(255),
    ...workflowFields,
    workflow_input: mapOrText.nullish(),
    workflow_params: paramsOrText(paramsSchema).nullish(),
    pattern: z.string().nullish(),
    first_execution_time: z
      .string()
      .refine((text) => isoMoment(text) !== undefined, 'must be YYYY-MM-DD HH:MM in UTC')
      .transform((text) => new Date(isoMoment(text) ?? NaN).toISOString())
      .nullish(),
    remaining_executions: z.coerce.number().int().positive().nullish(),
  })
  .refine(...needsWorkflow);

/** The routes of cron triggers. */
export const cronTriggerRoutes = (ask: Ask): Route[] => [
  route({
    method: 'POST',
    path: '/v2/cron_triggers',
    summary: 'Start a workflow at the times of a cron expression.',
    body: wantedSchema,
    answer: mistralCronTriggerSchema,
    status: 201,
    handle: async ({ body, request }) => {
      const project = projectOf(request);
      const data = {
        project,
        owner: callerOf(request).name,
        name: body.name,
        workflow: workflowOf(body),
        input: body.workflow_input ?? {},
        params: body.workflow_params ?? {},
        pattern: body.pattern ?? null,
        first_time: body.first_execution_time ?? null,
        count: body.remaining_executions ?? null,
      };
      return cronTriggerBody(await ask('scheduling', cronTriggerCreate, { project, data }));
    },
  }),
  route({
    method: 'GET',
    path: '/v2/cron_triggers',
    summary: 'List the cron triggers of the project by name.',
    ...mistralList('cron_triggers', mistralCronTriggerSchema),
    handle: async ({ query, request }) => {
      const project = projectOf(request);
      const { cron_triggers: found } = await ask('scheduling', cronTriggerList, { project, data: { project } });
      return { cron_triggers: mistralPage(found.map(cronTriggerBody), query) };
    },
  }),
  route({
    method: 'GET',
    path: '/v2/cron_triggers/{name}',
    summary: 'Show a cron trigger.',
    answer: mistralCronTriggerSchema,
    handle: async ({ params: { name }, request }) => {
      const project = projectOf(request);
      return cronTriggerBody(await ask('scheduling', cronTriggerShow, { project, data: { project, name } }));
    },
  }),
  route({
    method: 'DELETE',
    path: '/v2/cron_triggers/{name}',
    summary: 'Delete a cron trigger. Its executions stay.',
    handle: ({ params: { name }, request }) => {
      const project = projectOf(request);
      return ask('scheduling', cronTriggerDelete, { project, data: { project, name } });
    },
  }),
];
