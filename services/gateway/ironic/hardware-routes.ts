/** The lights, the console, the boot mode and the RAID volumes of a node in Ironic's API. */
import {
  nodeLightsSet,
  nodeLights,
  nodeProvision,
  nodeShow,
  nodeUpdate,
  type NodeStep,
  type NodeView,
} from '@anneal/contracts/calls/provisioning.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { queryBoolean } from '../http/body.ts';
import { parseField } from '../http/input.ts';
import { occasionOf } from '../identity/occasion.ts';
import { consoleStateOf } from './consoles.ts';
import { showNode, type NodePath } from './node-path.ts';
import { ironicPrefix } from './node-view.ts';
import { described } from '../http/document.ts';

interface LightPath {
  Params: { node: string; light: string };
}

const lightSchema = z.strictObject({ state: z.string().min(1).max(64) });
const consoleSchema = z.strictObject({ enabled: z.union([z.boolean(), z.stringbool()]) });
const bootModeSchema = z.strictObject({ target: z.enum(['uefi', 'bios']) });
const secureBootSchema = z.strictObject({ target: z.union([z.boolean(), z.stringbool()]) });
const raidSchema = jsonObject.refine(
  (raid) => Object.keys(raid).length === 0 || Array.isArray(raid['logical_disks']),
  'expected {"logical_disks": […]}, or {} to plan none',
);

const showsConsole = described({
  summary: 'Show the console of a node.',
  answer: z.object({
    console_enabled: z.boolean(),
    console_info: z.object({ type: z.string(), url: z.string() }).nullable(),
  }),
});
const setsConsole = described({
  summary: 'Open or close the console of a node without a machine.',
  query: z.object({ enabled: z.boolean().optional() }),
  body: consoleSchema.optional(),
  status: 202,
});
const listsLights = described({
  summary: 'List the lights of a node.',
  answer: z.object({ indicators: z.array(z.looseObject({ name: z.string(), states: z.array(z.string()) })) }),
});
const showsLight = described({ summary: 'Show a light of a node.', answer: z.object({ state: z.string() }) });
const setsLight = described({ summary: 'Switch a light of a node.', body: lightSchema });
const setsBootMode = described({ summary: 'Set the boot mode of a node.', body: bootModeSchema, status: 202 });
const setsSecureBoot = described({ summary: 'Set secure boot of a node.', body: secureBootSchema, status: 202 });
const setsRaid = described({ summary: 'Plan the RAID volumes of a node.', body: raidSchema });

export function hardwareRoutes(scope: FastifyInstance, ask: Ask): void {
  lightRoutes(scope, ask);
  settingRoutes(scope, ask);
  scope.get<NodePath>('/v1/nodes/:node/states/console', showsConsole, async (request) =>
    consoleStateOf(await showNode(ask, request)),
  );
  scope.put<NodePath>('/v1/nodes/:node/states/console', setsConsole, async (request, reply) => {
    const given = request.body ?? { enabled: queryBoolean(request, 'enabled') };
    const { enabled } = parseField(consoleSchema, given, 'The console request');
    const { node } = request.params;
    await ask('provisioning', nodeLightsSet, { data: { node, console: enabled } });
    return reply.code(202).send();
  });
}

function lightRoutes(scope: FastifyInstance, ask: Ask): void {
  const at = '/v1/nodes/:node/management/indicators';
  const lightsOf = async (node: string) => (await ask('provisioning', nodeLights, { data: { node } })).indicators;
  const read = async (request: FastifyRequest<NodePath>) => {
    const { node } = request.params;
    return {
      indicators: Object.keys(await lightsOf(node)).map((name) => ({
        name,
        component: name.split('@')[1] ?? null,
        readonly: false,
        states: ['blinking', 'off', 'on'],
        links: [
          {
            href: `${baseUrl(request)}${ironicPrefix}/v1/nodes/${encodeURIComponent(node)}/management/indicators/${name}`,
            rel: 'self',
          },
        ],
      })),
    };
  };
  /** Ironic's own clients send the name both ways round. */
  const nameOf = (given: string): string => {
    const [first = '', second = ''] = given.split('@');
    return first === 'system' ? `${second}@${first}` : given;
  };
  scope.get<NodePath>(at, listsLights, read);
  scope.get<LightPath>(`${at}/:light`, showsLight, async ({ params }) => {
    const state = (await lightsOf(params.node))[nameOf(params.light)];
    if (state !== undefined) return { state };
    throw new AnnealError('NotFound', `Node ${params.node} has no indicator ${params.light}.`);
  });
  scope.put<LightPath>(`${at}/:light`, setsLight, async ({ params, body }, reply) => {
    const { state } = parseField(lightSchema, body, 'The indicator');
    const indicator = { name: nameOf(params.light), state };
    await ask('provisioning', nodeLightsSet, { data: { node: params.node, indicator } });
    return reply.code(204).send();
  });
}

/** Settings of the hardware: each is a step of a cleaning or a service. */
function settingRoutes(scope: FastifyInstance, ask: Ask): void {
  const run = async (request: FastifyRequest<NodePath>, reply: FastifyReply, step: NodeStep) => {
    const node = await ask('provisioning', nodeShow, { data: { node: request.params.node } });
    const data = { node: node.id, target: verbFor(node, step), steps: [step], occasion: occasionOf(request) };
    await ask('provisioning', nodeProvision, { sealed: null, data });
    return reply.code(202).send();
  };
  scope.put<NodePath>('/v1/nodes/:node/states/boot_mode', setsBootMode, (request, reply) => {
    const { target: mode } = parseField(bootModeSchema, request.body, 'The boot mode');
    return run(request, reply, { interface: 'management', step: 'set_boot_mode', args: { mode } });
  });
  scope.put<NodePath>('/v1/nodes/:node/states/secure_boot', setsSecureBoot, (request, reply) => {
    const { target: enabled } = parseField(secureBootSchema, request.body, 'The secure boot request');
    return run(request, reply, { interface: 'management', step: 'set_secure_boot', args: { enabled } });
  });
  scope.put<NodePath>('/v1/nodes/:node/states/raid', setsRaid, async (request, reply) => {
    const value = parseField(raidSchema, request.body, 'The RAID configuration');
    const patch = [{ op: 'add' as const, path: '/target_raid_config', value }];
    await ask('provisioning', nodeUpdate, { data: { node: request.params.node, patch } });
    return reply.code(204).send();
  });
}

function verbFor({ name, provision_state: state }: NodeView, { step }: NodeStep): 'clean' | 'service' {
  if (state === 'manageable') return 'clean';
  if (state === 'active' || state === 'service failed') return 'service';
  throw new AnnealError(
    'InvalidRequest',
    `Node ${name} is ${state}. The step ${step} runs on a node that is manageable (as a cleaning, which erases nothing) or active (as a service).`,
  );
}
