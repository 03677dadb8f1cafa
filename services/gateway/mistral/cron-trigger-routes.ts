/** Cron triggers in Mistral's API. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  cronTriggerCreate,
  cronTriggerDelete,
  cronTriggerList,
  cronTriggerShow,
} from '@anneal/contracts/calls/workflow.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { parseField, type QueryValues } from '../http/input.ts';
import { described } from '../http/document.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import { mapOrText, paramsSchema } from './executions.ts';
import { describedList, readListQuery } from './list.ts';
import { cronTriggerBody, mistralCronTriggerSchema } from './views.ts';

interface NamePath {
  Params: { name: string };
}

const wantedSchema = z.strictObject({
  name: z.string().min(1).max(255),
  workflow_name: z.string().optional(),
  workflow_id: z.string().optional(),
  workflow_input: mapOrText.nullish(),
  workflow_params: mapOrText.nullish(),
  pattern: z.string().nullish(),
  first_execution_time: z
    .string()
    .regex(/^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?$/, 'must be YYYY-MM-DD HH:MM in UTC')
    .nullish(),
  remaining_executions: z.coerce.number().int().positive().nullish(),
});

const one = { answer: mistralCronTriggerSchema };

/** The instant of a time in UTC. @throws AnnealError InvalidRequest for a date that does not exist */
function instantOf(text: string): string {
  const at = new Date(`${text.replace(' ', 'T')}Z`);
  if (!Number.isNaN(at.getTime())) return at.toISOString();
  throw new AnnealError('InvalidRequest', `first_execution_time: ${text} is no time.`);
}

/** Registers the routes of cron triggers. */
export function cronTriggerRoutes(scope: FastifyInstance, ask: Ask): void {
  const creates = described({
    summary: 'Start a workflow at the times of a cron expression.',
    body: wantedSchema,
    ...one,
    status: 201,
  });
  scope.post('/v2/cron_triggers', creates, async (request, reply) => {
    const wanted = parseField(wantedSchema, request.body, 'The cron trigger');
    const workflow = wanted.workflow_name ?? wanted.workflow_id;
    if (workflow === undefined) {
      throw new AnnealError('InvalidRequest', 'A cron trigger needs workflow_name or workflow_id.');
    }
    const project = projectOf(request);
    const first = wanted.first_execution_time ?? null;
    const params = wanted.workflow_params ?? {};
    parseField(paramsSchema, params, 'The params');
    const data = {
      project,
      owner: callerOf(request).name,
      name: wanted.name,
      workflow,
      input: wanted.workflow_input ?? {},
      params,
      pattern: wanted.pattern ?? null,
      first_time: first === null ? null : instantOf(first),
      count: wanted.remaining_executions ?? null,
    };
    return reply.code(201).send(cronTriggerBody(await ask('scheduling', cronTriggerCreate, { project, data })));
  });
  const lists = describedList(
    'List the cron triggers of the project by name.',
    'cron_triggers',
    mistralCronTriggerSchema,
  );
  scope.get('/v2/cron_triggers', lists, async (request) => {
    const project = projectOf(request);
    const apply = readListQuery(request.query as QueryValues, mistralCronTriggerSchema);
    const { cron_triggers: found } = await ask('scheduling', cronTriggerList, { project, data: { project } });
    return { cron_triggers: apply(found.map(cronTriggerBody)) };
  });
  scope.get<NamePath>(
    '/v2/cron_triggers/:name',
    described({ summary: 'Show a cron trigger.', ...one }),
    async (request) => {
      const project = projectOf(request);
      const { name } = request.params;
      return cronTriggerBody(await ask('scheduling', cronTriggerShow, { project, data: { project, name } }));
    },
  );
  const deletes = described({ summary: 'Delete a cron trigger. Its executions stay.' });
  scope.delete<NamePath>('/v2/cron_triggers/:name', deletes, async (request, reply) => {
    const project = projectOf(request);
    await ask('scheduling', cronTriggerDelete, { project, data: { project, name: request.params.name } });
    return reply.code(204).send();
  });
}
