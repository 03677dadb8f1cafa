/** The states of nodes in Ironic's API. Each change is accepted, and completes in the background. */
import {
  nodeMaintenance,
  nodePower,
  nodeProvision,
  powerTimeout,
  nodeStepsSchema,
  type NodeStep,
} from '@anneal/contracts/calls/nodes.ts';
import { runbookStepSchema } from '@anneal/contracts/calls/runbooks.ts';
import { provisionVerbs, type ProvisionVerb } from '@anneal/contracts/node-choices.ts';
import { sealText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { route, type Route } from '../http/route.ts';
import { occasionOf } from '../identity/occasion.ts';
import { nodeBody, nodeFields, pick } from './node-view.ts';
import { showNode } from './node-path.ts';

const powerTargets = ['power on', 'power off', 'rebooting', 'soft power off', 'soft rebooting'] as const;
/** Ironic's words for a verb. */
const verbOf = {
  ...(Object.fromEntries(provisionVerbs.map((verb) => [verb, verb])) as Record<ProvisionVerb, ProvisionVerb>),
  undeploy: 'deleted',
  active: 'deploy',
} as const;
const provisionBody = z
  .strictObject({
    target: z.enum(Object.keys(verbOf) as (keyof typeof verbOf)[]).transform((word): ProvisionVerb => verbOf[word]),
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
  })
  .refine(
    ({ clean_steps, deploy_steps, service_steps }) =>
      [clean_steps, deploy_steps, service_steps].filter((steps) => steps !== undefined).length <= 1,
    'Give only one of clean_steps, deploy_steps and service_steps.',
  );

/** The steps of a request, in the order in which they run. */
function stepsIn({ clean_steps, deploy_steps, service_steps }: z.output<typeof provisionBody>): NodeStep[] | undefined {
  const byPriority = deploy_steps
    ?.filter(({ priority }) => priority > 0)
    .toSorted((a, b) => b.priority - a.priority)
    .map(({ priority: _priority, ...step }) => step);
  return clean_steps ?? byPriority ?? service_steps;
}

const shownFields = [
  'power_state',
  'target_power_state',
  'provision_state',
  'target_provision_state',
  'last_error',
  'provision_updated_at',
  'console_enabled',
  'raid_config',
  'target_raid_config',
  'boot_mode',
  'secure_boot',
];

/** The routes of power, provision state and maintenance. */
export const stateRoutes = ({ ask, secrets }: { ask: Ask; secrets: Secrets }): Route[] => [
  route({
    method: 'GET',
    path: '/v1/nodes/{node}/states',
    summary: 'Show the states of a node.',
    answer: z.looseObject({ power_state: nodeFields.power_state, provision_state: nodeFields.provision_state }),
    handle: async ({ params, request }) =>
      pick(nodeBody(baseUrl(request), await showNode(ask, params.node)), shownFields),
  }),
  route({
    method: 'PUT',
    path: '/v1/nodes/{node}/states/power',
    summary: 'Switch the power of a node.',
    body: z.strictObject({ target: z.enum(powerTargets), timeout: powerTimeout.nullish() }),
    status: 202,
    handle: async ({ params: { node }, body: { target, timeout }, request }) => {
      const data = { node, target, ...(timeout != null && { timeout }), occasion: occasionOf(request) };
      await ask('provisioning', nodePower, { data });
    },
  }),
  route({
    method: 'PUT',
    path: '/v1/nodes/{node}/states/provision',
    summary: 'Send a node a verb.',
    body: provisionBody,
    status: 202,
    handle: async ({ params: { node }, body, request }) => {
      const { target, runbook, rescue_password: password } = body;
      const steps = stepsIn(body);
      const sealed = password === undefined ? null : sealText(secrets, password);
      await ask('provisioning', nodeProvision, {
        sealed,
        data: {
          node,
          target,
          ...(steps && { steps }),
          ...(runbook !== undefined && { runbook }),
          ...(sealed && { rescue_password: sealed }),
          occasion: occasionOf(request),
        },
      });
    },
  }),
  route({
    method: 'PUT',
    path: '/v1/nodes/{node}/maintenance',
    summary: 'Set a node into maintenance.',
    body: z.strictObject({ reason: z.string().max(4096).nullish() }).nullish(),
    status: 202,
    handle: async ({ params: { node }, body }) => {
      const reason = body?.reason;
      const data = { node, maintenance: true, ...(typeof reason === 'string' && { reason }) };
      await ask('provisioning', nodeMaintenance, { data });
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/nodes/{node}/maintenance',
    summary: 'End the maintenance of a node.',
    status: 202,
    handle: async ({ params: { node } }) => {
      await ask('provisioning', nodeMaintenance, { data: { node, maintenance: false } });
    },
  }),
];
