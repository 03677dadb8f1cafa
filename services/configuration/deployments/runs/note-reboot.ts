/** Brings the document of a host in line with the reboot that its run has recorded. Harmless to repeat. */
import type { ConfigurationResource, PendingReboot } from '../../collections.ts';
import { noteHostReboot } from '../../hosts/reboot.ts';
import { isInProgress } from '../decisions/run-states.ts';
import type { RunContext } from './run-context.ts';

export async function noteReboot(
  context: Pick<RunContext, 'service' | 'collections' | 'queues'>,
  document: ConfigurationResource,
): Promise<void> {
  const { deployment, run_id: run } = document;
  if (!deployment?.reboot || run === null) return;
  const { over, ...reboot } = deployment.reboot;
  const pending: PendingReboot | undefined =
    isInProgress(document) && !over
      ? { ...reboot, run, deployment_id: document.id, deployment: deployment.name }
      : undefined;
  await noteHostReboot(context, { host: deployment.host_id, run, reboot: pending });
}
