/**
 * Joins: decides which waiting task may begin, and which can no longer begin.
 *
 * `all` needs a link from every inbound task; a number needs so many. An inbound task that has ended without taking its
 * link, and that no live task can reach again, counts against. A join that can no longer begin fails, and its on-error
 * handles that like any other error.
 */
import { beginTask, endTask } from './attempt.ts';
import { isLiveTask, type TaskDocument } from './documents.ts';
import type { WorkflowRun } from './run.ts';
import { linkNames } from './graph.ts';

/** Begins or fails the joins that are decided. True when one changed. */
export function decideJoins(run: WorkflowRun): boolean {
  let changed = false;
  for (const join of run.inOrder().filter(({ state }) => state === 'WAITING')) {
    if (run.execution.state !== 'RUNNING') break;
    changed = decideJoin(run, join) || changed;
  }
  return changed;
}

function decideJoin(run: WorkflowRun, join: TaskDocument): boolean {
  const inbound = inboundOf(run, join.name);
  const { join: wanted } = run.specOf(join);
  const needed = wanted === 'all' ? inbound.length : (wanted ?? 1);
  if (join.triggers.length >= needed) {
    beginTask(run, join.id);
    return true;
  }
  const open = inbound.filter((name) => !join.triggers.includes(name));
  const lost = open.filter((name) => isLost(run, name, join));
  if (join.triggers.length + open.length - lost.length >= needed) return false;
  const reason = `Failed by tasks: [${lost.map((name) => `'${name}'`).join(', ')}]`;
  run.changeTask(join.id, { reason, result: reason });
  endTask(run, join.id, 'ERROR');
  return true;
}

/** The tasks with a link to this one, in the order of the text. */
function inboundOf(run: WorkflowRun, name: string): string[] {
  return run.state.spec.tasks.filter((task) => linkNames(task).includes(name)).map((task) => task.name);
}

/** True when no live task is this one, or can lead to it. */
function isLost(run: WorkflowRun, name: string, join: TaskDocument): boolean {
  const live = [...run.state.tasks.values()].filter((task) => task.id !== join.id && isLiveTask(task));
  const seen = new Set<string>();
  const queue = live.map((task) => task.name);
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    if (at === name) return false;
    if (seen.has(at)) continue;
    seen.add(at);
    const spec = run.state.specs.get(at);
    if (spec) queue.push(...linkNames(spec));
  }
  return true;
}

/** Fails the first join when only joins are left that wait for each other. True when there was one. */
export function breakDeadlock(run: WorkflowRun): boolean {
  const live = run.inOrder().filter(isLiveTask);
  const [first] = live;
  if (!first || live.some(({ state }) => state !== 'WAITING')) return false;
  const names = live.map(({ name }) => name).join(', ');
  const reason = `The joins wait for each other: ${names}`;
  run.changeTask(first.id, { reason, result: reason });
  endTask(run, first.id, 'ERROR');
  return true;
}
