/** The states of nodes in Ironic's API. Each change is accepted, and completes in the background. */
import { nodeMaintenance, nodePower, nodeProvision } from '@anneal/contracts/calls/provisioning.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField } from '../http/body.ts';
import { occasionOf } from '../identity/occasion.ts';
import { nodeBody, pick } from './node-view.ts';
import { showNode, type NodePath } from './node-path.ts';

const powerTargets = ['power on', 'power off', 'rebooting', 'soft power off', 'soft rebooting'] as const;
const powerSchema = z.strictObject({ target: z.enum(powerTargets) });
const provisionSchema = z.strictObject({
  target: z.enum(['manage', 'inspect', 'provide', 'clean', 'abort', 'deleted']),
});
const maintenanceSchema = z.strictObject({ reason: z.string().max(4096).nullish() });

/** Registers the routes of power, provision state and maintenance. */
export function stateRoutes(scope: FastifyInstance, ask: Ask): void {
  scope.get<NodePath>('/v1/nodes/:node/states', async (request) => {
    const node = await showNode(ask, request);
    const fields = ['power_state', 'target_power_state', 'provision_state', 'target_provision_state', 'last_error'];
    return pick(nodeBody(baseUrl(request), node), [...fields, 'provision_updated_at', 'console_enabled']);
  });
  const accepted = (reply: FastifyReply): FastifyReply => reply.code(202).send();
  scope.put<NodePath>('/v1/nodes/:node/states/power', async (request, reply) => {
    const { target } = parseField(powerSchema, request.body, 'The power request');
    await ask('provisioning', nodePower, {
      data: { node: request.params.node, target, occasion: occasionOf(request) },
    });
    return accepted(reply);
  });
  scope.put<NodePath>('/v1/nodes/:node/states/provision', async (request, reply) => {
    const { target } = parseField(provisionSchema, request.body, 'The provision request');
    await ask('provisioning', nodeProvision, {
      data: { node: request.params.node, target, occasion: occasionOf(request) },
    });
    return accepted(reply);
  });
  scope.put<NodePath>('/v1/nodes/:node/maintenance', async (request, reply) => {
    const { reason } = parseField(maintenanceSchema, request.body ?? {}, 'The maintenance request');
    const data = { node: request.params.node, maintenance: true, ...(typeof reason === 'string' && { reason }) };
    await ask('provisioning', nodeMaintenance, { data });
    return accepted(reply);
  });
  scope.delete<NodePath>('/v1/nodes/:node/maintenance', async (request, reply) => {
    await ask('provisioning', nodeMaintenance, { data: { node: request.params.node, maintenance: false } });
    return accepted(reply);
  });
}
