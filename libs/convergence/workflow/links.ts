/**
 * Follows the links of an ended task: publishes the values of its clauses, evaluates the guards, starts or triggers the
 * next tasks, and carries out engine commands. All of it is one step with the state of the task.
 *
 * For one name, the value of the clause of the outcome wins over `publish`, and that over on-complete.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import {
  engineCommands,
  type WorkflowClause,
  type WorkflowLink,
  type WorkflowTask,
} from '@anneal/contracts/workflow.ts';
import { beginTask, endTask, pauseExecution } from './attempt.ts';
import type { TaskDocument, WorkflowContext } from './documents.ts';
import { endExecution } from './finish.ts';
import { mergeContexts, requireCarried, TaskFault, type WorkflowRun } from './run.ts';

/** Task runs of one execution. It bounds loops. */
export const mostRuns = 2000;

/** The clause of the outcome of a task. */
function clauseOf(task: TaskDocument, spec: WorkflowTask): WorkflowClause | null {
  if (task.state === 'SUCCESS') return spec.on_success;
  if (task.state === 'ERROR') return spec.on_error;
  return spec.on_skip ?? spec.on_success;
}

/** Follows the links of a task that has ended. A fault in them turns the task into an error, which on-error handles. */
export function followLinks(run: WorkflowRun, id: string): void {
  const task = run.changeTask(id, { processed: true });
  if (task.state === 'CANCELLED') return;
  try {
    follow(run, task);
  } catch (error) {
    if (!(error instanceof TaskFault)) throw error;
    const before = run.task(id);
    if (before.state === 'ERROR') {
      run.changeTask(id, { reason: `${before.reason ?? ''}; ${error.message}`, handled: false });
      return;
    }
    run.changeTask(id, { state: 'ERROR', reason: error.message, result: error.message, published: {} });
    endTask(run, id, 'ERROR');
  }
}

function follow(run: WorkflowRun, task: TaskDocument): void {
  const spec = run.specOf(task);
  const own = clauseOf(task, spec);
  const after = task.state === 'SKIPPED' ? null : spec.on_complete;
  const values = (clause: WorkflowClause | null, scope: 'branch' | 'global', key: string): JsonObject =>
    clause ? run.mapping(clause.publish[scope], { key, task }) : {};
  const branch = {
    ...values(after, 'branch', 'on-complete.publish'),
    ...task.published,
    ...values(own, 'branch', 'publish'),
  };
  const global = { ...values(after, 'global', 'on-complete.publish'), ...values(own, 'global', 'publish') };
  const globals = { ...run.execution.globals, ...global };
  requireCarried({ ...task.context.values, ...branch }, 'publish: the values of this branch');
  requireCarried(globals, 'publish: the global values');
  const published = run.changeTask(task.id, { published: branch });
  if (Object.keys(global).length > 0) run.change({ globals });
  const taken = (clause: WorkflowClause | null): WorkflowLink[] =>
    (clause?.next ?? []).filter(({ guard }) => guard === null || run.holds(guard, { key: 'guard', task: published }));
  const [first, then] = [taken(own), taken(after)];
  if (task.state === 'ERROR') run.changeTask(task.id, { handled: first.length > 0 });
  if (!spec.keep_result) run.changeTask(task.id, { result: null, items: [] });
  if (Object.keys(branch).length > 0) run.change({ clock: run.execution.clock + 1 });
  takeLinks(run, task.id, [...first, ...then]);
}

/** Carries out links in order. A command that ends the execution drops the rest; `pause` keeps it for the resumption. */
export function takeLinks(run: WorkflowRun, id: string, links: readonly WorkflowLink[]): void {
  for (const [index, { to, message }] of links.entries()) {
    if (run.execution.state === 'PAUSED') {
      // A task that was just started has paused the execution.
      run.change({ backlog: [...run.execution.backlog, { task: id, links: links.slice(index) }] });
      return;
    }
    if (run.execution.state !== 'RUNNING') return;
    if (run.state.specs.has(to)) {
      linkTo(run, run.task(id), to);
      continue;
    }
    const command = engineCommands.find((each) => each === to) ?? 'noop';
    if (command === 'noop') continue;
    const task = run.task(id);
    const text = message === null ? null : run.evaluate(message, { key: `${command}.msg`, task });
    const reason = typeof text === 'string' ? text : text === null ? null : JSON.stringify(text);
    if (command === 'fail') {
      endExecution(run, {
        state: 'ERROR',
        reason: reason ?? `Workflow failed by the command fail of task ${task.name}.`,
      });
    } else if (command === 'succeed') endExecution(run, { state: 'SUCCESS', reason });
    else {
      const rest = links.slice(index + 1);
      pauseExecution(run, reason ?? `Task ${task.name} paused the workflow.`);
      run.change({ backlog: [...run.execution.backlog, { task: id, links: rest }] });
      return;
    }
  }
}

/** The values that the next tasks of a task see. */
export function contextAfter(run: WorkflowRun, task: TaskDocument): WorkflowContext {
  const { clock } = run.execution;
  const stamps = Object.fromEntries(Object.keys(task.published).map((name) => [name, clock]));
  return {
    values: { ...task.context.values, ...task.published },
    stamps: { ...task.context.stamps, ...stamps },
  };
}

/** Starts a task, or triggers its join. A link to a join that has run changes nothing: a join runs once. */
function linkTo(run: WorkflowRun, from: TaskDocument, to: string): void {
  run.changeTask(from.id, { taken: [...from.taken, to] });
  const context = contextAfter(run, from);
  const spec = run.state.specs.get(to);
  if (spec?.join === null) {
    const made = makeTask(run, to, { context, triggers: [from.name] });
    if (made) beginTask(run, made.id);
    return;
  }
  const join = run.inOrder().findLast(({ name }) => name === to);
  if (!join) makeTask(run, to, { context, triggers: [from.name], waiting: true });
  else if (join.state === 'WAITING') {
    const triggers = [...new Set([...join.triggers, from.name])];
    const merged = mergeContexts([join.context, context]);
    requireCarried(merged.values, `publish: the values of all branches that join in ${to}`);
    run.changeTask(join.id, { triggers, context: merged });
  }
}

/** Makes a run of a task. Undefined when the execution has made too many: then the execution has failed. */
export function makeTask(
  run: WorkflowRun,
  name: string,
  { context, triggers, waiting = false }: { context: WorkflowContext; triggers: string[]; waiting?: boolean },
): TaskDocument | undefined {
  const number = run.execution.made + 1;
  if (number > mostRuns) {
    const reason = `Task ${name} was not started: the execution has run ${mostRuns} tasks, which is the limit. Check its loops.`;
    endExecution(run, { state: 'ERROR', reason });
    return undefined;
  }
  run.change({ made: number });
  return run.putTask({
    id: `${run.execution.id}.${number}`,
    version: 1,
    execution_id: run.execution.id,
    number,
    name,
    state: waiting ? 'WAITING' : 'IDLE',
    reason: null,
    context,
    triggers,
    attempt: 0,
    tries: 0,
    items: [],
    listed: false,
    result: null,
    published: {},
    wait: null,
    due: false,
    outcome: null,
    processed: false,
    handled: false,
    taken: [],
    created_at: run.tools.now,
    started_at: null,
    finished_at: null,
  });
}
