/** Explains an execution of a workflow: the task that failed or works, its action, its error, and the way on. Read-only. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isExecutionId } from '@anneal/contracts/calls/workflow.ts';
import type { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import type { WorkflowSpec } from '@anneal/contracts/workflow.ts';
import {
  isEndedExecution,
  isEndedTask,
  type ExecutionDocument,
  type TaskDocument,
} from '@anneal/convergence/workflow/documents.ts';
import type { z } from 'zod';
import type { SchedulingCollections } from '../collections.ts';

type Why = z.infer<(typeof stackWhy)['answer']>;

interface Shared {
  readonly collections: Pick<SchedulingCollections, 'executions' | 'tasks'>;
  /** The checked workflow of a definition. */
  readonly spec: (hash: string) => Promise<WorkflowSpec>;
}

/** The deepest sub-workflow that an explanation follows. */
const deepest = 20;
/** The newest tasks of an execution that are read. */
const mostRead = 1_000;

/**
 * The explanation of an execution, or undefined when the id is not one of an execution of the project.
 * @throws AnnealError NotFound for the id of an execution that does not exist
 */
export async function whyExecution(
  shared: Shared,
  { project, id }: { project: string; id: string },
): Promise<Why | undefined> {
  if (!isExecutionId(id)) return undefined;
  const execution = await shared.collections.executions.get(id);
  if (execution?.project !== project) throw new AnnealError('NotFound', `There is no execution ${id}.`);
  const chain: Why['chain'] = [];
  for (let current = execution, depth = 0; ; depth += 1) {
    chain.push({
      object: `execution ${current.id} of workflow ${current.workflow}`,
      state: current.state,
      reason: current.reason ?? '',
      since: current.finished_at ?? current.updated_at,
    });
    const task = await cause(shared, current);
    if (!task) return { ...endOf(current), chain };
    const calls = callsOf(await shared.spec(current.definition), task);
    chain.push({
      object: `task ${task.name}${calls === '' ? '' : ` (${calls})`}`,
      state: task.state,
      reason: task.reason ?? '',
      since: task.finished_at ?? task.started_at ?? task.created_at,
    });
    const inside = depth < deepest ? await subWorkflow(shared, current, task) : undefined;
    if (!inside) return { ...endAt(current, task, calls), chain };
    current = inside;
  }
}

/** The task to blame: the failed one that nothing handled, or the first that has not ended. */
async function cause(
  { collections: { tasks } }: Shared,
  { id, state }: ExecutionDocument,
): Promise<TaskDocument | undefined> {
  const query = { where: { execution_id: id }, orderBy: ['number'], descending: true, limit: mostRead };
  const runs = await tasks.find(query);
  if (state === 'ERROR') return runs.find((run) => run.state === 'ERROR' && !run.handled);
  return isEndedExecution(state) ? undefined : runs.findLast((run) => !isEndedTask(run.state));
}

function callsOf(spec: WorkflowSpec, { name }: TaskDocument): string {
  const written = spec.tasks.find((each) => each.name === name);
  if (written?.workflow !== undefined && written.workflow !== null) return `workflow ${written.workflow}`;
  return written?.through?.[0]?.name ?? written?.action ?? '';
}

/** The execution that the task runs: of several, one in the same state as the task. */
async function subWorkflow(
  { collections: { executions } }: Shared,
  { id, root }: ExecutionDocument,
  task: TaskDocument,
): Promise<ExecutionDocument | undefined> {
  const tree = await executions.find({ where: { root } });
  const inside = tree.filter(
    ({ parent }) => parent?.execution_id === id && (parent.task === task.id || parent.task === task.name),
  );
  return inside.findLast(({ state }) => (task.state === 'ERROR' ? state === 'ERROR' : !isEndedExecution(state)));
}

export const withoutStop = (text: string): string => text.replace(/\.$/, '');

/** The end of an explanation without a task. */
function endOf({ id, workflow, state, reason }: ExecutionDocument): Omit<Why, 'chain'> {
  const what = `Execution ${id} of workflow ${workflow}`;
  const why = reason === null ? '' : `: ${withoutStop(reason)}`;
  if (state === 'RUNNING') return { summary: `${what} begins${why}.`, exits: [`anneal workflow cancel ${id}`] };
  if (state === 'PAUSED') return { summary: `${what} is paused${why}.`, exits: waysOut(id, state) };
  return { summary: `${what} ended ${state}${why}.`, exits: [`anneal workflow tasks ${id}`] };
}

/** The end of an explanation at a task. */
function endAt(
  { id, workflow, state }: ExecutionDocument,
  { name, state: ofTask, reason, result }: TaskDocument,
  calls: string,
): Omit<Why, 'chain'> {
  const task = `task ${name}${calls === '' ? '' : ` (${calls})`}`;
  if (state === 'ERROR') {
    const why = reason ?? (typeof result === 'string' ? result : '');
    return {
      summary: `Execution ${id} of workflow ${workflow} has failed at ${task}${why === '' ? '' : `: ${withoutStop(why)}`}.`,
      exits: [
        `anneal workflow tasks ${id}`,
        `anneal workflow rerun ${id} ${name}`,
        `anneal workflow skip ${id} ${name}`,
      ],
    };
  }
  const now = `Execution ${id} of workflow ${workflow} is ${state}: ${task} is ${ofTask}`;
  return { summary: `${now}${reason === null ? '' : `: ${withoutStop(reason)}`}.`, exits: waysOut(id, state) };
}

const waysOut = (id: string, state: ExecutionDocument['state']): string[] => [
  ...(state === 'PAUSED' ? [`anneal workflow resume ${id}`] : []),
  `anneal workflow tasks ${id}`,
  `anneal workflow cancel ${id}`,
];
