/** Tasks for the end of a test process, however it is ended. */
const tasks = new Set<() => void>();

/**
 * Runs a synchronous task at the end of this process: at its exit, and at the SIGTERM with which the test runner ends
 * its workers. A process that is killed with SIGKILL runs nothing.
 */
export function atProcessEnd(task: () => void): void {
  if (tasks.size === 0) {
    process.once('exit', () => {
      for (const each of tasks) each();
    });
    process.once('SIGTERM', () => process.exit(143));
  }
  tasks.add(task);
}
