/** Signals to a resource, and its metadata: by its owner, or by a signaller that holds a grant. Clears hooks, as Heat does. */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { isObject, json, type Json } from '@anneal/contracts/json.ts';
import { resourceAct, stackSignal } from '@anneal/contracts/calls/resources.ts';
import type { SignalGrant } from '@anneal/runtime/secrets/signal-grant.ts';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { collectFor, shownMetadata } from '../../host-metadata.ts';
import { route, type Route } from '../../http/route.ts';
import { callerOf } from '../../identity/caller.ts';
import { occasionOf } from '../../identity/occasion.ts';
import { resourceAt, type ResourceRouteInput } from './find-resource.ts';
import { stackPath } from '../stacks/find-stack.ts';
import { signalByGrant } from './signal.ts';
import { heatError } from '../wording.ts';

const hooks: ReadonlySet<string> = new Set(
  ['pre', 'post'].flatMap((when) => ['create', 'update', 'delete'].map((action) => `${when}-${action}`)),
);

/** Signals, and the metadata of resources. */
export const signalRoutes = ({ ask }: { ask: Ask }): Route[] => [
  route({
    method: 'GET',
    path: `${stackPath}/resources/{resource}/metadata`,
    summary: 'Show the metadata of a resource.',
    signallers: true,
    hosts: true,
    answer: z.object({ metadata: z.looseObject({}) }),
    handle: async ({ params, request }) => {
      const caller = callerOf(request);
      if (caller.kind === 'host') {
        const { id: stack, resource } = params;
        const { metadata } = await collectFor(ask, { host_id: caller.id, as: { stack, resource } });
        return { metadata };
      }
      const grant = grantOf({ params, request });
      const [stack, resource] = await resourceAt(ask, { params, request });
      return { metadata: grant ? (resource.metadata ?? {}) : await shownMetadata(ask, stack.project, resource) };
    },
  }),
  route({
    method: 'POST',
    path: `${stackPath}/resources/{resource}/signal`,
    summary: 'Signal a resource, or clear a hook of it.',
    signallers: true,
    answersRuns: true,
    body: json.optional(),
    answer: json,
    handle: async ({ params, body = null, request, reply }) => {
      const grant = grantOf({ params, request });
      const { scaling = null } = grant
        ? await signalByGrant(ask, { grant, request }, body)
        : await signalByUser(ask, { params, request }, body);
      return reply.type('application/json').send(JSON.stringify(scaling));
    },
  }),
];

/** Sends a signal, or clears the hook that the signal names. */
async function signalByUser(ask: Ask, input: ResourceRouteInput, signal: Json): ReturnType<typeof signalByGrant> {
  if (input.request.unreadable) throw input.request.unreadable.error;
  const [{ project, id, name: stack }, { name: resource }] = await resourceAt(ask, input);
  const data = { project, stack: id, resource, occasion: occasionOf(input.request) };
  const hook = isObject(signal) ? signal['unset_hook'] : undefined;
  if (typeof hook !== 'string') return ask('scheduling', stackSignal, { project, data: { ...data, signal } });
  const invalid = (message: string): AnnealError => heatError('InvalidRequest', 'InvalidBreakPointHook', message);
  if (!hooks.has(hook)) throw invalid(`Invalid hook type "${hook}" for stack ${stack} resource ${resource}`);
  const action = { kind: 'clear hook', hook } as const;
  await ask('scheduling', resourceAct, { project, data: { ...data, action } }).catch((error: unknown) => {
    throw hasCode(error, 'InvalidRequest') ? invalid(error.message) : error;
  });
  return {};
}

/** The grant of a signaller. It may reach only the resource that its grant names. */
function grantOf({ params: { id, resource }, request }: ResourceRouteInput): SignalGrant | undefined {
  const caller = callerOf(request);
  if (caller.kind !== 'signaller') return undefined;
  if (caller.grant.stack_id === id && caller.grant.resource_name === resource) return caller.grant;
  throw new AnnealError('Forbidden', `This token may only signal the resource ${caller.name}.`);
}
