/** Snapshots of a stack: take, list, show, delete and restore. */
import { randomUUID } from 'node:crypto';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import {
  snapshotDelete,
  snapshotList,
  snapshotShow,
  type Snapshot,
  type StackView,
} from '@anneal/contracts/calls/scheduling.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { objectBody } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import { act } from './action-routes.ts';
import { stackAt, stackPath } from './find-stack.ts';
import { heatTime } from '../representation.ts';
import { heatError, plainBody, plainSchema } from '../wording.ts';

const one = `${stackPath}/snapshots/:snapshot`;
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
    throw hasCode(error, 'NotFound') ? snapshotMissing(id) : error;
  });

const snapshotSchema = z
  .object({
    id: z.string(),
    name: z.string().nullable(),
    action: z.string(),
    status: z.string(),
    status_reason: z.string(),
    creation_time: z.string(),
    data: json,
  })
  .meta({ id: 'HeatSnapshot' });
const lists = described({
  summary: 'List the snapshots of a stack.',
  answer: z.object({ snapshots: z.array(snapshotSchema) }),
});
const takes = described({
  summary: 'Take a snapshot of a stack.',
  body: z.object({ name: z.string().nullish() }).optional(),
  answer: snapshotSchema,
});
const shows = described({ summary: 'Show a snapshot.', answer: z.object({ snapshot: snapshotSchema }) });
const restores = described({ summary: 'Restore a stack to a snapshot.', status: 202, answer: plainSchema });

export function snapshotRoutes(scope: FastifyInstance, { ask }: { ask: Ask }): void {
  scope.get(`${stackPath}/snapshots`, lists, async (request) => {
    const { project, id } = await stackAt(ask, request);
    const { snapshots } = await ask('scheduling', snapshotList, { project, data: { project, stack: id } });
    return { snapshots: snapshots.map(snapshotBody) };
  });

  scope.post(`${stackPath}/snapshots`, takes, async (request) => {
    const { name = null } = objectBody(request);
    if (name !== null && typeof name !== 'string') {
      throw new AnnealError('InvalidRequest', 'name must be a string.');
    }
    const stack = await stackAt(ask, request);
    const id = randomUUID();
    await act({ ask, request }, stack, { kind: 'snapshot', id, name: name ?? '' });
    return snapshotBody(await ask('scheduling', snapshotShow, which(stack, id)));
  });

  scope.get<SnapshotPath>(one, shows, async (request) => {
    const { snapshot } = request.params;
    const stack = await stackAt(ask, request);
    return { snapshot: snapshotBody(await found(ask('scheduling', snapshotShow, which(stack, snapshot)), snapshot)) };
  });

  scope.delete<SnapshotPath>(one, described({ summary: 'Delete a snapshot.' }), async (request, reply) => {
    const { snapshot } = request.params;
    const stack = await stackAt(ask, request);
    await found(ask('scheduling', snapshotDelete, which(stack, snapshot)), snapshot);
    return reply.code(204).send();
  });

  scope.post<SnapshotPath>(`${one}/restore`, restores, async (request, reply) => {
    const { snapshot } = request.params;
    await found(act({ ask, request }, await stackAt(ask, request), { kind: 'restore', snapshot }), snapshot);
    return reply.code(202).send(plainBody(202, 'Accepted', 'The request is accepted for processing.'));
  });
}

const snapshotBody = ({ id, name, status, reason, created_at, data }: Snapshot): z.output<typeof snapshotSchema> => ({
  id,
  name: name === '' ? null : name,
  // Heat's reason for the snapshot. Clients request all of ours.
  action: 'CREATE',
  status,
  status_reason: reason,
  creation_time: heatTime(created_at),
  data: data ?? null,
});
