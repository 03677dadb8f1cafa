/**
 * The attempts of a task: pause-before, wait-before, the actions of its items, and after them publish, fail-on, retry and
 * wait-after. A wrong expression anywhere fails the task, and `on-error` handles it like any other error.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { jsonBytes, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { TaskTimer } from '@anneal/contracts/stack-timer.ts';
import type { WorkflowTask } from '@anneal/contracts/workflow.ts';
import { actionId, type TaskDocument, type TaskItem } from './documents.ts';
import { baseInput, resultThrough } from './ad-hoc.ts';
import type { ActionEnd } from './protocol.ts';
import { mostCarriedBytes, mostValueBytes, TaskFault, type WorkflowRun } from './run.ts';

/** Items of one task, and those that run at a time when the task names no concurrency. */
export const mostItems = 1000;
const defaultConcurrency = 100;
/** An action without a timeout ends after this time. */
const longestActionSeconds = 7 * 86_400;

/** Begins a task whose links are in: waits first when it has to. `resumed`: an operator let it pass pause-before. */
export function beginTask(run: WorkflowRun, id: string, { resumed = false } = {}): void {
  const task = run.task(id);
  const spec = run.specOf(task);
  guarded(run, task, () => {
    if (!resumed && run.holds(spec.pause_before, { key: 'pause-before', task })) {
      run.changeTask(id, { state: 'IDLE' });
      pauseExecution(run, `Task ${task.name} waits: pause-before.`);
      return;
    }
    const seconds = run.integer(spec.wait_before, { key: 'wait-before', task });
    if (seconds > 0) delay(run, task, { wait: 'before', seconds });
    else runAttempt(run, id);
  });
}

/** Pauses a running execution; does nothing in another state. */
export function pauseExecution(run: WorkflowRun, reason: string): void {
  if (run.execution.state !== 'RUNNING') return;
  run.change({ state: 'PAUSED', reason });
  run.event('workflow.paused', reason);
}

function delay(
  run: WorkflowRun,
  task: TaskDocument,
  { wait, seconds, ...fields }: { wait: TaskDocument['wait']; seconds: number } & Partial<TaskDocument>,
): void {
  run.changeTask(task.id, { ...fields, state: 'DELAYED', wait, due: false });
  run.timer(timerOf('task wait', task), seconds);
}

const timerOf = (kind: TaskTimer['kind'], { number, attempt }: TaskDocument): TaskTimer => ({
  kind,
  task: number,
  attempt,
});

/** Runs the work of a task, and fails the attempt with the message of a fault. */
function guarded(run: WorkflowRun, task: TaskDocument, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof TaskFault)) throw error;
    endAttempt(run, task.id, { ok: false, result: error.message, reason: error.message });
  }
}

/** Starts the next attempt: lists the items, sets the timeout, starts the actions. */
export function runAttempt(run: WorkflowRun, id: string, { keep = false } = {}): void {
  const before = run.task(id);
  const spec = run.specOf(before);
  const task = run.changeTask(id, {
    state: 'RUNNING',
    attempt: before.attempt + 1,
    tries: before.tries + 1,
    wait: null,
    due: false,
    outcome: null,
    reason: null,
    started_at: before.started_at ?? run.tools.now,
    listed: spec.with_items.length > 0,
    ...(!keep && { items: [], bytes: 0 }),
  });
  run.event(before.tries === 0 ? 'task.started' : 'task.retried', null, task);
  guarded(run, task, () => {
    const items: TaskItem[] = keep
      ? task.items.map((item) => (item.state === 'SUCCESS' ? item : { ...item, state: 'IDLE', result: null }))
      : listItems(run, task, spec).map((values) => ({ state: 'IDLE', values, result: null }));
    run.changeTask(id, { items });
    const seconds = run.integer(spec.timeout, { key: 'timeout', task });
    if (seconds > 0) run.timer(timerOf('task timeout', task), seconds);
    startItems(run, id);
  });
}

