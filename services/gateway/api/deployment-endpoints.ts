/** Configs and deployments. */
import {
  configCreate,
  configViewSchema,
  configWarnings,
  configWarningsSchema,
} from '@anneal/contracts/calls/configs.ts';
import {
  deploymentDelete,
  deploymentList,
  deploymentRun,
  deploymentShow,
  deploymentViewSchema,
} from '@anneal/contracts/calls/deployments.ts';
import { json, jsonObject } from '@anneal/contracts/json.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { projectOf } from '../identity/caller.ts';
import { route, type BodyLimit, type Route } from '../http/route.ts';
import { outputEndpoints, type OutputEndpointOptions } from './output-endpoints.ts';

const newConfig = z.strictObject({
  id: z.uuid().meta({ description: 'Chosen by the client, so that it can repeat the request.' }),
  name: z.string().max(255),
  group: z.string().default('script'),
  config: json,
  options: jsonObject.default({}),
});
const newDeployments = z.strictObject({
  config: z.string(),
  hosts: z.array(z.string().min(1)).min(1).max(100).meta({ description: 'Ids of hosts.' }),
  seconds: z.number().int().positive().max(2_592_000).optional().meta({
    description: 'Time limit of each deployment, waiting included. Absent: one day.',
  }),
});

export const deploymentEndpoints = (options: OutputEndpointOptions & { configLimit: BodyLimit }): Route[] => [
  ...reads(options.ask),
  ...writes(options),
  ...outputEndpoints(options),
];

function writes({ ask, configLimit }: { ask: Ask; configLimit: BodyLimit }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/configs',
      summary: 'Store a config that deployments can run. A repeat with the same id changes nothing.',
      status: 201,
      body: newConfig,
      answer: configViewSchema.extend({ warnings: configWarningsSchema }),
      limit: configLimit,
      handle: async ({ request, body }) => {
        const project = projectOf(request);
        const created = await ask('configuration', configCreate, {
          project,
          data: { ...body, project, inputs: [], outputs: [], forget: true },
        });
        return { ...created, ...configWarnings(created) };
      },
    }),
    route({
      method: 'POST',
      path: '/deployments',
      summary:
        'Run a config on hosts. A repeat runs nothing twice, because a host and a config have one deployment. Nothing runs when a host does not exist. In the answer `config` is null and `input_values` is empty. The deployments are deleted some time after their end (ANNEAL_CONFIGURATION_RUN_KEEP_SECONDS).',
      status: 201,
      body: newDeployments,
      answer: z.object({ deployments: z.array(deploymentViewSchema) }),
      handle: async ({ request, body: { config, hosts, seconds } }) => {
        const project = projectOf(request);
        const deployments = [...new Set(hosts)].map((host) => ({
          id: derivedId(`deployment:${project}:${config}:${host}`),
          host,
        }));
        const limit = seconds === undefined ? {} : { seconds };
        const data = { project, config, deployments, forget: true, ...limit };
        const started = await ask('configuration', deploymentRun, { project, data });
        // Clients of older versions expect both fields. The client knows their values, which may be long.
        return { deployments: started.deployments.map((each) => ({ ...each, config: null, input_values: {} })) };
      },
    }),
    route({
      method: 'DELETE',
      path: '/deployments/{deployment}',
      summary: 'Delete a deployment without a stack; a request that the host has not taken is withdrawn.',
      handle: async ({ request, params }) => {
        const project = projectOf(request);
        const data = { project, deployment: params.deployment };
        await ask('configuration', deploymentDelete, { project, data });
      },
    }),
  ];
}

function reads(ask: Ask): Route[] {
  return [
    route({
      method: 'GET',
      path: '/deployments',
      summary:
        'List the deployments of the project, of a host, of a stack, or of a config without a stack, whose text is not repeated.',
      query: z.strictObject({
        host: z.string().optional(),
        stack: z.string().optional(),
        config: z.string().optional(),
        ended_after: z.iso.datetime().optional(),
      }),
      answer: z.object({ deployments: z.array(deploymentViewSchema) }),
      handle: ({ request, query: { host, stack, config, ended_after: after } }) => {
        const project = projectOf(request);
        return ask('configuration', deploymentList, {
          project,
          data: {
            project,
            ...(host !== undefined && { host }),
            ...(stack !== undefined && { stack_id: stack }),
            ...(config !== undefined && { config }),
            ...(after !== undefined && { ended_after: after }),
          },
        });
      },
    }),
    route({
      method: 'GET',
      path: '/deployments/{deployment}',
      summary: 'Show a deployment: its config, inputs, outputs, and the output of its script.',
      answer: deploymentViewSchema,
      handle: ({ request, params }) => {
        const project = projectOf(request);
        return ask('configuration', deploymentShow, {
          project,
          data: { project, deployment: params.deployment },
        });
      },
    }),
  ];
}
