/** The main program of a process that runs one service. The only file of the runtime that touches the process. */
import { hasCode } from '@anneal/contracts/errors.ts';
import { startServices, type RunningServices } from './serve.ts';
import type { Service } from './service.ts';
import { explainStart } from './start-failure.ts';

/**
 * Reads the environment, starts the service, and stops it at SIGTERM or SIGINT: gently first, at once on a second
 * signal. An unhandled error ends the process, because a restart from durable state is safer than to continue.
 */
export async function runMain(service: Service): Promise<void> {
  try {
    stopOnSignals(await startServices({ services: [service], environment: process.env }));
  } catch (error) {
    process.stderr.write(`anneal ${service.name} could not start: ${explainStart(error)}`);
    process.exitCode = isMisconfigured(error) ? misconfiguredExitCode : 1;
  }
}

/** Wrong settings or credentials (EX_CONFIG), which a restart by the supervisor cannot fix. */
export const misconfiguredExitCode = 78;
const isMisconfigured = (error: unknown): boolean => hasCode(error, 'InvalidRequest', 'Unauthorized');

/** Stops the services on SIGTERM or SIGINT. A second signal ends the process at once. */
export function stopOnSignals(
  running: Pick<RunningServices, 'log' | 'stop'>,
  afterStop: () => Promise<void> = async () => {},
): void {
  let asked = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (asked) process.exit(130);
    asked = true;
    running.log.info({ signal }, 'stopping; a second signal stops at once');
    void running
      .stop()
      .then(afterStop)
      .finally(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      running.log.fatal({ err: error }, `${event}; stopping at once, a restart continues from durable state`);
      process.exit(1);
    });
  }
}