/** The values of each item; one empty map for a task without items. @throws TaskFault */
function listItems(run: WorkflowRun, task: TaskDocument, spec: WorkflowTask): JsonObject[] {
  if (spec.with_items.length === 0) return [{}];
  const lists = spec.with_items.map(({ name, list }) => {
    const found = run.evaluate(list, { key: 'with-items', task });
    if (!Array.isArray(found))
      throw new TaskFault(`with-items: ${name} is not a list: ${JSON.stringify(found).slice(0, 100)}`);
    return { name, found };
  });
  const length = lists[0]?.found.length ?? 0;
  const other = lists.find(({ found }) => found.length !== length);
  if (other) {
    throw new TaskFault(`with-items: ${other.name} has ${other.found.length} items, ${lists[0]?.name} has ${length}`);
  }
  if (length > mostItems) throw new TaskFault(`with-items: ${length} items; at most ${mostItems} are allowed`);
  return Array.from({ length }, (_, index) => toRecord(lists.map(({ name, found }) => [name, found[index] ?? null])));
}

/** Starts items up to the concurrency of the task; ends the attempt when all items have ended. @throws TaskFault */
function startItems(run: WorkflowRun, id: string): void {
  const task = run.task(id);
  const spec = run.specOf(task);
  const asked = run.integer(spec.concurrency, { key: 'concurrency', task });
  const most = Math.min(asked === 0 ? defaultConcurrency : asked, defaultConcurrency);
  const items = [...task.items];
  let running = items.filter(({ state }) => state === 'RUNNING').length;
  if (run.execution.state === 'RUNNING') {
    for (const [index, item] of items.entries()) {
      if (running >= most) break;
      if (item.state !== 'IDLE') continue;
      const end = startItem(run, task, index);
      items[index] = end ? endedItem(item, end) : { ...item, state: 'RUNNING' };
      if (!end) running += 1;
    }
  }
  run.changeTask(id, { items });
  endWhenDone(run, id);
}

const endedItem = (item: TaskItem, { ok, result }: Pick<ActionEnd, 'ok' | 'result'>): TaskItem => ({
  ...item,
  state: ok ? 'SUCCESS' : 'ERROR',
  result,
});

/** Calls the action of an item. Returns its end when it needs no provider. @throws TaskFault */
function startItem(run: WorkflowRun, task: TaskDocument, index: number): Pick<ActionEnd, 'ok' | 'result'> | undefined {
  const spec = run.specOf(task);
  const extra = task.items[index]?.values ?? {};
  const id = actionId(task, index);
  const about = { task, extra };
  const input = run.mapping(spec.input, { key: 'input', ...about });
  const called = run.evaluate(spec.workflow ?? spec.action ?? 'std.noop', {
    key: spec.workflow ? 'workflow' : 'action',
    ...about,
  });
  const name = typeof called === 'string' ? called : JSON.stringify(called);
  if (spec.workflow !== null) {
    run.effect({ kind: 'workflow', id, task: task.name, workflow: name, input });
    return undefined;
  }
  const { through = [] } = spec;
  const given = baseInput(run, through, input);
  const inside = answerInside(name, given);
  if (inside !== 'outside') {
    return inside.ok ? { ok: true, result: resultThrough(run, through, inside.result) } : inside;
  }
  const seconds = run.integer(spec.timeout, { key: 'timeout', task }) || longestActionSeconds;
  const deadline = new Date(Date.parse(run.tools.now) + Math.min(seconds, longestActionSeconds) * 1000).toISOString();
  // A client completes this action; no provider takes it.
  if (name === 'std.async_noop') return undefined;
  run.effect({ kind: 'action', id, task: task.name, action: name, input: given, deadline });
  return undefined;
}

