/** Creating, changing and deleting stacks. */
import { randomUUID } from 'node:crypto';
import { hasCode } from '@anneal/contracts/errors.ts';
import { stackCreate, stackDelete, stackUpdate } from '@anneal/contracts/calls/scheduling.ts';
import { compileAnswerSchema } from '@anneal/contracts/calls/templating.ts';
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { objectBody, queryBoolean } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import { callerOf, projectOf } from '../../identity/caller.ts';
import { occasionOfChange } from '../../identity/occasion.ts';
import { requireOperatorFor } from '../../identity/resources/operator.ts';
import type { Compiler } from './compile.ts';
import { clientGone } from '../../http/client-gone.ts';
import { arnPrefix, lookupPaths, redirect, rootStackOf, stackAt, stackMissing, stackPath } from './find-stack.ts';
import { madeStackSchema, stackHref } from '../representation.ts';
import { newStackSchema, readNewStack, readStackBody, requireTemplate, stackBodySchema } from './stack-body.ts';
import { heatError, plainBody, plainSchema } from '../wording.ts';

interface StackRouteParts {
  readonly ask: Ask;
  readonly compiler: Compiler;
}

/** Adds the routes that create, change, delete and validate stacks, and those that find a stack by its name. */
export function stackRoutes(scope: FastifyInstance, parts: StackRouteParts): void {
  createRoute(scope, parts);
  updateRoute(scope, parts, 'PUT');
  updateRoute(scope, parts, 'PATCH');
  deleteRoute(scope, parts);
  validateRoute(scope, parts);
  lookupRoutes(scope, parts);
}

const warned = { warnings: compileAnswerSchema.shape.warnings };

function createRoute(scope: FastifyInstance, { ask, compiler }: StackRouteParts): void {
  const creates = described(
    {
      summary: 'Create a stack, or adopt one.',
      body: newStackSchema,
      status: 201,
      answer: z.object({ stack: madeStackSchema, ...warned }),
    },
    { exactNumbers: true },
  );
  scope.post('/:project/stacks', creates, async (request, reply) => {
    const { name, wanted } = readNewStack(objectBody(request));
    const project = projectOf(request);
    const id = randomUUID();
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
    return reply
      .code(201)
      .header('location', href)
      .send({ stack: { id: stack.id, links: [{ href, rel: 'self' }] }, ...said });
  });
}

/** PUT replaces everything that a client can set. PATCH keeps omitted fields. */
function updateRoute(scope: FastifyInstance, { ask, compiler }: StackRouteParts, method: 'PUT' | 'PATCH'): void {
  const keeps = method === 'PATCH';
  scope.route({
    method,
    url: stackPath,
    ...described(
      {
        summary: keeps ? 'Update a stack, and keep what the request leaves out.' : 'Update a stack.',
        body: stackBodySchema,
        status: 202,
        answer: plainSchema.extend(warned),
      },
      { exactNumbers: true },
    ),
    handler: async (request, reply) => {
      const wanted = readStackBody(objectBody(request));
      if (!keeps) requireTemplate(wanted);
      const stack = await stackAt(ask, request);
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
      const body = plainBody(202, 'Accepted', 'The request is accepted for processing.');
      return reply.code(202).send({ ...body, ...said });
    },
  });
}

function deleteRoute(scope: FastifyInstance, { ask }: StackRouteParts): void {
  scope.delete(stackPath, described({ summary: 'Delete a stack.' }), async (request, reply) => {
    const stack = await stackAt(ask, request);
    if (stack.action === 'DELETE' && stack.status === 'COMPLETE') throw stackMissing(stack.name);
    const { id, project } = stack;
    await ask('scheduling', stackDelete, { project, data: { id, project, occasion: occasionOfChange(request) } });
    return reply.code(204).send();
  });
}

function validateRoute(scope: FastifyInstance, { compiler }: StackRouteParts): void {
  const validates = described(
    {
      summary: 'Validate a template, and describe its parameters.',
      query: z.object({ show_nested: z.boolean().optional() }),
      body: stackBodySchema,
      answer: z.looseObject({ Description: z.string(), Parameters: z.record(z.string(), z.looseObject({})) }),
    },
    { exactNumbers: true },
  );
  scope.post('/:project/validate', validates, async (request, reply) => {
    const showNested = queryBoolean(request, 'show_nested') ?? false;
    const wanted = readStackBody(objectBody(request));
    requireTemplate(wanted);
    return compiler.validate(wanted, { project: projectOf(request), showNested, gone: clientGone(reply) });
  });
}

/** A stack by its name, by only its id, or by its ARN: redirects to its canonical address. */
function lookupRoutes(scope: FastifyInstance, { ask }: StackRouteParts): void {
  const redirectFrom = (url: string, method: HTTPMethods[], below = ''): void => {
    const redirects = described({
      summary: 'Find a stack by its name or id: redirects to its address, with the same method.',
      status: 302,
      answer: plainSchema,
    });
    scope.route({ method, url, ...redirects, handler: (request, reply) => redirect(ask, { request, reply, below }) });
  };
  const all: HTTPMethods[] = ['GET', 'PUT', 'PATCH', 'DELETE', 'POST'];
  redirectFrom('/:project/stacks/:name', all);
  // An ARN has slashes of its own, which clients need not encode.
  redirectFrom(`/:project/stacks/${arnPrefix.replaceAll(':', '::')}*`, all);
  for (const below of lookupPaths) {
    const isOnlyRead = below === 'template' || below === 'environment' || below === 'files';
    redirectFrom(`/:project/stacks/:name/${below}`, isOnlyRead ? ['GET'] : ['GET', 'POST'], below);
  }
}
