/** Starts actions on a stack, and exports it. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import { stackAct, stackExport, type StackAct, type StackView } from '@anneal/contracts/calls/scheduling.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { objectBody } from '../../http/body.ts';
import { described } from '../../http/document.ts';
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

const acts = described({
  summary: 'Start an action on a stack.',
  body: z.union(Object.keys(actions).map((name) => z.strictObject({ [name]: json }))),
  answer: z.null(),
});
const portableSchema = z.looseObject({
  name: z.string(),
  id: z.string(),
  resources: z.looseObject({}),
  template: z.looseObject({}),
});
const exports = described({ summary: 'Export a stack, for another server to adopt.', answer: portableSchema });
const abandons = described({ summary: 'Export a stack, and forget it.', answer: portableSchema });

/** Starts an action on a stack. */
export const act = (
  { ask, request }: { ask: Ask; request: FastifyRequest },
  { project, id }: StackView,
  action: StackAct,
): Promise<unknown> =>
  ask('scheduling', stackAct, { project, data: { project, stack: id, action, occasion: occasionOfChange(request) } });

export function actionRoutes(scope: FastifyInstance, { ask, secrets }: { ask: Ask; secrets: Secrets }): void {
  scope.post(`${stackPath}/actions`, acts, async (request, reply) => {
    const [name, ...more] = Object.keys(objectBody(request));
    if (name === undefined) throw new AnnealError('InvalidRequest', 'No action specified');
    if (more.length > 0) throw new AnnealError('InvalidRequest', 'Multiple actions specified');
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (!action) throw new AnnealError('InvalidRequest', `Invalid action ${name} specified`);
    await act({ ask, request }, await stackAt(ask, request), action);
    return reply.type('application/json').send('null');
  });

  scope.get(`${stackPath}/export`, exports, async (request) => {
    const { project, id } = await stackAt(ask, request);
    return portable(await ask('scheduling', stackExport, { project, data: { project, stack: id } }), secrets);
  });

  scope.delete(`${stackPath}/abandon`, abandons, async (request) => {
    const stack = await stackAt(ask, request);
    const { project, id } = stack;
    const exported = await ask('scheduling', stackExport, { project, data: { project, stack: id } });
    await act({ ask, request }, stack, { kind: 'abandon' });
    return portable(exported, secrets);
  });
}