/** The end of an action as the task sees it, after the output of ad hoc actions. */
function endThrough(run: WorkflowRun, task: TaskDocument, end: Omit<ActionEnd, 'action'>): Omit<ActionEnd, 'action'> {
  const { through = [] } = run.specOf(task);
  if (!end.ok || through.length === 0) return end;
  try {
    return { ...end, result: resultThrough(run, through, end.result) };
  } catch (error) {
    if (!(error instanceof TaskFault)) throw error;
    return { ok: false, result: error.message, reason: error.message };
  }
}

/** Takes the end of an item. An end of an earlier attempt, or a second one, changes nothing. */
export function endItem(
  run: WorkflowRun,
  id: string,
  at: { attempt: number; item: number; end: Omit<ActionEnd, 'action'> },
): void {
  const task = run.state.tasks.get(id);
  const item = task?.items[at.item];
  if (!task || !item || task.state !== 'RUNNING' || task.attempt !== at.attempt || item.state !== 'RUNNING') return;
  const end = endThrough(run, task, at.end);
  const size = jsonBytes(end.result, mostValueBytes);
  const bytes = (task.bytes ?? 0) + size;
  const isLarge = size > mostValueBytes || bytes > mostCarriedBytes;
  const limit =
    size > mostValueBytes
      ? `The result is larger than ${mostValueBytes} bytes.`
      : `The results of all items are larger than ${mostCarriedBytes} bytes.`;
  const taken = isLarge
    ? { ok: false, result: limit }
    : { ok: end.ok, result: end.ok ? end.result : (end.result ?? end.reason) };
  run.changeTask(id, {
    ...(!isLarge && { bytes }),
    items: task.items.with(at.item, endedItem(item, taken)),
  });
  guarded(run, task, () => startItems(run, id));
}

/** Starts the items that waited while the execution was paused. */
export function continueItems(run: WorkflowRun, id: string): void {
  guarded(run, run.task(id), () => startItems(run, id));
}

function endWhenDone(run: WorkflowRun, id: string): void {
  const { items, listed } = run.task(id);
  if (items.some(({ state }) => state === 'IDLE' || state === 'RUNNING')) return;
  const ok = items.every(({ state }) => state === 'SUCCESS');
  const result: Json = listed ? items.map((item) => item.result) : (items[0]?.result ?? null);
  const reason = ok ? null : listed ? 'One or more actions had failed.' : reasonText(result);
  endAttempt(run, id, { ok, result, reason });
}

function reasonText(result: Json): string {
  if (typeof result === 'string') return result.slice(0, 1000);
  return (JSON.stringify(result) ?? '').slice(0, 1000);
}

/** Stops the actions that still run, because their results are no longer wanted. */
export function stopItems(run: WorkflowRun, task: TaskDocument): void {
  const { workflow, action } = run.specOf(task);
  const [called, name] = workflow === null ? (['action', action ?? ''] as const) : (['workflow', workflow] as const);
  for (const [index, { state }] of task.items.entries()) {
    if (state === 'RUNNING') run.effect({ kind: 'stop', id: actionId(task, index), task: task.name, called, name });
  }
  if (run.specOf(task).timeout !== null) run.effect({ kind: 'cancel timer', timer: timerOf('task timeout', task) });
}

/** Ends an attempt: publishes, then decides whether the task repeats, waits or ends. */
function endAttempt(run: WorkflowRun, id: string, given: Omit<ActionEnd, 'action'>): void {
  const spec = run.specOf(run.task(id));
  let { ok, reason, result } = given;
  const running = run.task(id);
  if (running.state === 'RUNNING') stopItems(run, running);
  const write = (): TaskDocument =>
    run.changeTask(id, { state: ok ? 'SUCCESS' : 'ERROR', result, reason, published: {} });
  let task = write();
  const fail = (error: unknown): void => {
    if (!(error instanceof TaskFault)) throw error;
    if (ok) result = error.message;
    [ok, reason] = [false, reason === null ? error.message : `${reason}; ${error.message}`];
    task = write();
  };
  try {
    const key = ok ? 'publish' : 'publish-on-error';
    const published = run.mapping(ok ? spec.publish : spec.publish_on_error, { key, task });
    task = run.changeTask(id, { published });
    if (ok && run.holds(spec.fail_on, { key: 'fail-on', task })) {
      [ok, reason] = [false, "Failed by 'fail-on' policy"];
      task = run.changeTask(id, { state: 'ERROR', reason });
    }
    if (repeats(run, task, spec)) return;
    const seconds = run.integer(spec.wait_after, { key: 'wait-after', task });
    if (seconds > 0) {
      delay(run, task, { wait: 'after', seconds, outcome: ok ? 'SUCCESS' : 'ERROR' });
      return;
    }
  } catch (error) {
    fail(error);
  }
  endTask(run, id, ok ? 'SUCCESS' : 'ERROR');
}

