/** The lights, the console, the boot mode and the RAID volumes of a node in Ironic's API. */
import { nodeLightsSet, nodeLights } from '@anneal/contracts/calls/node-hardware.ts';
import { nodeProvision, nodeUpdate, type NodeStep, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField } from '@anneal/contracts/field-mistakes.ts';
import { route, type Route } from '../http/route.ts';
import { occasionOf } from '../identity/occasion.ts';
import { consoleStateOf } from './consoles.ts';
import { showNode } from './node-path.ts';
import { ironicPrefix } from './node-view.ts';

const consoleBody = z.strictObject({ enabled: z.union([z.boolean(), z.stringbool()]) });
const raidBody = jsonObject.refine(
  (raid) => Object.keys(raid).length === 0 || Array.isArray(raid['logical_disks']),
  'expected {"logical_disks": […]}, or {} to plan none',
);

/** The routes of lights, settings and the console. */
export const hardwareRoutes = (ask: Ask): Route[] => [
  ...lightRoutes(ask),
  ...plannedRoutes(ask),
  route({
    method: 'GET',
    path: '/v1/nodes/{node}/states/console',
    summary: 'Show the console of a node.',
    answer: z.object({
      console_enabled: z.boolean(),
      console_info: z.object({ type: z.string(), url: z.string() }).nullable(),
    }),
    handle: async ({ params }) => consoleStateOf(await showNode(ask, params.node)),
  }),
  route({
    method: 'PUT',
    path: '/v1/nodes/{node}/states/console',
    summary: 'Open or close the console of a node without a machine.',
    query: z.object({ enabled: z.boolean().optional() }),
    body: consoleBody.nullish(),
    status: 202,
    handle: async ({ params: { node }, query, body }) => {
      const { enabled } = body ?? parseField(consoleBody, query, 'The console request');
      await ask('provisioning', nodeLightsSet, { data: { node, console: enabled } });
    },
  }),
];

function lightRoutes(ask: Ask): Route[] {
  const at = '/v1/nodes/{node}/management/indicators';
  const lightsOf = async (node: string) => (await ask('provisioning', nodeLights, { data: { node } })).indicators;
  /** Ironic's own clients send the name both ways round. */
  const nameOf = (given: string): string => {
    const [first = '', second = ''] = given.split('@');
    return first === 'system' ? `${second}@${first}` : given;
  };
  return [
    route({
      method: 'GET',
      path: at,
      summary: 'List the lights of a node.',
      answer: z.object({ indicators: z.array(z.looseObject({ name: z.string(), states: z.array(z.string()) })) }),
      handle: async ({ params: { node }, request }) => {
        const base = `${baseUrl(request)}${ironicPrefix}/v1/nodes/${encodeURIComponent(node)}`;
        return {
          indicators: Object.keys(await lightsOf(node)).map((name) => ({
            name,
            component: name.split('@')[1] ?? null,
            readonly: false,
            states: ['blinking', 'off', 'on'],
            links: [{ href: `${base}/management/indicators/${name}`, rel: 'self' }],
          })),
        };
      },
    }),
    route({
      method: 'GET',
      path: `${at}/{light}`,
      summary: 'Show a light of a node.',
      answer: z.object({ state: z.string() }),
      handle: async ({ params: { node, light } }) => {
        const state = (await lightsOf(node))[nameOf(light)];
        if (state !== undefined) return { state };
        throw new AnnealError('NotFound', `Node ${node} has no indicator ${light}.`);
      },
    }),
    route({
      method: 'PUT',
      path: `${at}/{light}`,
      summary: 'Switch a light of a node.',
      body: z.strictObject({ state: z.string().min(1).max(64) }),
      handle: async ({ params: { node, light }, body: { state } }) => {
        const indicator = { name: nameOf(light), state };
        await ask('provisioning', nodeLightsSet, { data: { node, indicator } });
      },
    }),
  ];
}

/** Settings of the hardware: each is a step of a cleaning or a service, or the arguments of one. */
function plannedRoutes(ask: Ask): Route[] {
  const run = async (named: string, step: NodeStep, request: FastifyRequest): Promise<void> => {
    const node = await showNode(ask, named);
    const data = { node: node.id, target: verbFor(node, step), steps: [step], occasion: occasionOf(request) };
    await ask('provisioning', nodeProvision, { sealed: null, data });
  };
  return [
    route({
      method: 'PUT',
      path: '/v1/nodes/{node}/states/boot_mode',
      summary: 'Set the boot mode of a node.',
      body: z.strictObject({ target: z.enum(['uefi', 'bios']) }),
      status: 202,
      handle: ({ params: { node }, body: { target: mode }, request }) =>
        run(node, { interface: 'management', step: 'set_boot_mode', args: { mode } }, request),
    }),
    route({
      method: 'PUT',
      path: '/v1/nodes/{node}/states/secure_boot',
      summary: 'Set secure boot of a node.',
      body: z.strictObject({ target: z.union([z.boolean(), z.stringbool()]) }),
      status: 202,
      handle: ({ params: { node }, body: { target: enabled }, request }) =>
        run(node, { interface: 'management', step: 'set_secure_boot', args: { enabled } }, request),
    }),
    route({
      method: 'PUT',
      path: '/v1/nodes/{node}/states/raid',
      summary: 'Plan the RAID volumes of a node.',
      // An empty object removes the plan, so an absent body must not count as one.
      body: raidBody.optional(),
      handle: async ({ params: { node }, body }) => {
        const value = parseField(raidBody, body, 'The request body');
        const patch = [{ op: 'add' as const, path: '/target_raid_config', value }];
        await ask('provisioning', nodeUpdate, { data: { node, patch } });
      },
    }),
  ];
}

function verbFor({ name, provision_state: state }: NodeView, { step }: NodeStep): 'clean' | 'service' {
  if (state === 'manageable') return 'clean';
  if (state === 'active' || state === 'service failed') return 'service';
  throw new AnnealError(
    'InvalidRequest',
    `Node ${name} is ${state}. The step ${step} runs on a node that is manageable (as a cleaning, which erases nothing) or active (as a service).`,
  );
}
