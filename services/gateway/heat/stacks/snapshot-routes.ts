/** Snapshots of a stack: take, list, show, delete and restore. */
import { type AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import { snapshotDelete, snapshotList, snapshotShow, type Snapshot } from '@anneal/contracts/calls/stack-history.ts';
import { type StackView } from '@anneal/contracts/calls/stacks.ts';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { route, type Route } from '../../http/route.ts';
import { act } from './action-routes.ts';
import { stackAt, stackPath } from './find-stack.ts';
import { heatTime } from '../representation.ts';
import { heatError, plainBody, plainSchema } from '../wording.ts';
import { newUuid } from '../../repeats/ids.ts';

const one = `${stackPath}/snapshots/{snapshot}` as const;
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

/** Snapshots of a stack. */
export const snapshotRoutes = ({ ask }: { ask: Ask }): Route[] => [
  route({
    method: 'GET',
    path: `${stackPath}/snapshots`,
    summary: 'List the snapshots of a stack.',
    answer: z.object({ snapshots: z.array(snapshotSchema) }),
    handle: async ({ params, request }) => {
      const { project, id } = await stackAt(ask, { params, request });
      const { snapshots } = await ask('scheduling', snapshotList, { project, data: { project, stack: id } });
      return { snapshots: snapshots.map(snapshotBody) };
    },
  }),
  route({
    method: 'POST',
    path: `${stackPath}/snapshots`,
    summary: 'Take a snapshot of a stack.',
    body: z.object({ name: z.string('must be a string').nullish() }).nullish(),
    answer: snapshotSchema,
    handle: async ({ params, body, request }) => {
      const stack = await stackAt(ask, { params, request });
      const id = newUuid();
      await act({ ask, request }, stack, { kind: 'snapshot', id, name: body?.name ?? '' });
      return snapshotBody(await ask('scheduling', snapshotShow, which(stack, id)));
    },
  }),
  route({
    method: 'GET',
    path: one,
    summary: 'Show a snapshot.',
    answer: z.object({ snapshot: snapshotSchema }),
    handle: async ({ params, request }) => {
      const { snapshot } = params;
      const stack = await stackAt(ask, { params, request });
      return { snapshot: snapshotBody(await found(ask('scheduling', snapshotShow, which(stack, snapshot)), snapshot)) };
    },
  }),
  route({
    method: 'DELETE',
    path: one,
    summary: 'Delete a snapshot.',
    handle: async ({ params, request }) => {
      const { snapshot } = params;
      const stack = await stackAt(ask, { params, request });
      await found(ask('scheduling', snapshotDelete, which(stack, snapshot)), snapshot);
    },
  }),
  route({
    method: 'POST',
    path: `${one}/restore`,
    summary: 'Restore a stack to a snapshot.',
    status: 202,
    answer: plainSchema,
    handle: async ({ params, request }) => {
      const { snapshot } = params;
      const stack = await stackAt(ask, { params, request });
      await found(act({ ask, request }, stack, { kind: 'restore', snapshot }), snapshot);
      return plainBody(202, 'Accepted', 'The request is accepted for processing.');
    },
  }),
];

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
