/** Stack actions beyond Heat's API: retry, skip, explain, and the hooks of resources. */
import { leafFailureSchema } from '@anneal/contracts/resource.ts';
import { resourceAct, resourceActSchema, type ResourceAct } from '@anneal/contracts/calls/resources.ts';
import { stackAct, stackActSchema, type StackAct, stackShow } from '@anneal/contracts/calls/stacks.ts';
import { stackRevisionList, stackRevisionShow } from '@anneal/contracts/calls/stack-history.ts';
import { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { callerOf, projectOf, type Caller } from '../identity/caller.ts';
import { occasionOf, occasionOfChange } from '../identity/occasion.ts';
import { route, type Route } from '../http/route.ts';
import { explainRequest } from './host-wait.ts';

const stackSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    action: z.string(),
    status: z.string(),
    reason: z.string(),
    traversal: z.string(),
  })
  .meta({ id: 'StackState' });
/** The actions without unknown fields. On the bus they are allowed, because a newer gateway may send more. */
export const strictActs = <A>(acts: z.ZodDiscriminatedUnion<readonly z.ZodObject[], 'kind'>): z.ZodType<A> =>
  z.discriminatedUnion('kind', acts.options.map((act) => act.strict()) as [z.ZodObject]) as unknown as z.ZodType<A>;
const failuresSchema = z.object({ failures: z.array(leafFailureSchema) });

/** A credential may only extend and complete the waits at lifecycle hooks in the tree of its stack. */
async function limitToCredential(ask: Ask, caller: Caller, act: { stack: string; kind: string }): Promise<void> {
  if (caller.kind !== 'credential') return;
  const { project, stack, name } = caller;
  const isHook = act.kind === 'heartbeat' || act.kind === 'complete hook';
  const found =
    isHook && (await ask('scheduling', stackShow, { project, data: { project, stack: act.stack, outputs: false } }));
  if (found && (found.id === stack.id || found.root === stack.id)) return;
  throw new AnnealError(
    'Forbidden',
    `The credential ${name} may only extend and complete the waits at lifecycle hooks in stack ${stack.name}.`,
  );
}

export function stackEndpoints({ ask }: { ask: Ask }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/stacks/{stack}/actions',
      summary: 'Start an action: check, suspend, resume, cancel, rollback, retry, snapshot, restore or abandon.',
      body: strictActs<StackAct>(stackActSchema),
      answer: stackSchema,
      status: 202,
      handle: async ({ params: { stack }, body, request }) => {
        const project = projectOf(request);
        const answer = await ask('scheduling', stackAct, {
          project,
          data: { project, stack, action: body, occasion: occasionOfChange(request) },
        });
        return stackSchema.parse(answer);
      },
    }),
    route({
      method: 'POST',
      path: '/stacks/{stack}/resources/{resource}/actions',
      summary:
        'Run an action on a resource: mark it, skip its failure, clear a hook, or extend or complete a lifecycle hook.',
      body: strictActs<ResourceAct>(resourceActSchema),
      answer: resourceAct.answer,
      handle: async ({ params: { stack, resource }, body, request }) => {
        const project = projectOf(request);
        await limitToCredential(ask, callerOf(request), { stack, kind: body.kind });
        return ask('scheduling', resourceAct, {
          project,
          data: { project, stack, resource, action: body, occasion: occasionOf(request) },
        });
      },
    }),
    route({
      method: 'GET',
      path: '/stacks/{stack}/failures',
      summary: 'List every failed resource of this stack and its nested stacks, root cause first.',
      answer: failuresSchema,
      handle: async ({ params: { stack }, request }) => {
        const project = projectOf(request);
        const { failures } = await ask('scheduling', stackShow, { project, data: { project, stack, outputs: false } });
        return { failures };
      },
    }),
    route({
      method: 'GET',
      path: '/stacks/{stack}/why',
      summary: 'Explain why a stack or resource makes no progress: the chain from it to the cause of the wait.',
      query: z.strictObject({ resource: z.string().optional() }),
      answer: stackWhy.answer,
      handle: async ({ params: { stack }, query: { resource }, request }) => {
        const project = projectOf(request);
        const why = await ask('scheduling', stackWhy, {
          project,
          data: { project, stack, ...(resource !== undefined && { resource }) },
        });
        return explainRequest(ask, { project, why });
      },
    }),
  ];
}

export function revisionEndpoints({ ask }: { ask: Ask }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/stacks/{stack}/revisions',
      summary: 'List the stored revisions of a stack, the newest first: the states that updates sent it towards.',
      answer: stackRevisionList.answer,
      handle: ({ params: { stack }, request }) => {
        const project = projectOf(request);
        return ask('scheduling', stackRevisionList, { project, data: { project, stack } });
      },
    }),
    route({
      method: 'GET',
      path: '/stacks/{stack}/revisions/{revision}',
      summary: 'Show the template, the parameters, the environment and the files of a revision. Secrets are masked.',
      answer: stackRevisionShow.answer,
      handle: ({ params: { stack, revision }, request }) => {
        const project = projectOf(request);
        return ask('scheduling', stackRevisionShow, { project, data: { project, stack, revision } });
      },
    }),
  ];
}
