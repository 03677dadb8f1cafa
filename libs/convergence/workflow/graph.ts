/** The tasks of a workflow as a graph. */
import type { WorkflowSpec, WorkflowTask } from '@anneal/contracts/workflow.ts';

/** The names in all clauses of a task, commands included. */
export const linkNames = (task: WorkflowTask): string[] =>
  [task.on_success, task.on_error, task.on_complete, task.on_skip].flatMap((clause) =>
    (clause?.next ?? []).map(({ to }) => to),
  );

/** The tasks that start first: in a direct workflow those without an inbound link. */
export function firstTasks(spec: WorkflowSpec): string[] {
  const linked = new Set(spec.tasks.flatMap(linkNames));
  return spec.tasks.flatMap(({ name }) => (linked.has(name) ? [] : [name]));
}

/** The tasks that a reverse workflow runs for a goal: the goal and all that it requires. */
export function requiredTasks(spec: WorkflowSpec, goal: string): string[] {
  const byName = new Map(spec.tasks.map((task) => [task.name, task]));
  const found = new Set<string>();
  const queue = [goal];
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    if (found.has(at)) continue;
    found.add(at);
    queue.push(...(byName.get(at)?.requires ?? []));
  }
  return spec.tasks.flatMap(({ name }) => (found.has(name) ? [name] : []));
}
