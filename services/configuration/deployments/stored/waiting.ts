/**
 * Deployments that clients made by the API for a server that did not exist yet. They run on the host of that name or id
 * as soon as there is one: a stack makes it, or a machine joins. Until then a client may report a result instead.
 *
 * W1 Host and deployment find each other in whatever order they come: the creation of a host looks for deployments that
 *    wait for it, and the creation of such a deployment looks for the host again after it has written the document.
 * W2 They are queued in the order in which they were made.
 */
import { change } from '@anneal/store/change.ts';
import type { ConfigurationResource, DeploymentState, HostDocument } from '../../collections.ts';
import { waitingIds } from '../../hosts/names.ts';
import type { NewRunContext, RunTarget } from '../requests/new-run.ts';
import { carryOut } from '../runs/carry-out.ts';
import { usualLimitMs, runOf } from './stored-run.ts';

export const waitsForHost = (host: string): string =>
  `There is no host ${host} yet: the config is queued when a machine joins or a stack makes a server under this name or id.`;

export const isWaiting = ({ stack_id, run_id, status }: ConfigurationResource): boolean =>
  stack_id === '' && run_id === null && status === 'IN_PROGRESS';

/** W1, W2. A repeat completes what a crash may have left undone. */
export async function deliverWaiting(context: NewRunContext, host: HostDocument): Promise<void> {
  if (host.status === 'deleting') return;
  const found = await context.collections.resources.find({
    where: { host_id: { in: [host.id, ...waitingIds(host.name)] }, status: 'IN_PROGRESS' },
  });
  const made = found
    .filter(({ project, stack_id }) => project === host.project && stack_id === '')
    .toSorted((a, b) => ((a.deployment?.created_at ?? '') < (b.deployment?.created_at ?? '') ? -1 : 1));
  for (const { id } of made)
    await context.queues.serial.run(`host ${host.id}`, async () => {
      const { document } = await change(context.collections.resources, id, (current) =>
        isWaiting(current) && current.removed_at === null && current.deployment
          ? queuedOn(context, host, { ...current, deployment: current.deployment })
          : undefined,
      );
      if (document) await carryOut(context, document, host);
    });
}

function queuedOn(
  context: NewRunContext,
  host: HostDocument,
  current: ConfigurationResource & { readonly deployment: DeploymentState },
) {
  const { deployment } = current;
  const { config, name, action, input_values: values } = deployment;
  const target: RunTarget = { config, name, values, actions: [action], waits: true };
  const deadline = new Date(context.queues.now() + usualLimitMs).toISOString();
  const base = { ...current, fence: current.fence + 1, response: null, host_id: host.id };
  return runOf(context, base, { host, target, action, deadline, before: deployment, version: current.version + 1 });
}
