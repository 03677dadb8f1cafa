/**
 * The step of an execution of a workflow: `(state, inputs) -> changes`. A function of data, as the step of a stack is: the
 * shell gives inputs, stores the changes as one record, and then does what the effects say.
 *
 * `RUNNING`: tasks run, wait or are about to. `PAUSED`: actions that run may end, and nothing new begins; an operator
 * resumes. `SUCCESS`, `ERROR`, `CANCELLED`: ended; a rerun of a failed task makes an execution in ERROR run again.
 *
 * W1 A task begins only when a link to it was taken, its join is complete, or its requirements have succeeded.
 * W2 The state of a task, what it publishes and the tasks that its links start are in one record.
 * W3 The end of an action counts once: it names the attempt and the item. A late one changes nothing.
 * W4 An execution that runs has an action in flight, a timer, a wait of an operator, or work for the next step.
 * W5 An execution makes at most `mostRuns` task runs, so a loop ends.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { actExecution } from './act.ts';
import { beginTask, endItem, endTask, taskTimer } from './attempt.ts';
import { actionOf, isEndedExecution, isEndedTask, isLiveTask, type TaskDocument } from './documents.ts';
import { endExecution, endWhenIdle } from './finish.ts';
import { firstTasks, requiredTasks } from './graph.ts';
import { breakDeadlock, decideJoins } from './join.ts';
import { contextAfter, followLinks, makeTask } from './links.ts';
import type { ExecutionInput, ExecutionOutcome, ExecutionTools, WorkflowState } from './protocol.ts';
import { mergeContexts, requireCarried, TaskFault, WorkflowRun } from './run.ts';

/**
 * Takes a batch of inputs, in order. `state` is changed in place. A caller that fails to record the changes must load the
 * documents again. A step without inputs continues a partial one.
 */
export function stepExecution(
  state: WorkflowState,
  inputs: readonly ExecutionInput[],
  tools: ExecutionTools,
): ExecutionOutcome {
  const run = new WorkflowRun(state, tools);
  const refusals = new Map<string, AnnealError>();
  for (const input of inputs) {
    try {
      take(run, input);
    } catch (error) {
      if (!(error instanceof AnnealError)) throw error;
      refusals.set(input.id, error);
    }
  }
  const isPartial = settle(run);
  run.split();
  return { changes: run.changes, refusals, isPartial };
}

function take(run: WorkflowRun, input: ExecutionInput): void {
  switch (input.kind) {
    case 'begin':
      if (run.execution.made === 0 && !isEndedExecution(run.execution.state)) begin(run);
      return;
    case 'end': {
      const { end } = input;
      const at = actionOf(end.action, run.execution.id);
      if (at && !isEndedExecution(run.execution.state)) {
        endItem(run, `${run.execution.id}.${at.number}`, { ...at, end });
      }
      return;
    }
    case 'timer':
      if (!isEndedExecution(run.execution.state)) taskTimer(run, input.timer);
      return;
    case 'act':
      if (!run.execution.recent.includes(input.id)) actExecution(run, input);
  }
}

function begin(run: WorkflowRun): void {
  const { spec } = run.state;
  run.event('workflow.started', null);
  try {
    run.change({ vars: run.mapping(spec.vars, { key: 'vars' }) });
  } catch (error) {
    if (!(error instanceof TaskFault)) throw error;
    endExecution(run, { state: 'ERROR', reason: error.message });
    return;
  }
  if (spec.type === 'reverse') {
    startRequired(run);
    return;
  }
  for (const name of firstTasks(spec)) {
    const task = makeTask(run, name, { context: { values: {}, stamps: {} }, triggers: [] });
    if (task) beginTask(run, task.id);
  }
}

/** Does what follows from the inputs. True when work is left for another step. */
function settle(run: WorkflowRun): boolean {
  for (let followed = 0; run.execution.state === 'RUNNING';) {
    const ended = run.find((task) => isEndedTask(task.state) && !task.processed);
    if (ended) {
      if (followed >= run.tools.most) return true;
      followed += 1;
      followLinks(run, ended.id);
      continue;
    }
    if (run.state.spec.type === 'reverse' ? startRequired(run) : decideJoins(run)) continue;
    if (run.find(isLiveTask) || run.execution.made === 0) {
      if (breakDeadlock(run)) continue;
      return false;
    }
    endWhenIdle(run);
  }
  return false;
}

/** Starts each required task whose requirements have succeeded. True when one started. */
function startRequired(run: WorkflowRun): boolean {
  const { spec, specs } = run.state;
  const byName = new Map(run.inOrder().map((task) => [task.name, task]));
  let started = false;
  for (const name of requiredTasks(spec, run.execution.goal ?? '')) {
    const requires = specs.get(name)?.requires ?? [];
    const done = requires.flatMap((other) => byName.get(other) ?? []);
    const ready = done.length === requires.length && done.every((task) => task.state === 'SUCCESS' && task.processed);
    if (byName.has(name) || !ready || run.execution.state !== 'RUNNING') continue;
    const context = mergeContexts(done.map((task) => contextAfter(run, task)));
    const task = makeTask(run, name, { context, triggers: requires });
    if (task) beginWithin(run, task);
    started = true;
  }
  return started;
}

/** Begins a task, unless its requirements have published more than it may carry. */
function beginWithin(run: WorkflowRun, { id, context }: TaskDocument): void {
  try {
    requireCarried(context.values, 'requires: the values of all required tasks');
    beginTask(run, id);
  } catch (error) {
    if (!(error instanceof TaskFault)) throw error;
    run.changeTask(id, { reason: error.message, result: error.message, context: { values: {}, stamps: {} } });
    endTask(run, id, 'ERROR');
  }
}

/** Checks the input of a start. Returns it with the defaults; expressions in defaults read the given values. */
export function startInput(
  { spec, given, goal }: { spec: WorkflowState['spec']; given: JsonObject; goal: string | null },
  evaluate: ExecutionTools['evaluate'],
): JsonObject {
  const known = new Set(spec.input.map(({ name }) => name));
  const unknown = Object.keys(given).filter((name) => !known.has(name));
  const missing = spec.input.filter(({ name, required }) => required && !Object.hasOwn(given, name));
  const wrong = [
    unknown.length > 0 && `unknown: ${unknown.join(', ')}`,
    missing.length > 0 && `missing: ${missing.map(({ name }) => name).join(', ')}`,
  ].filter(Boolean);
  if (wrong.length > 0) {
    const inputs = [...known].join(', ') || 'none';
    const message = `Cannot start workflow ${spec.name}: wrong input (${wrong.join('; ')}). Its inputs: ${inputs}.`;
    throw new AnnealError('InvalidRequest', message);
  }
  const goals = spec.tasks.map(({ name }) => name);
  if (spec.type === 'reverse' && (goal === null || !goals.includes(goal))) {
    const message = `Cannot start the reverse workflow ${spec.name}: params.task_name must name one of its tasks: ${goals.join(', ')}.`;
    throw new AnnealError('InvalidRequest', message);
  }
  const input: JsonObject = { ...given };
  for (const { name, default: value } of spec.input) {
    if (Object.hasOwn(input, name)) continue;
    const found = evaluate(value, { data: { ...input }, env: {}, execution: {}, globals: {}, task: () => null });
    if (!found.ok) {
      const message = `Cannot start workflow ${spec.name}: the default of input ${name} failed: <% ${found.expression} %>: ${found.message}`;
      throw new AnnealError('InvalidRequest', message);
    }
    input[name] = isObject(found.value) ? { ...found.value } : found.value;
  }
  return input;
}
