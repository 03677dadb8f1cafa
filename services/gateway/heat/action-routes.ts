/** Heat's further stack routes: actions, snapshots, export and adoption, marks and hooks. */
import { randomUUID } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import {
  resourceAct,
  snapshotDelete,
  snapshotList,
  snapshotShow,
  stackAct,
  stackExport,
  type Snapshot,
  type StackAct,
  type StackView,
} from '@anneal/contracts/scheduling.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import type { FastifyInstance } from 'fastify';
import type { Ask } from '../ask.ts';
import { objectBody } from '../http/body.ts';
import { stackAt } from './find-stack.ts';
import { portable } from './portable.ts';
import { heatTime } from './representation.ts';
import { heatError, plainBody } from './wording.ts';

const at = '/:project/stacks/:name/:id';

const actions: Readonly<Record<string, StackAct>> = {
  suspend: { kind: 'suspend' },
  resume: { kind: 'resume' },
  check: { kind: 'check' },
  cancel_update: { kind: 'cancel', rollback: true },
  cancel_without_rollback: { kind: 'cancel', rollback: false },
};

export function actionRoutes(scope: FastifyInstance, { ask, secrets }: { ask: Ask; secrets: Secrets }): void {
  const act = ({ project, id }: StackView, action: StackAct) =>
    ask('scheduling', stackAct, { project, data: { project, stack: id, action } });

  scope.post(`${at}/actions`, async (request, reply) => {
    const [name, ...more] = Object.keys(objectBody(request));
    if (name === undefined) throw new AnnealError('InvalidRequest', 'No action specified');
    if (more.length > 0) throw new AnnealError('InvalidRequest', 'Multiple actions specified');
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (!action) throw new AnnealError('InvalidRequest', `Invalid action ${name} specified`);
    await act(await stackAt(ask, request), action);
    return reply.type('application/json').send('null');
  });

  scope.get(`${at}/export`, async (request) => {
    const { project, id } = await stackAt(ask, request);
    return portable(await ask('scheduling', stackExport, { project, data: { project, stack: id } }), secrets);
  });

  scope.delete(`${at}/abandon`, async (request) => {
    const stack = await stackAt(ask, request);
    const { project, id } = stack;
    const exported = await ask('scheduling', stackExport, { project, data: { project, stack: id } });
    await act(stack, { kind: 'abandon' });
    return portable(exported, secrets);
  });

  // ---- snapshots

  const one = `${at}/snapshots/:snapshot`;
  interface SnapshotPath {
    Params: { snapshot: string };
  }
  const snapshotMissing = (id: string): AnnealError =>
    heatError('NotFound', 'EntityNotFound', `The Snapshot (${id}) could not be found.`);
  const which = ({ project, id }: StackView, snapshot: string) => ({
    project,
    data: { project, stack: id, snapshot },
  });
  const found = <T>(question: Promise<T>, id: string): Promise<T> =>
    question.catch((error: unknown) => {
      throw error instanceof AnnealError && error.code === 'NotFound' ? snapshotMissing(id) : error;
    });

  scope.get(`${at}/snapshots`, async (request) => {
    const { project, id } = await stackAt(ask, request);
    const { snapshots } = await ask('scheduling', snapshotList, { project, data: { project, stack: id } });
    return { snapshots: snapshots.map(snapshotBody) };
  });

  scope.post(`${at}/snapshots`, async (request) => {
    const { name = null } = objectBody(request);
    if (name !== null && typeof name !== 'string') {
      throw new AnnealError('InvalidRequest', 'name must be a text.');
    }
    const stack = await stackAt(ask, request);
    const id = randomUUID();
    await act(stack, { kind: 'snapshot', id, name: name ?? '' });
    return snapshotBody(await ask('scheduling', snapshotShow, which(stack, id)));
  });

  scope.get<SnapshotPath>(one, async (request) => {
    const { snapshot } = request.params;
    const stack = await stackAt(ask, request);
    return { snapshot: snapshotBody(await found(ask('scheduling', snapshotShow, which(stack, snapshot)), snapshot)) };
  });

  scope.delete<SnapshotPath>(one, async (request, reply) => {
    const { snapshot } = request.params;
    const stack = await stackAt(ask, request);
    await found(ask('scheduling', snapshotDelete, which(stack, snapshot)), snapshot);
    return reply.code(204).send();
  });

  scope.post<SnapshotPath>(`${one}/restore`, async (request, reply) => {
    const { snapshot } = request.params;
    await found(act(await stackAt(ask, request), { kind: 'restore', snapshot }), snapshot);
    return reply.code(202).send(plainBody(202, 'Accepted', 'The request is accepted for processing.'));
  });

  // ---- one resource

  scope.patch<{ Params: { resource: string } }>(`${at}/resources/:resource`, async (request, reply) => {
    const { mark_unhealthy: unhealthy, resource_status_reason: reason = null, ...others } = objectBody(request);
    const unknown = Object.keys(others);
    if (unknown.length > 0) {
      throw new AnnealError('InvalidRequest', `Unexpected parameters in body: ${unknown.join(', ')}`);
    }
    const flag = typeof unhealthy === 'string' ? unhealthy.toLowerCase() : unhealthy;
    if (flag !== true && flag !== false && flag !== 'true' && flag !== 'false') {
      const what = unhealthy === undefined ? 'is missing' : `must be true or false, not ${JSON.stringify(unhealthy)}`;
      throw new AnnealError('InvalidRequest', `mark_unhealthy ${what}.`);
    }
    if (reason !== null && typeof reason !== 'string') {
      throw new AnnealError('InvalidRequest', 'resource_status_reason must be a text.');
    }
    const { project, id } = await stackAt(ask, request);
    await ask('scheduling', resourceAct, {
      project,
      data: {
        project,
        stack: id,
        resource: request.params.resource,
        action: { kind: 'mark', unhealthy: flag === true || flag === 'true', reason: (reason ?? '').slice(0, 4096) },
      },
    });
    return reply.type('application/json').send('null');
  });
}

const snapshotBody = ({ id, name, status, reason, created_at, data }: Snapshot): JsonObject => ({
  id,
  name: name === '' ? null : name,
  // Heat's reason for the snapshot. Clients request all of ours.
  action: 'CREATE',
  status,
  status_reason: reason,
  creation_time: heatTime(created_at),
  data: data ?? null,
});
