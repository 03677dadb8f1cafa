/** Answers questions about workflows and executions; forwards those that change an execution to its shard. */
import { answer, type Route } from '@anneal/bus/consume/route.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  executionAct,
  executionList,
  executionShow,
  executionStart,
  isExecutionId,
  workflowCreate,
  workflowDelete,
  workflowList,
  workflowShow,
} from '@anneal/contracts/calls/workflow.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SchedulingCollections } from '../collections.ts';
import type { Shards } from '../shards/shards.ts';
import type { WorkflowDefinitions } from './definitions.ts';
import { executionTaskView, executionView } from './views.ts';

/** The routes of workflows. */
export function workflowRoutes(parts: {
  context: ServiceContext;
  collections: SchedulingCollections;
  definitions: WorkflowDefinitions;
  shards: Shards;
}): Route[] {
  const { context, collections, definitions, shards } = parts;
  const forward = (type: string): Route => ({
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
    answer(context, workflowCreate, async ({ data }) => ({ workflows: await definitions.create(data) })),
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
      return { execution: executionView(execution), tasks: tasks.map((task) => executionTaskView(task, spec)) };
    }),
    answer(context, executionList, async ({ data }) => {
      const { project, source, limit, workflow } = data;
      const where = source === undefined ? { project } : { source };
      const order = { orderBy: ['created_at', 'id'], descending: true, limit: workflow === undefined ? limit : 1000 };
      const found = await collections.executions.find({ where, ...order });
      const wanted = found.filter(
        (each) => each.project === project && (workflow === undefined || each.workflow === workflow),
      );
      return { executions: wanted.slice(0, limit).map(executionView) };
    }),
  ];
}
