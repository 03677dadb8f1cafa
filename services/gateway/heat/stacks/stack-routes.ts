/** Creating, changing and deleting stacks. */
import { hasCode } from '@anneal/contracts/errors.ts';
import { stackCreate, stackDelete, stackUpdate } from '@anneal/contracts/calls/stacks.ts';
import { compileAnswerSchema } from '@anneal/contracts/calls/templating.ts';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { route, type Route, type RouteFacts } from '../../http/route.ts';
import { callerOf, projectOf } from '../../identity/caller.ts';
import { occasionOfChange } from '../../identity/occasion.ts';
import { requireOperatorFor } from '../../identity/operator-resources.ts';
import type { Compiler } from './compile.ts';
import { clientGone } from '../../http/client-gone.ts';
import { arnPrefix, lookupPaths, redirect, rootStackOf, stackAt, stackMissing, stackPath } from './find-stack.ts';
import { madeStackSchema, stackHref } from '../representation.ts';
import { changedStackSchema, newStackSchema, replacedStackSchema } from './stack-body.ts';
import { heatError, plainBody, plainSchema } from '../wording.ts';
import { newUuid } from '../../repeats/ids.ts';

interface StackRouteParts {
  readonly ask: Ask;
  readonly compiler: Compiler;
}

/** Creates, changes, deletes and validates stacks, and finds them by their names. */
export const stackRoutes = (parts: StackRouteParts): Route[] => [
  createRoute(parts),
  updateRoute(parts, 'PUT'),
  updateRoute(parts, 'PATCH'),
  deleteRoute(parts),
  validateRoute(parts),
  ...lookupRoutes(parts),
];

const warned = { warnings: compileAnswerSchema.shape.warnings };

const createRoute = ({ ask, compiler }: StackRouteParts): Route =>
  route({
    method: 'POST',
    path: '/{project}/stacks',
    summary: 'Create a stack, or adopt one.',
    body: newStackSchema,
    status: 201,
    answer: z.object({ stack: madeStackSchema, ...warned }),
    handle: async ({ body: { name, wanted }, request, reply }) => {
      const project = projectOf(request);
      const id = newUuid();
      const { target, said, operatorResources } = await compiler.fresh(wanted, {
        project,
        stackName: name,
        stackId: id,
        gone: clientGone(reply),
      });
      const occasion = occasionOfChange(request);
      requireOperatorFor(operatorResources, occasion);
      const stack = await ask('scheduling', stackCreate, {
        project,
        data: {
          id,
          name,
          project,
          owner: callerOf(request).name,
          timeout_minutes: wanted.timeoutMinutes ?? null,
          on_failure: wanted.onFailure ?? 'keep',
          tags: wanted.tags ?? [],
          ...(wanted.adopt && { adopt: wanted.adopt }),
          occasion,
          ...target,
        },
      }).catch((error: unknown) => {
        if (!hasCode(error, 'AlreadyExists')) throw error;
        throw heatError('AlreadyExists', 'StackExists', `The Stack (${name}) already exists.`);
      });
      const href = stackHref(rootStackOf(request), stack);
      void reply.header('location', href);
      return { stack: { id: stack.id, links: [{ href, rel: 'self' }] }, ...said };
    },
  });

/** PUT replaces everything that a client can set. PATCH keeps omitted fields. */
function updateRoute({ ask, compiler }: StackRouteParts, method: 'PUT' | 'PATCH'): Route {
  const keeps = method === 'PATCH';
  return route({
    method,
    path: stackPath,
    summary: keeps ? 'Update a stack, and keep what the request leaves out.' : 'Update a stack.',
    body: keeps ? changedStackSchema : replacedStackSchema,
    status: 202,
    answer: plainSchema.extend(warned),
    handle: async ({ params, body: wanted, request, reply }) => {
      const stack = await stackAt(ask, { params, request });
      const { target, said, operatorResources } = await compiler.again(wanted, {
        stack,
        keeps,
        gone: clientGone(reply),
      });
      const occasion = occasionOfChange(request);
      requireOperatorFor(operatorResources, occasion);
      await ask('scheduling', stackUpdate, {
        project: stack.project,
        data: {
          id: stack.id,
          project: stack.project,
          ...(wanted.timeoutMinutes !== undefined && { timeout_minutes: wanted.timeoutMinutes }),
          ...(wanted.onFailure && { on_failure: wanted.onFailure }),
          ...(wanted.converge && { converge: true }),
          ...(wanted.planHash !== undefined && { plan_hash: wanted.planHash }),
          ...(wanted.tags === undefined ? !keeps && { tags: [] } : { tags: wanted.tags }),
          occasion,
          ...target,
        },
      });
      return { ...plainBody(202, 'Accepted', 'The request is accepted for processing.'), ...said };
    },
  });
}

const deleteRoute = ({ ask }: StackRouteParts): Route =>
  route({
    method: 'DELETE',
    path: stackPath,
    summary: 'Delete a stack.',
    handle: async ({ params, request }) => {
      const stack = await stackAt(ask, { params, request });
      if (stack.action === 'DELETE' && stack.status === 'COMPLETE') throw stackMissing(stack.name);
      const { id, project } = stack;
      await ask('scheduling', stackDelete, { project, data: { id, project, occasion: occasionOfChange(request) } });
    },
  });

const validateRoute = ({ compiler }: StackRouteParts): Route =>
  route({
    method: 'POST',
    path: '/{project}/validate',
    summary: 'Validate a template, and describe its parameters.',
    query: z.object({ show_nested: z.boolean().default(false) }),
    body: replacedStackSchema,
    answer: z.looseObject({ Description: z.string(), Parameters: z.record(z.string(), z.looseObject({})) }),
    handle: ({ query: { show_nested: showNested }, body, request, reply }) =>
      compiler.validate(body, { project: projectOf(request), showNested, gone: clientGone(reply) }),
  });

/** A stack by its name, by only its id, or by its ARN: redirects to its canonical address. */
function lookupRoutes({ ask }: StackRouteParts): Route[] {
  const facts = {
    summary: 'Find a stack by its name or id: redirects to its address, with the same method.',
    status: 302,
    answer: plainSchema,
  };
  const all: RouteFacts['method'] = ['GET', 'PUT', 'PATCH', 'DELETE', 'POST'];
  return [
    route({
      ...facts,
      method: all,
      path: '/{project}/stacks/{name}',
      handle: ({ params: { name }, request, reply }) => redirect(ask, { request, reply }, { given: name, below: '' }),
    }),
    // An ARN has slashes of its own, which clients need not encode.
    route({
      ...facts,
      method: all,
      path: `/{project}/stacks/${arnPrefix}*`,
      handle: ({ params: { '*': rest }, request, reply }) =>
        redirect(ask, { request, reply }, { given: `${arnPrefix}${rest}`, below: '' }),
    }),
    ...lookupPaths.map((below) =>
      route({
        ...facts,
        method: ['template', 'environment', 'files'].includes(below) ? 'GET' : ['GET', 'POST'],
        path: `/{project}/stacks/{name}/${below}`,
        handle: ({ params: { name }, request, reply }) => redirect(ask, { request, reply }, { given: name, below }),
      }),
    ),
  ];
}
