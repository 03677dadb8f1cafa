/** Long actions as tasks. Some controllers answer 202 with a monitor to poll, others 204 at once. */
import { redfishResource } from './representation.ts';

interface Task {
  readonly id: string;
  readonly name: string;
  readonly startedAt: Date;
  endedAt: Date | undefined;
  /** Why the task failed. */
  failed: string | undefined;
  readonly habit: TaskHabit;
  /** How often the task is still shown as running. */
  looks: number;
}

/** How a controller shows its tasks. */
export interface TaskHabit {
  /** Its end is never shown. */
  readonly isEndless?: boolean | undefined;
  readonly looks?: number;
  /** The status of the monitor at the end. */
  readonly ends?: 200 | 204 | 303 | 404 | 410;
  /** The state while it runs. */
  readonly word?: string | undefined;
}

export const tasksPath = '/redfish/v1/TaskService/Tasks';
export const monitorsPath = '/redfish/v1/TaskService/TaskMonitors';

export class Tasks {
  readonly #tasks = new Map<string, Task>();
  #next = 1;

  start(name: string, work: Promise<unknown>, habit: TaskHabit = {}): Task {
    const looks = habit.looks ?? 0;
    const id = String(this.#next);
    const task: Task = { id, name, startedAt: new Date(), endedAt: undefined, failed: undefined, habit, looks };
    this.#next += 1;
    this.#tasks.set(task.id, task);
    const end = (failed?: string): void => {
      if (habit.isEndless) return;
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

  /** Whether a reading of the task shows its end. */
  look(task: Task): boolean {
    if (task.endedAt === undefined) return false;
    if (task.looks === 0) return true;
    task.looks -= 1;
    return false;
  }

  show(task: Task): object {
    const isShownEnded = task.endedAt !== undefined && task.looks === 0;
    return redfishResource(`${tasksPath}/${task.id}`, 'v1_7_3.Task', {
      Id: task.id,
      Name: task.name,
      TaskState: !isShownEnded ? (task.habit.word ?? 'Running') : task.failed !== undefined ? 'Exception' : 'Completed',
      TaskStatus: task.failed === undefined ? 'OK' : 'Critical',
      PercentComplete: isShownEnded ? 100 : 50,
      StartTime: task.startedAt.toISOString(),
      ...(isShownEnded && { EndTime: task.endedAt?.toISOString() }),
      TaskMonitor: `${monitorsPath}/${task.id}`,
      Messages: task.failed === undefined ? [] : [{ MessageId: 'Base.1.18.InternalError', Message: task.failed }],
    });
  }
}