/** Sets the timer of the next attempt when the task retries. @throws TaskFault */
function repeats(run: WorkflowRun, task: TaskDocument, { retry }: WorkflowTask): boolean {
  if (!retry) return false;
  const failed = task.state === 'ERROR';
  const count = run.integer(retry.count, { key: 'retry.count', task });
  if (task.tries > count) return false;
  const again =
    retry.continue_on !== null
      ? run.holds(retry.continue_on, { key: 'retry.continue-on', task })
      : failed && !run.holds(retry.break_on, { key: 'retry.break-on', task });
  if (!again) return false;
  const seconds = run.integer(retry.delay, { key: 'retry.delay', task });
  delay(run, task, { wait: 'retry', seconds, published: {} });
  return true;
}

/** Ends a task. Its links are followed afterwards, in the order of ends. */
export function endTask(run: WorkflowRun, id: string, state: 'SUCCESS' | 'ERROR' | 'SKIPPED'): void {
  const task = run.changeTask(id, {
    state,
    wait: null,
    due: false,
    outcome: null,
    finished_at: run.tools.now,
    processed: false,
  });
  const kept = { SUCCESS: 'task.completed', ERROR: 'task.failed', SKIPPED: 'task.skipped' } as const;
  run.event(kept[state], task.reason, task);
}

/** Continues a task whose wait is over. */
export function endWait(run: WorkflowRun, id: string): void {
  const task = run.task(id);
  if (task.state !== 'DELAYED') return;
  if (run.execution.state === 'PAUSED') {
    run.changeTask(id, { due: true });
    return;
  }
  if (task.wait === 'after') endTask(run, id, task.outcome ?? 'SUCCESS');
  else runAttempt(run, id);
}

/** Takes a timer of a task. One of an earlier attempt is void. */
export function taskTimer(run: WorkflowRun, timer: TaskTimer): void {
  const task = run.state.tasks.get(`${run.execution.id}.${timer.task}`);
  if (!task || task.attempt !== timer.attempt) return;
  switch (timer.kind) {
    case 'task wait':
      endWait(run, task.id);
      return;
    case 'task timeout':
      if (task.state === 'RUNNING') timeOutTask(run, task);
  }
}

function timeOutTask(run: WorkflowRun, task: TaskDocument): void {
  let seconds = '';
  guarded(run, task, () => {
    seconds = String(run.integer(run.specOf(task).timeout, { key: 'timeout', task }));
  });
  if (run.task(task.id).state !== 'RUNNING') return;
  const reason = `Task timed out [timeout(s)=${seconds}].`;
  endAttempt(run, task.id, { ok: false, result: reason, reason });
}

/** The end of an action that the engine answers itself, because it touches nothing outside; `outside`: a provider runs it. */
function answerInside(name: string, input: JsonObject): { ok: boolean; result: Json } | 'outside' {
  switch (name) {
    case 'std.noop':
      return { ok: true, result: null };
    case 'std.echo':
      return { ok: true, result: input['output'] ?? null };
    case 'std.fail':
      return { ok: false, result: input['error_data'] ?? 'The action std.fail always fails.' };
    default:
      return 'outside';
  }
}
