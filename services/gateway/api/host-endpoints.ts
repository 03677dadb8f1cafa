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
      summary: 'The hosts of the project.',
      answer: z.object({ hosts: z.array(hostViewSchema) }),
      handle: ({ request }) => {
        const project = projectOf(request);
        return ask('configuration', hostList, { project, data: { project } });
      },
    }),
    endpoint({
      method: 'GET',
      path: '/hosts/{host}',
      summary: 'One host, by id or name.',
      answer: hostViewSchema,
      handle: ({ request, params }) => {
        const project = projectOf(request);
        return ask('configuration', hostShow, { project, data: { project, host: params['host'] ?? '' } });
      },
    }),
    endpoint({
      method: 'POST',
      path: '/hosts/{host}/token',
      summary: 'A new token for a host; the one before is worth nothing from then on.',
      answer: z.object({ host: hostViewSchema, token: z.string() }),
      handle: ({ request, params }) => {
        const project = projectOf(request);
        return ask('configuration', hostTokenRenew, { project, data: { project, host: params['host'] ?? '' } });
      },
    }),
    endpoint({
      method: 'GET',
      path: '/deployments',
      summary: 'The deployments of the project, or those of one host or stack.',
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
      summary: 'One deployment: its config, inputs, outputs, and what it printed.',
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
