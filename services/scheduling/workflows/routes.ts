/** Answers questions about workflows and executions; forwards those that change an execution to its shard. */
import { answer, type MessageRoute } from '@anneal/bus/consume/route.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  adHocActionCreate,
  adHocActionDelete,
  adHocActionList,
  cronTriggerCreate,
  cronTriggerDelete,
  cronTriggerList,
  cronTriggerShow,
  environmentDelete,
  environmentList,
  environmentSet,
  environmentShow,
  executionAct,
  executionList,
  executionShow,
  executionStart,
  isExecutionId,
  taskActions,
  workflowCheck,
  workflowCreate,
  workflowDelete,
  workflowList,
  workflowShow,
} from '@anneal/contracts/calls/workflow.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { Shards } from '../shard-map/shards.ts';
import type { WorkflowDefinitions } from './definitions.ts';
import type { CronTriggers } from './triggers/cron-triggers.ts';
import { readTasks } from './loaded-executions.ts';
import { executionTaskView, executionView, taskActionViews } from './views.ts';

/** The routes of workflows. */
export function workflowRoutes(parts: {
  context: ServiceContext;
  collections: SchedulingCollections;
  definitions: WorkflowDefinitions;
  shards: Shards;
  crons: CronTriggers;
}): MessageRoute[] {
  const { context, collections, crons, definitions, shards } = parts;
  const forward = (type: string): MessageRoute => ({
    type,
    handle: async ({ message }) => {
      const { id } = message.data as { id: string };
      // An id of another form has no shard; the shard of an unknown execution answers that it does not exist.
      const home = isExecutionId(id) ? id : `run-${id}`;
      const queue = shards.queueOf(home);
      await context.bus.send({ queue, messages: [{ ...message, data: { ...(message.data as object), id: home } }] });
    },
  });
  const find = async (project: string, id: string) => {
    const found = await collections.executions.get(id);
    if (found?.project === project) return found;
    throw new AnnealError('NotFound', `The execution ${id} does not exist in this project.`);
  };
  return [
    forward(executionStart.type),
    forward(executionAct.type),
    answer(context, workflowCreate, async ({ id, data }) => ({
      workflows: await definitions.create({ ...data, request: id }),
    })),
    answer(context, workflowList, async ({ data }) => ({ workflows: await definitions.list(data.project) })),
    answer(context, workflowShow, ({ data }) => definitions.show(data.project, data.workflow)),
    answer(context, workflowDelete, async ({ data }) => {
      await definitions.remove(data.project, data.workflow);
      return {};
    }),
    answer(context, executionShow, async ({ data }) => {
      const execution = await find(data.project, data.id);
      const tasks = data.tasks
        ? await collections.tasks.find({ where: { execution_id: data.id }, orderBy: ['number'] })
        : [];
      const spec = data.tasks ? await definitions.spec(execution.definition) : undefined;
      return {
        execution: executionView(execution, context.secrets),
        tasks: tasks.map((task) => executionTaskView(task, { spec, secrets: context.secrets })),
      };
    }),
    answer(context, taskActions, async ({ data: { project, id, task } }) => {
      await find(project, id);
      const found = (await readTasks(collections, id)).find((each) => each.id === task);
      if (!found) throw new AnnealError('NotFound', `Execution ${id} has run no task ${task}.`);
      return { actions: taskActionViews(found, context.secrets) };
    }),
    answer(context, executionList, async ({ data }) => {
      const { project, source, limit, root, workflow } = data;
      const where = source === undefined ? (root === undefined ? { project } : { root }) : { source };
      const order = { orderBy: ['created_at', 'id'], descending: true, limit: workflow === undefined ? limit : 1000 };
      const found = await collections.executions.find({ where, ...order });
      const wanted = found.filter(
        (each) => each.project === project && (workflow === undefined || each.workflow === workflow),
      );
      return { executions: wanted.slice(0, limit).map((each) => executionView(each, context.secrets)) };
    }),
    ...cronRoutes(context, crons),
    ...libraryRoutes(context, definitions),
  ];
}

const cronRoutes = (context: ServiceContext, crons: CronTriggers): MessageRoute[] => [
  answer(context, cronTriggerCreate, ({ id, data }) => crons.create({ ...data, request: id })),
  answer(context, cronTriggerList, async ({ data }) => ({ cron_triggers: await crons.list(data.project) })),
  answer(context, cronTriggerShow, ({ data }) => crons.show(data.project, data.name)),
  answer(context, cronTriggerDelete, async ({ data }) => {
    await crons.remove(data.project, data.name);
    return {};
  }),
];

const libraryRoutes = (context: ServiceContext, definitions: WorkflowDefinitions): MessageRoute[] => {
  const { library } = definitions;
  return [
    answer(context, workflowCheck, async ({ data: { project, text, kind } }) => ({
      mistakes: await definitions.check(project, text, kind),
    })),
    answer(context, adHocActionCreate, async ({ id, data }) => ({
      actions: await library.create({ ...data, request: id }),
    })),
    answer(context, adHocActionList, async ({ data }) => ({ actions: await library.list(data.project) })),
    answer(context, adHocActionDelete, async ({ data }) => {
      await library.remove(data.project, data.action);
      return {};
    }),
    answer(context, environmentSet, ({ data }) => library.setEnvironment(data)),
    answer(context, environmentList, async ({ data }) => ({ environments: await library.environments(data.project) })),
    answer(context, environmentShow, ({ data }) => library.environment(data.project, data.name)),
    answer(context, environmentDelete, async ({ data }) => {
      await library.removeEnvironment(data.project, data.name);
      return {};
    }),
  ];
};
