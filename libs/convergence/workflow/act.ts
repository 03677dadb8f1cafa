/** Commands of operators: pause, resume, cancel, rerun, skip, and the completion of an action by a client. */
import { joinRecords } from '@anneal/contracts/ordered-map.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { beginTask, continueItems, endItem, endTask, endWait, pauseExecution, runAttempt } from './attempt.ts';
import { isEndedExecution, type TaskDocument } from './documents.ts';
import { endExecution } from './finish.ts';
import { takeLinks } from './links.ts';
import type { ExecutionAct, ExecutionInput } from './protocol.ts';
import type { WorkflowRun } from './run.ts';

const remembered = 32;

/** Takes a command. @throws AnnealError Conflict when the state does not allow it, NotFound for an unknown task */
export function actExecution(run: WorkflowRun, { id, act }: Extract<ExecutionInput, { kind: 'act' }>): void {
  switch (act.kind) {
    case 'pause':
      requireLive(run, act);
      pauseExecution(run, 'Paused by an operator.');
      break;
    case 'resume':
      requireLive(run, act);
      if (act.env) run.change({ env: joinRecords(run.execution.env, act.env) });
      resume(run);
      break;
    case 'cancel':
      if (isEndedExecution(run.execution.state)) break;
      endExecution(run, { state: 'CANCELLED', reason: act.reason ?? 'Cancelled by an operator.' });
      break;
    case 'rerun':
      rerun(run, act);
      break;
    case 'skip':
      reopen(run, act);
      endTask(run, failedTask(run, act).id, 'SKIPPED');
      break;
    case 'complete':
      complete(run, act);
  }
  run.change({ recent: [...run.execution.recent, id].slice(-remembered) });
}

const refuse = ({ execution }: WorkflowRun, { kind }: ExecutionAct, why: string): never => {
  throw new AnnealError('Conflict', `Cannot ${kind} execution ${execution.id} of ${execution.workflow}: ${why}`);
};

function requireLive(run: WorkflowRun, act: ExecutionAct): void {
  const { state } = run.execution;
  if (isEndedExecution(state)) refuse(run, act, `it has ended: ${state}.`);
}

const isRunning = ({ execution }: WorkflowRun): boolean => execution.state === 'RUNNING';

function resume(run: WorkflowRun): void {
  if (run.execution.state !== 'PAUSED') return;
  const { backlog } = run.execution;
  run.change({ state: 'RUNNING', reason: null, backlog: [] });
  run.event('workflow.resumed', null);
  for (const { task, links } of backlog) takeLinks(run, task, links);
  for (const { id, state, due } of run.inOrder()) {
    if (!isRunning(run)) return;
    if (state === 'IDLE') beginTask(run, id, { resumed: true });
    else if (state === 'DELAYED' && due) endWait(run, id);
    else if (state === 'RUNNING') continueItems(run, id);
  }
}

/** The last run of a task, which must have failed without being handled. */
function failedTask(run: WorkflowRun, act: Extract<ExecutionAct, { kind: 'rerun' | 'skip' }>): TaskDocument {
  const found = run.inOrder().findLast(({ name, id }) => name === act.task || id === act.task);
  if (!found) throw new AnnealError('NotFound', `Execution ${run.execution.id} has run no task ${act.task}.`);
  if (found.state !== 'ERROR' || found.handled) {
    const state = found.handled ? 'an error that on-error has handled' : found.state;
    refuse(run, act, `task ${found.name} is ${state}; only a failed task can ${act.kind}.`);
  }
  return found;
}

/** Makes a failed execution run again, and its joins wait again. */
function reopen(run: WorkflowRun, act: Extract<ExecutionAct, { kind: 'rerun' | 'skip' }>): void {
  failedTask(run, act);
  const { execution } = run;
  if (execution.parent) {
    refuse(
      run,
      act,
      `it is a sub-workflow; ${act.kind} task ${execution.parent.task} of execution ${execution.parent.execution_id}.`,
    );
  }
  if (execution.state === 'ERROR') run.change({ state: 'RUNNING', reason: null, output: null, finished_at: null });
  else if (execution.state !== 'RUNNING') refuse(run, act, `it is ${execution.state}.`);
  for (const task of run.inOrder()) {
    const isJoin = run.specOf(task).join !== null && task.attempt === 0;
    const dropped = task.state === 'CANCELLED' && task.attempt === 0;
    if (isJoin && (task.state === 'ERROR' || dropped)) {
      run.changeTask(task.id, { state: 'WAITING', reason: null, result: null, processed: false, finished_at: null });
    } else if (task.state === 'CANCELLED' && task.name !== act.task) restart(run, task);
  }
}

/** A task that was stopped with the execution begins again, too. */
function restart(run: WorkflowRun, task: TaskDocument): void {
  run.changeTask(task.id, { processed: false, finished_at: null, tries: 0 });
  runAttempt(run, task.id);
}

function rerun(run: WorkflowRun, act: Extract<ExecutionAct, { kind: 'rerun' }>): void {
  const task = failedTask(run, act);
  if (act.failed_items_only && !task.listed) refuse(run, act, `task ${task.name} has no with-items.`);
  reopen(run, act);
  if (run.task(task.id).state !== 'ERROR') return;
  run.changeTask(task.id, { processed: false, handled: false, finished_at: null, tries: 0, published: {} });
  runAttempt(run, task.id, { keep: act.failed_items_only });
}

function complete(run: WorkflowRun, act: Extract<ExecutionAct, { kind: 'complete' }>): void {
  requireLive(run, act);
  const task = run.inOrder().findLast(({ name, id }) => name === act.task || id === act.task);
  if (!task) throw new AnnealError('NotFound', `Execution ${run.execution.id} has run no task ${act.task}.`);
  const item = task.items.findIndex(({ state }) => state === 'RUNNING');
  if (task.state !== 'RUNNING' || item < 0)
    refuse(run, act, `task ${task.name} is ${task.state}; it waits for no client.`);
  if (run.specOf(task).action?.startsWith('std.async_noop') !== true) {
    refuse(
      run,
      act,
      `task ${task.name} runs ${run.specOf(task).action ?? 'a workflow'}; only std.async_noop waits for a client.`,
    );
  }
  const ok = act.state === 'SUCCESS';
  endItem(run, task.id, {
    attempt: task.attempt,
    item,
    end: { ok, result: act.output, reason: ok ? null : 'Failed by a client.' },
  });
}
