/** Hosts. */
import { hostList, hostShow, hostTokenRenew, hostViewSchema } from '@anneal/contracts/configuration.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { projectOf } from '../identity/caller.ts';
import { endpoint, type Endpoint } from './endpoint.ts';

export function hostEndpoints({ ask }: { ask: Ask }): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/hosts',
      summary: 'List the hosts of the project, or those for which an expression is true.',
      query: z.object({ where: z.string().optional() }),
      answer: z.object({ hosts: z.array(hostViewSchema) }),
      handle: ({ request, query: { where } }) => {
        const project = projectOf(request);
        return ask('configuration', hostList, { project, data: { project, ...(where !== undefined && { where }) } });
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
  ];
}
