/** Starts actions on a stack, and exports it. */
import { isObject, json } from '@anneal/contracts/json.ts';
import { stackAct, type StackAct, type StackView } from '@anneal/contracts/calls/stacks.ts';
import { stackExport } from '@anneal/contracts/calls/stack-history.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { route, type Route } from '../../http/route.ts';
import { occasionOfChange } from '../../identity/occasion.ts';
import { stackAt, stackPath } from './find-stack.ts';
import { portable } from './portable.ts';

const actions: Readonly<Record<string, StackAct>> = {
  suspend: { kind: 'suspend' },
  resume: { kind: 'resume' },
  check: { kind: 'check' },
  cancel_update: { kind: 'cancel', rollback: true },
  cancel_without_rollback: { kind: 'cancel', rollback: false },
};

/** The body that starts an action, and the action. */
const actSchema = z
  .union(
    Object.keys(actions).map((name) => z.strictObject({ [name]: json })),
    { error: ({ input }) => (isObject(input ?? {}) ? problemOf(Object.keys(input ?? {})) : undefined) },
  )
  .transform((body) => actions[Object.keys(body)[0] ?? ''] as StackAct);
const problemOf = ([name, ...more]: readonly string[]): string =>
  name === undefined
    ? 'No action specified'
    : more.length > 0
      ? 'Multiple actions specified'
      : `Invalid action ${name} specified`;
const portableSchema = z.looseObject({
  name: z.string(),
  id: z.string(),
  resources: z.looseObject({}),
  template: z.looseObject({}),
});

/** Starts an action on a stack. */
export const act = (
  { ask, request }: { ask: Ask; request: FastifyRequest },
  { project, id }: StackView,
  action: StackAct,
): Promise<unknown> =>
  ask('scheduling', stackAct, { project, data: { project, stack: id, action, occasion: occasionOfChange(request) } });

/** Actions on a stack, and its export. */
export const actionRoutes = ({ ask, secrets }: { ask: Ask; secrets: Secrets }): Route[] => [
  route({
    method: 'POST',
    path: `${stackPath}/actions`,
    summary: 'Start an action on a stack.',
    body: actSchema,
    answer: z.null(),
    handle: async ({ params, body, request, reply }) => {
      await act({ ask, request }, await stackAt(ask, { params, request }), body);
      return reply.type('application/json').send('null');
    },
  }),
  route({
    method: 'GET',
    path: `${stackPath}/export`,
    summary: 'Export a stack, for another server to adopt.',
    answer: portableSchema,
    handle: async ({ params, request }) => {
      const { project, id } = await stackAt(ask, { params, request });
      return portable(await ask('scheduling', stackExport, { project, data: { project, stack: id } }), secrets);
    },
  }),
  route({
    method: 'DELETE',
    path: `${stackPath}/abandon`,
    summary: 'Export a stack, and forget it.',
    answer: portableSchema,
    handle: async ({ params, request }) => {
      const stack = await stackAt(ask, { params, request });
      const { project, id } = stack;
      const exported = await ask('scheduling', stackExport, { project, data: { project, stack: id } });
      await act({ ask, request }, stack, { kind: 'abandon' });
      return portable(exported, secrets);
    },
  }),
];
