/** The end of an execution: its state, its output, and the answer to the execution that waits for it. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ExecutionState } from '@anneal/contracts/workflow.ts';
import { stopItems } from './attempt.ts';
import { isEndedTask, isLiveTask, type TaskDocument, type WorkflowContext } from './documents.ts';
import { mergeContexts, TaskFault, type WorkflowRun } from './run.ts';

/** How an execution ends. */
export interface ExecutionEnd {
  readonly state: Exclude<ExecutionState, 'RUNNING' | 'PAUSED'>;
  readonly reason: string | null;
}

/** Ends the execution now. Stops what still runs, because nothing takes its result. */
export function endExecution(run: WorkflowRun, given: ExecutionEnd): void {
  for (const task of run.inOrder().filter(isLiveTask)) {
    if (task.state === 'RUNNING') stopItems(run, task);
    if (isEndedTask(task.state)) run.changeTask(task.id, { processed: true });
    else run.changeTask(task.id, { state: 'CANCELLED', processed: true, finished_at: run.tools.now });
  }
  const end = { ...given };
  let output: Json = null;
  try {
    if (end.state === 'SUCCESS') output = outputOf(run);
  } catch (error) {
    if (!(error instanceof TaskFault)) throw error;
    [end.state, end.reason] = ['ERROR', error.message];
  }
  if (end.state === 'ERROR') output = errorOutput(run, end.reason);
  run.change({ ...end, output, backlog: [], finished_at: run.tools.now });
  const type = { SUCCESS: 'workflow.completed', ERROR: 'workflow.failed', CANCELLED: 'workflow.cancelled' } as const;
  run.event(type[end.state], end.reason);
  const { parent, workflow } = run.execution;
  if (!parent) return;
  const ok = end.state === 'SUCCESS';
  const message = end.reason ?? `The workflow ${workflow} ended ${end.state}.`;
  run.effect({ kind: 'answer', parent, output, failure: ok ? null : { code: 'ResourceFailed', message } });
}

/** The values at the ends of all branches. */
function finalValues(run: WorkflowRun): JsonObject {
  const ends = run.inOrder().filter((task) => isEndedTask(task.state) && task.taken.length === 0);
  const goal = run.execution.goal;
  const last = goal === null ? ends : ends.filter(({ name }) => name === goal);
  return mergeContexts(last.map(afterTask)).values;
}

const afterTask = ({ context, published, number }: TaskDocument): WorkflowContext => ({
  values: { ...context.values, ...published },
  // The task that was made last counts as the newest.
  stamps: { ...context.stamps, ...Object.fromEntries(Object.keys(published).map((name) => [name, 1e9 + number])) },
});

/** @throws TaskFault */
function outputOf(run: WorkflowRun): Json {
  const { output } = run.state.spec;
  const values = finalValues(run);
  return output === null ? values : run.mapping(output, { key: 'output', extra: values });
}

function errorOutput(run: WorkflowRun, reason: string | null): Json {
  const { output_on_error: wanted } = run.state.spec;
  try {
    const values = wanted === null ? {} : run.mapping(wanted, { key: 'output-on-error', extra: finalValues(run) });
    return { ...values, result: reason };
  } catch (error) {
    if (!(error instanceof TaskFault)) throw error;
    return { result: reason };
  }
}

/** Ends an execution in which no task is live. */
export function endWhenIdle(run: WorkflowRun): void {
  const tasks = run.inOrder();
  const cancelled = tasks.filter(({ state }) => state === 'CANCELLED');
  if (cancelled.length > 0) {
    endExecution(run, {
      state: 'CANCELLED',
      reason: `Cancelled tasks: ${cancelled.map(({ name }) => name).join(', ')}`,
    });
    return;
  }
  const failed = tasks.filter(({ state, handled }) => state === 'ERROR' && !handled);
  if (failed.length === 0) {
    endExecution(run, { state: 'SUCCESS', reason: null });
    return;
  }
  const lines = failed.slice(0, 10).map(({ name, reason }) => `${name}: ${reason ?? 'failed'}`);
  const more = failed.length > 10 ? ` and ${failed.length - 10} more` : '';
  endExecution(run, { state: 'ERROR', reason: `Failed tasks: ${lines.join('; ')}${more}`.slice(0, 4000) });
}
