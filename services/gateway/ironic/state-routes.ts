/** The states of nodes in Ironic's API. Each change is accepted, and completes in the background. */
import {
  nodeMaintenance,
  nodePower,
  nodeProvision,
  powerTimeout,
  nodeStepsSchema,
  runbookStepSchema,
  type NodeStep,
} from '@anneal/contracts/calls/provisioning.ts';
import { provisionVerbs, type ProvisionVerb } from '@anneal/contracts/node-choices.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { sealText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField } from '../http/input.ts';
import { occasionOf } from '../identity/occasion.ts';
import { nodeBody, nodeFields, pick } from './node-view.ts';
import { showNode, type NodePath } from './node-path.ts';
import { described } from '../http/document.ts';

const powerTargets = ['power on', 'power off', 'rebooting', 'soft power off', 'soft rebooting'] as const;
const powerSchema = z.strictObject({ target: z.enum(powerTargets), timeout: powerTimeout.nullish() });
/** Ironic's words for a verb. */
const verbOf: Readonly<Record<string, ProvisionVerb>> = {
  ...Object.fromEntries(provisionVerbs.map((verb) => [verb, verb])),
  undeploy: 'deleted',
  active: 'deploy',
};
const provisionSchema = z.strictObject({
  target: z.enum(Object.keys(verbOf)),
  clean_steps: nodeStepsSchema.optional(),
  deploy_steps: z
    .array(runbookStepSchema)
    .min(1)
    .max(50)
    .optional()
    .meta({ description: 'The highest priority is first.' }),
  service_steps: nodeStepsSchema.optional(),
  runbook: z.string().min(1).max(255).optional(),
  rescue_password: z.string().min(1).max(1024).optional(),
});

/** The steps of a request, in the order in which they run. */
function stepsIn({
  clean_steps,
  deploy_steps,
  service_steps,
}: z.output<typeof provisionSchema>): NodeStep[] | undefined {
  const byPriority = deploy_steps
    ?.filter(({ priority }) => priority > 0)
    .toSorted((a, b) => b.priority - a.priority)
    .map(({ priority: _priority, ...step }) => step);
  const given = [clean_steps, byPriority, service_steps].filter((steps) => steps !== undefined);
  if (given.length > 1)
    throw new AnnealError('InvalidRequest', 'Give only one of clean_steps, deploy_steps and service_steps.');
  return given[0];
}
const hardwareFields = ['raid_config', 'target_raid_config', 'boot_mode', 'secure_boot'];
const maintenanceSchema = z.strictObject({ reason: z.string().max(4096).nullish() });

const shows = described({
  summary: 'Show the states of a node.',
  answer: z.looseObject({ power_state: nodeFields.power_state, provision_state: nodeFields.provision_state }),
});
const powers = described({ summary: 'Switch the power of a node.', body: powerSchema, status: 202 });
const provisions = described({ summary: 'Send a node a verb.', body: provisionSchema, status: 202 });
const maintains = described({
  summary: 'Set a node into maintenance.',
  body: maintenanceSchema.optional(),
  status: 202,
});

/** Registers the routes of power, provision state and maintenance. */
export function stateRoutes(scope: FastifyInstance, { ask, secrets }: { ask: Ask; secrets: Secrets }): void {
  scope.get<NodePath>('/v1/nodes/:node/states', shows, async (request) => {
    const node = await showNode(ask, request);
    const fields = ['power_state', 'target_power_state', 'provision_state', 'target_provision_state', 'last_error'];
    return pick(nodeBody(baseUrl(request), node), [
      ...fields,
      'provision_updated_at',
      'console_enabled',
      ...hardwareFields,
    ]);
  });
  const accepted = (reply: FastifyReply): FastifyReply => reply.code(202).send();
  scope.put<NodePath>('/v1/nodes/:node/states/power', powers, async (request, reply) => {
    const { target, timeout } = parseField(powerSchema, request.body, 'The power request');
    await ask('provisioning', nodePower, {
      data: { node: request.params.node, target, ...(timeout != null && { timeout }), occasion: occasionOf(request) },
    });
    return accepted(reply);
  });
  scope.put<NodePath>('/v1/nodes/:node/states/provision', provisions, async (request, reply) => {
    const wanted = parseField(provisionSchema, request.body, 'The provision request');
    const target = verbOf[wanted.target];
    if (target === undefined) throw new AnnealError('Defect', `There is no verb ${wanted.target}.`);
    const steps = stepsIn(wanted);
    const password = wanted.rescue_password === undefined ? undefined : sealText(secrets, wanted.rescue_password);
    await ask('provisioning', nodeProvision, {
      sealed: password ?? null,
      data: {
        node: request.params.node,
        target,
        ...(steps && { steps }),
        ...(wanted.runbook !== undefined && { runbook: wanted.runbook }),
        ...(password !== undefined && { rescue_password: password }),
        occasion: occasionOf(request),
      },
    });
    return accepted(reply);
  });
  scope.put<NodePath>('/v1/nodes/:node/maintenance', maintains, async (request, reply) => {
    const { reason } = parseField(maintenanceSchema, request.body ?? {}, 'The maintenance request');
    const data = { node: request.params.node, maintenance: true, ...(typeof reason === 'string' && { reason }) };
    await ask('provisioning', nodeMaintenance, { data });
    return accepted(reply);
  });
  const ends = described({ summary: 'End the maintenance of a node.', status: 202 });
  scope.delete<NodePath>('/v1/nodes/:node/maintenance', ends, async (request, reply) => {
    await ask('provisioning', nodeMaintenance, { data: { node: request.params.node, maintenance: false } });
    return accepted(reply);
  });
}
