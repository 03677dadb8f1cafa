/** The end of the runs of a host that is being deleted. */
import type { HostDocument } from '../../collections.ts';
import { takeInput } from './carry-out.ts';
import type { RunContext } from './run-context.ts';

/** Ends the runs of a host, and asks it to stop the one that it runs. No answer will come. */
export async function abandonRuns(context: RunContext, host: HostDocument): Promise<void> {
  const { resources } = context.collections;
  const running = await resources.find({ where: { host_id: host.id, status: 'IN_PROGRESS' } });
  for (const { run_id: run } of running) {
    if (run !== null) await takeInput(context, { run }, { kind: 'host deleted', host });
  }
}
