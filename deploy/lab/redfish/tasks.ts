/** Long actions as tasks. Some controllers answer 202 with a monitor to poll, others 204 at once. */
import { redfishResource } from './representation.ts';

interface Task {
  readonly id: string;
  readonly name: string;
  readonly startedAt: Date;
  endedAt: Date | undefined;
  /** Why the task failed. */
  failed: string | undefined;
}

export const tasksPath = '/redfish/v1/TaskService/Tasks';
export const monitorsPath = '/redfish/v1/TaskService/TaskMonitors';

export class Tasks {
  readonly #tasks = new Map<string, Task>();
  #next = 1;

  /** @param isEndless its end is never shown */
  start(name: string, work: Promise<unknown>, isEndless = false): Task {
    const task: Task = { id: String(this.#next), name, startedAt: new Date(), endedAt: undefined, failed: undefined };
    this.#next += 1;
    this.#tasks.set(task.id, task);
    const end = (failed?: string): void => {
      if (isEndless) return;
      task.failed = failed;
      task.endedAt = new Date();
    };
    work.then(
      () => end(),
      (error: unknown) => end(error instanceof Error ? error.message : String(error)),
    );
    // Controllers keep a short history. Drop the oldest task first.
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > 200 && oldest !== undefined) this.#tasks.delete(oldest);
    return task;
  }

  get(id: string): Task | undefined {
    return this.#tasks.get(id);
  }

  ids(): string[] {
    return [...this.#tasks.keys()];
  }

  show(task: Task): object {
    return redfishResource(`${tasksPath}/${task.id}`, 'v1_7_3.Task', {
      Id: task.id,
      Name: task.name,
      TaskState: task.failed !== undefined ? 'Exception' : task.endedAt ? 'Completed' : 'Running',
      TaskStatus: task.failed === undefined ? 'OK' : 'Critical',
      PercentComplete: task.endedAt ? 100 : 50,
      StartTime: task.startedAt.toISOString(),
      ...(task.endedAt && { EndTime: task.endedAt.toISOString() }),
      TaskMonitor: `${monitorsPath}/${task.id}`,
      Messages: task.failed === undefined ? [] : [{ MessageId: 'Base.1.18.InternalError', Message: task.failed }],
    });
  }
}
