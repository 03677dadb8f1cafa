/** Machine credentials: create, list and revoke them. */
import {
  credentialCreate,
  credentialList,
  credentialRevoke,
  credentialRights,
} from '@anneal/contracts/calls/credentials.ts';
import { metricNameSchema } from '@anneal/contracts/calls/measuring.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { projectOf } from '../identity/caller.ts';
import { route, type Route } from '../http/route.ts';

export function credentialEndpoints({ ask, newId }: { ask: Ask; newId: () => string }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/credentials',
      sensitive: true,
      summary:
        'Create a credential for a program: with few rights, in one stack and everything nested in it. The answer shows the token and the keys once.',
      body: z.strictObject({
        name: z.string().min(1).max(255),
        can: z.array(z.enum(credentialRights)).min(1),
        stack: z.string().min(1),
        group: z.string().min(1).max(255).optional(),
        metrics: z.array(metricNameSchema).max(100).default([]),
        expires_seconds: z.number().int().positive().max(315_360_000).optional(),
      }),
      answer: credentialCreate.answer,
      status: 201,
      handle: ({ request, body: { group, expires_seconds: expires, ...body } }) => {
        const project = projectOf(request);
        const more = {
          ...(group !== undefined && { group }),
          ...(expires !== undefined && { expires_seconds: expires }),
        };
        return ask('notification', credentialCreate, { project, data: { id: newId(), project, ...body, ...more } });
      },
    }),
    route({
      method: 'GET',
      path: '/credentials',
      summary: 'List the credentials of programs.',
      answer: credentialList.answer,
      handle: ({ request }) => {
        const project = projectOf(request);
        return ask('notification', credentialList, { project, data: { project } });
      },
    }),
    route({
      method: 'DELETE',
      path: '/credentials/{credential}',
      summary: 'Revoke a credential. It stops working at once.',
      handle: ({ request, params }) => {
        const project = projectOf(request);
        return ask('notification', credentialRevoke, { project, data: { project, id: params['credential'] ?? '' } });
      },
    }),
  ];
}
