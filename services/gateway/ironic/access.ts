/**
 * The nodes that a user sees.
 *
 * N1 Operators see and change all nodes. Other users see the nodes that their project owns or leases, and change none.
 * N2 A node that a user does not see does not exist for that user: 404.
 */
import { nodeShow, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { callerOf } from '../identity/caller.ts';
import { isOperator } from '@anneal/directory/access.ts';

/** Reads that reach the BMC or reveal access to it. They need the role that changes nodes. */
const sensitive = /\/(?:validate|management\/boot_device(?:\/supported)?|states\/console|vendor_passthru\/methods)$/;

/** Addresses for operators only. */
const rulesOnly = /\/v1\/inspection_rules(?:\/|$)/;

const readsOnly = ({ method, routeOptions: { url = '' } }: FastifyRequest): boolean =>
  (method === 'GET' || method === 'HEAD') && !sensitive.test(url);

function seesAll(request: FastifyRequest): boolean {
  const caller = callerOf(request);
  return caller.kind === 'user' && isOperator(caller.access, 'reader');
}

/** N1 */
export function isVisible(request: FastifyRequest, { owner, lessee }: NodeView): boolean {
  if (seesAll(request)) return true;
  const { project } = callerOf(request);
  return project !== null && (owner === project || lessee === project);
}

/** Refuses what the rights of routes leave to this file: requests about nodes of users who are no operators. */
export function guardNodes(scope: FastifyInstance, ask: Ask): void {
  scope.addHook('onRequest', async (request) => {
    const { url = '' } = request.routeOptions;
    if (!/\/v1\/(?:nodes|runbooks|inspection_rules)(?:\/|$)/.test(url)) return;
    const caller = callerOf(request);
    const needed = readsOnly(request) ? 'reader' : 'member';
    if (caller.kind === 'user' && isOperator(caller.access, needed)) return;
    const { node } = request.params as { node?: string };
    if (node !== undefined) {
      const found = await ask('provisioning', nodeShow, { data: { node } });
      if (!isVisible(request, found)) throw new AnnealError('NotFound', `There is no node with id or name ${node}.`);
    }
    if (needed === 'reader' && !rulesOnly.test(url)) return;
    throw new AnnealError('Forbidden', `This request needs the role admin; ${caller.name} may only read here.`);
  });
}
