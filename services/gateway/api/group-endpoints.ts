/** Groups that scale, and the address in an event with which a listener answers without a login. */
import {
  groupAct,
  groupActSchema,
  groupList,
  groupShow,
  groupViewSchema,
  type GroupAct,
} from '@anneal/contracts/calls/scaling.ts';
import { resourceAct, type ResourceAct } from '@anneal/contracts/calls/resources.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { type HookGrant, readHookToken } from '@anneal/runtime/secrets/hook-grant.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { occasionOf, occasionOfHook } from '../identity/occasion.ts';
import { isFromOperator, projectOf } from '../identity/caller.ts';
import { route, type Route } from '../http/route.ts';
import { strictActs } from './stack-endpoints.ts';

export interface GroupEndpointOptions {
  readonly ask: Ask;
  readonly secrets: Secrets;
}

const resultSchema = z.strictObject({
  result: z.enum(['continue', 'abandon']),
  size: z.number().int().nonnegative().optional().meta({ description: 'Only for the hook `deciding`.' }),
  victims: z.array(z.string()).max(1000).optional().meta({ description: 'Only for the hook `deciding`.' }),
  message: z.string().max(1024).optional().meta({ description: 'Only for the hook `deciding`.' }),
});

export function groupEndpoints(options: GroupEndpointOptions): Route[] {
  const { ask } = options;
  return [
    route({
      method: 'GET',
      path: '/groups',
      summary:
        'List groups that scale, in pages; with all_projects=true, which only operators may use, of all projects.',
      query: z.strictObject({
        limit: z.int().min(1).max(1000).default(1000),
        marker: z.string().optional(),
        all_projects: z.boolean().default(false),
      }),
      answer: groupList.answer,
      handle: async ({ query: { limit, marker, all_projects: all }, request }) => {
        const project = projectOf(request);
        if (all && !isFromOperator(request)) {
          throw new AnnealError('Forbidden', 'Cannot list the groups of all projects: only operators may.');
        }
        const data = { project, limit, ...(marker !== undefined && { marker }), all_projects: all };
        return ask('scheduling', groupList, { project, data });
      },
    }),
    route({
      method: 'GET',
      path: '/stacks/{stack}/groups/{group}',
      summary: 'Read a group that scales: its members, its last requests and their outcomes.',
      answer: groupViewSchema,
      handle: async ({ params: { stack, group }, request }) => {
        const project = projectOf(request);
        return ask('scheduling', groupShow, { project, data: { project, stack, group } });
      },
    }),
    route({
      method: 'POST',
      path: '/stacks/{stack}/groups/{group}/actions',
      summary: 'Run an action on a group: protect members, pause, resize, remove, refresh, decide or heartbeat.',
      body: strictActs<GroupAct>(groupActSchema),
      answer: groupAct.answer,
      handle: async ({ params: { stack, group }, body, request }) => {
        const project = projectOf(request);
        const occasion = occasionOf(request);
        return ask('scheduling', groupAct, { project, data: { project, stack, group, action: body, occasion } });
      },
    }),
    ...hookEndpoints(options),
  ];
}

/** The address is the permission: it names one wait, and its signature proves that an event of Anneal contained it. */
function hookEndpoints({ ask, secrets }: GroupEndpointOptions): Route[] {
  const grantOf = (token: string): HookGrant => {
    const grant = readHookToken(secrets, token);
    if (grant) return grant;
    throw new AnnealError('Forbidden', 'The signature of this address is wrong; use the address unchanged.');
  };
  const answer = (text: string, request: FastifyRequest, act: { group: GroupAct; resource: ResourceAct }) => {
    const grant = grantOf(text);
    const { project, stack_id: stack, resource_name: name } = grant;
    const occasion = occasionOfHook(grant, request);
    return grant.hook === 'deciding'
      ? ask('scheduling', groupAct, { project, data: { project, stack, group: name, action: act.group, occasion } })
      : ask('scheduling', resourceAct, {
          project,
          data: { project, stack, resource: name, action: act.resource, occasion },
        });
  };
  return [
    route({
      method: 'POST',
      path: '/hooks/{token}',
      summary: 'Answer a wait at a lifecycle hook, with the address in its event; needs no login.',
      body: resultSchema,
      answer: groupAct.answer,
      public: true,
      handle: async ({ params: { token: text }, body, request }) => {
        const { hook, token } = grantOf(text);
        const { result, ...others } = body;
        const [unknown] = hook === 'deciding' ? [] : Object.keys(others);
        if (unknown !== undefined) {
          throw new AnnealError('InvalidRequest', `${unknown}: only a decision of a group takes it; this is ${hook}.`);
        }
        return answer(text, request, {
          group: { kind: 'decide', token, ...body },
          resource: { kind: 'complete hook', hook, token, result },
        });
      },
    }),
    route({
      method: 'POST',
      path: '/hooks/{token}/heartbeat',
      summary: 'Extend a wait at a lifecycle hook, with the address in its event; answers the new deadline.',
      answer: groupAct.answer,
      public: true,
      handle: async ({ params: { token: text }, request }) => {
        const { hook, token } = grantOf(text);
        return answer(text, request, {
          group: { kind: 'heartbeat', token },
          resource: { kind: 'heartbeat', hook, token },
        });
      },
    }),
  ];
}
