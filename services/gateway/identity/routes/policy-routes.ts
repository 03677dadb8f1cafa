/**
 * Policies of Keystone: texts that the operator keeps for services beside Anneal, which fetch them. Anneal's own rights are
 * the tables in `rights.ts` and `identity-policy.ts`.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { PolicyDocument } from '../directory/documents.ts';
import {
  allow,
  describeKind,
  keystoneId,
  nameField,
  objectForm,
  pageOfList,
  paramsOf,
  readObject,
  rowSchema,
  type IdentityRoutes,
} from './shape.ts';

const fields = { type: nameField(255), blob: z.string().max(1_048_576) };
const changes = { type: fields.type.optional(), blob: fields.blob.optional() };

const kind = describeKind({
  kind: 'policy',
  plural: 'policies',
  row: rowSchema({ type: z.string(), blob: z.string() }).meta({ id: 'Policy' }),
  fields,
  changes,
  filters: ['type'],
});

/** `/v3/policies` */
export const policyRoutes: IdentityRoutes = (scope, { directory: { policies }, newId }) => {
  const one = '/v3/policies/:policy';
  const rowOf = (request: FastifyRequest, { id, type, blob, extra }: PolicyDocument): JsonObject =>
    objectForm(request, 'policies', { id, type, blob, extra });
  const idOf = (request: FastifyRequest): string => paramsOf(request)['policy'] ?? '';

  scope.get('/v3/policies', kind.lists, async (request) => {
    allow(request, 'list_policies');
    const rows = (await policies.list()).map((row) => rowOf(request, row));
    return pageOfList(request, 'policies', { rows, filters: ['type'] });
  });

  scope.post('/v3/policies', kind.creates, async (request, reply) => {
    allow(request, 'change_policy');
    const { known, extra } = readObject(request, 'policy', fields);
    const made = await policies.insert({ id: keystoneId(newId), ...known, extra }, 'it exists');
    return reply.code(201).send({ policy: rowOf(request, made) });
  });

  scope.get(one, kind.shows, async (request) => {
    allow(request, 'get_policy');
    return { policy: rowOf(request, await policies.get(idOf(request))) };
  });

  scope.patch(one, kind.updates, async (request) => {
    allow(request, 'change_policy');
    const { known, extra } = readObject(request, 'policy', changes);
    const changed = await policies.update(idOf(request), (present) => ({
      ...present,
      ...known,
      extra: { ...present.extra, ...extra },
    }));
    return { policy: rowOf(request, changed) };
  });

  scope.delete(one, kind.removes, async (request, reply) => {
    allow(request, 'change_policy');
    await policies.get(idOf(request));
    await policies.remove(idOf(request));
    return reply.code(204).send();
  });
};
