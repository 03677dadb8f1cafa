/** Hosts and deployments. */
import {
  deploymentList,
  deploymentShow,
  deploymentViewSchema,
  hostList,
  hostShow,
  hostTokenRenew,
  hostViewSchema,
} from '@anneal/contracts/configuration.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { projectOf } from '../identity/caller.ts';
import { endpoint, type Endpoint } from './endpoint.ts';

export function hostEndpoints({ ask }: { ask: Ask }): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/hosts',
      summary: 'List the hosts of the project.',
      answer: z.object({ hosts: z.array(hostViewSchema) }),
      handle: ({ request }) => {
        const project = projectOf(request);
        return ask('configuration', hostList, { project, data: { project } });
      },
    }),
    endpoint({
      method: 'GET',
      path: '/hosts/{host}',
      summary: 'Show a host by id or name.',
      answer: hostViewSchema,
      handle: ({ request, params }) => {
        const project = projectOf(request);
        return ask('configuration', hostShow, { project, data: { project, host: params['host'] ?? '' } });
      },
    }),
    endpoint({
      method: 'POST',
      path: '/hosts/{host}/token',
      summary: 'Issue a new token for a host; the old token stops working.',
      answer: z.object({ host: hostViewSchema, token: z.string() }),
      handle: ({ request, params }) => {
        const project = projectOf(request);
        return ask('configuration', hostTokenRenew, { project, data: { project, host: params['host'] ?? '' } });
      },
    }),
    endpoint({
      method: 'GET',
      path: '/deployments',
      summary: 'List the deployments of the project, of a host or of a stack.',
      query: z.object({ host: z.string().optional(), stack: z.string().optional() }),
      answer: z.object({ deployments: z.array(deploymentViewSchema) }),
      handle: ({ request, query: { host, stack } }) => {
        const project = projectOf(request);
        return ask('configuration', deploymentList, {
          project,
          data: { project, ...(host !== undefined && { host }), ...(stack !== undefined && { stack_id: stack }) },
        });
      },
    }),
    endpoint({
      method: 'GET',
      path: '/deployments/{deployment}',
      summary: 'Show a deployment: its config, inputs, outputs, and the output of its script.',
      answer: deploymentViewSchema,
      handle: ({ request, params }) => {
        const project = projectOf(request);
        return ask('configuration', deploymentShow, {
          project,
          data: { project, deployment: params['deployment'] ?? '' },
        });
      },
    }),
  ];
}
