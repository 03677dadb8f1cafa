/** The tree of an execution and its sub-workflows, and the report about it, in Mistral's form. Pure. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { ExecutionTaskView, ExecutionView } from '@anneal/contracts/calls/workflow.ts';
import { z } from 'zod';
import { executionBody, mistralExecutionSchema, taskBody } from './views.ts';

/** Mistral's client sends an empty text for false. */
const flagTexts = new Map([
  ['true', true],
  ['false', false],
  ['', false],
]);
const flag = z.preprocess((sent) => flagTexts.get(String(sent).toLowerCase()) ?? sent, z.boolean()).default(false);
/** The query of a tree. */
export const executionTreeSchema = z.strictObject({
  max_depth: z.int().min(-1).default(-1),
  errors_only: flag,
  statistics_only: flag,
});

const total = z.int().min(0);
/** The answer of a report. The tasks of an execution are inside it, with the executions that they started inside them. */
export const reportSchema = z.object({
  statistics: z.object({
    total_tasks_count: total,
    running_tasks_count: total,
    success_tasks_count: total,
    error_tasks_count: total,
    idle_tasks_count: total,
    paused_tasks_count: total,
  }),
  root_workflow_execution: mistralExecutionSchema
    .extend({ name: z.string(), task_executions: z.array(z.looseObject({})) })
    .optional(),
});

/** Executions that one report shows. */
const mostReported = 100;

/** An execution and all below it, at most `most` levels deep; -1: all levels. The execution is the first. */
export function executionTreeOf(top: ExecutionView, all: readonly ExecutionView[], most: number): ExecutionView[] {
  if (most === 0) return [top];
  const below = all.filter(({ parent }) => parent?.execution_id === top.id);
  return [top, ...below.flatMap((each) => executionTreeOf(each, all, most - 1))];
}

/** @throws AnnealError InvalidRequest for a tree that is too large for one report */
export function requireReportable(tree: readonly ExecutionView[]): void {
  if (tree.length <= mostReported) return;
  const message = `A report shows at most ${mostReported} executions, and this tree has ${tree.length}. Limit it by max_depth.`;
  throw new AnnealError('InvalidRequest', message);
}

/** An execution with the runs of its tasks. */
interface ReportedExecution {
  readonly execution: ExecutionView;
  readonly tasks: readonly ExecutionTaskView[];
}

/** The report about a tree whose first execution is the top. */
export function executionReport(
  tree: readonly ReportedExecution[],
  { errors_only: errors, statistics_only: counts }: { errors_only: boolean; statistics_only: boolean },
): JsonObject {
  const [top] = tree;
  const all = tree.flatMap(({ tasks }) => tasks);
  const count = (...states: ExecutionTaskView['state'][]): number =>
    all.filter(({ state }) => states.includes(state)).length;
  const statistics = {
    total_tasks_count: all.length,
    running_tasks_count: count('RUNNING', 'DELAYED', 'WAITING'),
    success_tasks_count: count('SUCCESS', 'SKIPPED'),
    error_tasks_count: count('ERROR', 'CANCELLED'),
    idle_tasks_count: count('IDLE'),
    paused_tasks_count: 0,
  };
  const describe = ({ execution, tasks }: ReportedExecution): JsonObject => ({
    ...executionBody(execution),
    name: execution.workflow,
    task_executions: tasks
      .filter(({ state }) => !errors || state === 'ERROR')
      .map((task) => ({
        ...taskBody(task, execution),
        ...(task.attempt > 1 && { retry_count: task.attempt - 1 }),
        workflow_executions: tree
          .filter((each) => each.execution.parent?.execution_id === execution.id)
          .filter((each) => each.execution.id.startsWith(`${task.id}.`))
          .map(describe),
      })),
  });
  return { statistics, ...(!counts && top && { root_workflow_execution: describe(top) }) };
}
