/**
 * Has the machine of a host reset by its BMC when the host is not back from a reboot for a config in time. Only a node of
 * Anneal has a BMC. A host is reset once for each reboot; then it has the limit of a boot again.
 */
import { nodeList, nodePower } from '@anneal/contracts/calls/nodes.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import type { ConfigurationResource } from '../../collections.ts';
import { takeInput } from './carry-out.ts';
import { noteReboot } from './note-reboot.ts';
import type { RunContext } from './run-context.ts';

/** A service that does not answer delays the end of the config by this. */
const timeoutMs = 10_000;
const queue = requestsQueue('provisioning');

/** False when the host is not late, has no node, or its BMC cannot be asked: then the limit ends the run. */
export async function resetLate(
  context: RunContext,
  { run, document }: { run: string; document: ConfigurationResource },
): Promise<boolean> {
  const { deployment } = document;
  const { reboot, request } = deployment ?? {};
  if (!deployment || !request || !reboot || reboot.over || reboot.reset_at !== undefined) return false;
  if (Date.parse(request.deadline) <= context.queues.now()) return false;
  if (!(await reset(context, deployment.host_id, document.project))) return false;
  const taken = await takeInput(context, { run, document }, { kind: 'reset' });
  if (taken.document) await noteReboot(context, taken.document);
  return taken.decision.effect === 'reboots';
}

async function reset({ service }: RunContext, host: string, project: string): Promise<boolean> {
  const { bus, mint, log } = service;
  try {
    const asked = mint(nodeList, { project, data: { instance_id: host, limit: 1 } });
    const [node] = (await bus.request({ queue, call: nodeList, message: asked, timeoutMs })).nodes;
    if (!node) return false;
    const order = mint(nodePower, { project, data: { node: node.id, target: 'rebooting' } });
    await bus.request({ queue, call: nodePower, message: order, timeoutMs });
    log.warn({ host, node: node.name }, 'host is not back from its reboot; its BMC resets it');
    return true;
  } catch (error) {
    log.warn({ err: error, host }, 'host is not back from its reboot, and its BMC cannot reset it; its config fails');
    return false;
  }
}
