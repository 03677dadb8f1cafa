/** Signals to a resource, and its metadata: by its owner, or by a signaller that holds a grant. Clears hooks, as Heat does. */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { isObject, json, type Json } from '@anneal/contracts/json.ts';
import { resourceAct, stackSignal, type StackView } from '@anneal/contracts/calls/scheduling.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import type { SignalGrant } from '@anneal/runtime/secrets/signal-grant.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { collectFor, shownMetadata } from '../../host-metadata.ts';
import { described } from '../../http/document.ts';
import { callerOf } from '../../identity/caller.ts';
import { occasionOf } from '../../identity/occasion.ts';
import { resourceAt, type ResourcePath } from './find-resource.ts';
import { stackPath, type StackPath } from '../stacks/find-stack.ts';
import { signalByGrant } from './signal.ts';
import { heatError } from '../wording.ts';

const signallers = described(
  { summary: 'Signal a resource, or clear a hook of it.', body: json.optional(), answer: json },
  { signallers: true },
);
const readers = described(
  { summary: 'Show the metadata of a resource.', answer: z.object({ metadata: z.looseObject({}) }) },
  { signallers: true, hosts: true },
);

const hooks: ReadonlySet<string> = new Set(
  ['pre', 'post'].flatMap((when) => ['create', 'update', 'delete'].map((action) => `${when}-${action}`)),
);
const unsetHook = (body: Json | undefined): string | undefined =>
  isObject(body) && typeof body['unset_hook'] === 'string' ? body['unset_hook'] : undefined;

export function signalRoutes(scope: FastifyInstance, { ask }: { ask: Ask }): void {
  scope.get<ResourcePath>(`${stackPath}/resources/:resource/metadata`, readers, async (request) => {
    const caller = callerOf(request);
    if (caller.kind === 'host') {
      const { id: stack, resource } = request.params as unknown as StackPath & ResourcePath['Params'];
      const { metadata } = await collectFor(ask, { host_id: caller.id, as: { stack, resource } });
      return { metadata };
    }
    const grant = grantOf(request);
    const [stack, resource] = await resourceAt(ask, request);
    return { metadata: grant ? (resource.metadata ?? {}) : await shownMetadata(ask, stack.project, resource) };
  });

  scope.post<ResourcePath>(`${stackPath}/resources/:resource/signal`, signallers, async (request, reply) => {
    const grant = grantOf(request);
    if (grant) {
      const { scaling = null } = await signalByGrant(
        ask,
        { grant, request },
        (request.body as Json | undefined) ?? null,
      );
      return reply.type('application/json').send(JSON.stringify(scaling));
    }
    const [stack, resource] = await resourceAt(ask, request);
    const hook = unsetHook(request.body as Json | undefined);
    if (hook !== undefined) {
      await clearHook(ask, stack, { resource: resource.name, hook, occasion: occasionOf(request) });
      return reply.type('application/json').send('null');
    }
    const { scaling = null } = await ask('scheduling', stackSignal, {
      project: stack.project,
      data: {
        project: stack.project,
        stack: stack.id,
        resource: resource.name,
        signal: (request.body as Json | undefined) ?? null,
        occasion: occasionOf(request),
      },
    });
    return reply.type('application/json').send(JSON.stringify(scaling));
  });
}

/** The grant of a signaller. It may reach only the resource that its grant names. */
function grantOf(request: FastifyRequest<ResourcePath>): SignalGrant | undefined {
  const caller = callerOf(request);
  if (caller.kind !== 'signaller') return undefined;
  const { id, resource } = request.params as unknown as StackPath & ResourcePath['Params'];
  if (caller.grant.stack_id === id && caller.grant.resource_name === resource) return caller.grant;
  throw new AnnealError('Forbidden', `This token may only signal the resource ${caller.name}.`);
}

/** @throws AnnealError InvalidRequest with Heat's message when the resource does not wait at the hook */
async function clearHook(
  ask: Ask,
  { project, id, name }: StackView,
  { resource, hook, occasion }: { resource: string; hook: string; occasion: Occasion },
): Promise<void> {
  const invalid = (message: string): AnnealError => heatError('InvalidRequest', 'InvalidBreakPointHook', message);
  if (!hooks.has(hook)) throw invalid(`Invalid hook type "${hook}" for stack ${name} resource ${resource}`);
  const action = { kind: 'clear hook', hook } as const;
  await ask('scheduling', resourceAct, { project, data: { project, stack: id, resource, action, occasion } }).catch(
    (error: unknown) => {
      throw hasCode(error, 'InvalidRequest') ? invalid(error.message) : error;
    },
  );
}
