/** Creating, changing and deleting stacks. */
import { randomUUID } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { stackCreate, stackDelete, stackUpdate } from '@anneal/contracts/scheduling.ts';
import { templateCompile, templateValidate, type CompileQuestion } from '@anneal/contracts/templating.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import type { FastifyInstance } from 'fastify';
import type { Ask } from '../ask.ts';
import { objectBody, queryBoolean } from '../http/body.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import { lookupPaths, redirect, rootOf, stackAt, stackMissing } from './find-stack.ts';
import { stackHref } from './representation.ts';
import { readStackBody, readStackName, requireTemplate, sealGiven, toQuestion } from './stack-body.ts';
import { heatError, plainBody } from './wording.ts';

export interface StackRouteOptions {
  ask: Ask;
  compileTimeoutMs: number;
  secrets: Secrets;
}

const at = '/:project/stacks/:name/:id';

export function stackRoutes(scope: FastifyInstance, { ask, compileTimeoutMs, secrets }: StackRouteOptions): void {
  const about = (question: CompileQuestion) => ({
    data: sealGiven(question, secrets),
    project: question.project,
    timeoutMs: compileTimeoutMs,
  });
  const compile = (question: CompileQuestion) => ask('templating', templateCompile, about(question));

  scope.post('/:project/stacks', async (request, reply) => {
    const body = objectBody(request);
    const name = readStackName(body);
    const wanted = readStackBody(body);
    requireTemplate(wanted);
    const project = projectOf(request);
    const id = randomUUID();
    const { resource_count: _, ...accepted } = await compile(
      toQuestion(wanted, { project, stackName: name, stackId: id }),
    );
    const stack = await ask('scheduling', stackCreate, {
      project,
      data: {
        id,
        name,
        project,
        owner: callerOf(request).name,
        timeout_minutes: wanted.timeoutMinutes ?? null,
        on_failure: wanted.disableRollback === false ? 'rollback' : 'keep',
        tags: wanted.tags ?? [],
        ...accepted,
      },
    }).catch((error: unknown) => {
      if (!(error instanceof AnnealError) || error.code !== 'AlreadyExists') throw error;
      throw heatError('AlreadyExists', 'StackExists', `The Stack (${name}) already exists.`);
    });
    const href = stackHref(rootOf(request), stack);
    return reply
      .code(201)
      .header('location', href)
      .send({ stack: { id: stack.id, links: [{ href, rel: 'self' }] } });
  });

  // PUT replaces everything that the client can say; PATCH keeps what it does not say.
  for (const method of ['PUT', 'PATCH'] as const) {
    const keeps = method === 'PATCH';
    scope.route({
      method,
      url: at,
      handler: async (request, reply) => {
        const wanted = readStackBody(objectBody(request));
        if (!keeps) requireTemplate(wanted);
        const stack = await stackAt(ask, request);
        const { template, environment, files } = stack;
        const { resource_count: _, ...accepted } = await compile({
          ...toQuestion(wanted, { project: stack.project, stackName: stack.name, stackId: stack.id }),
          ...(keeps && { existing: { template, environment, files, clear_parameters: wanted.clearParameters } }),
          previous_plan: stack.plan,
        });
        await ask('scheduling', stackUpdate, {
          project: stack.project,
          data: {
            id: stack.id,
            project: stack.project,
            ...(wanted.timeoutMinutes !== undefined && { timeout_minutes: wanted.timeoutMinutes }),
            ...(wanted.disableRollback !== undefined && { on_failure: wanted.disableRollback ? 'keep' : 'rollback' }),
            ...(wanted.tags === undefined ? !keeps && { tags: [] } : { tags: wanted.tags }),
            ...accepted,
          },
        });
        return reply.code(202).send(plainBody(202, 'Accepted', 'The request is accepted for processing.'));
      },
    });
  }

  scope.delete(at, async (request, reply) => {
    const stack = await stackAt(ask, request);
    if (stack.action === 'DELETE' && stack.status === 'COMPLETE') throw stackMissing(stack.name);
    await ask('scheduling', stackDelete, { project: stack.project, data: { id: stack.id, project: stack.project } });
    return reply.code(204).send();
  });

  scope.post('/:project/validate', async (request) => {
    // Heat asks for this to be a boolean; nested templates are always shown here.
    queryBoolean(request, 'show_nested');
    const wanted = readStackBody(objectBody(request));
    requireTemplate(wanted);
    const question = toQuestion(wanted, { project: projectOf(request), stackName: 'validated', stackId: '' });
    return ask('templating', templateValidate, about(question));
  });

  // ---- a stack by its name (or only its id): the way to its canonical address

  scope.route({
    method: ['GET', 'PUT', 'PATCH', 'DELETE', 'POST'],
    url: '/:project/stacks/:name',
    handler: (request, reply) => redirect(ask, request, reply, ''),
  });
  for (const below of lookupPaths) {
    scope.route({
      method: below === 'template' || below === 'environment' || below === 'files' ? ['GET'] : ['GET', 'POST'],
      url: `/:project/stacks/:name/${below}`,
      handler: (request, reply) => redirect(ask, request, reply, below),
    });
  }

  // ---- what is not there yet says so, rather than that the address is wrong

  const later = (what: string) => () => {
    throw new AnnealError(
      'NotSupported',
      `${what} is not supported yet. A stack can be created, updated, deleted, signalled and read.`,
    );
  };
  scope.post(`${at}/actions`, later('An action on a stack'));
  scope.post('/:project/stacks/preview', later('A preview'));
  scope.put(`${at}/preview`, later('A preview'));
  scope.patch(`${at}/preview`, later('A preview'));
  scope.delete(`${at}/abandon`, later('Abandoning a stack'));
  scope.get(`${at}/export`, later('Exporting a stack'));
  scope.get(`${at}/snapshots`, later('A snapshot'));
  scope.post(`${at}/snapshots`, later('A snapshot'));
  scope.patch(`${at}/resources/:resource`, later('Marking a resource'));
}
