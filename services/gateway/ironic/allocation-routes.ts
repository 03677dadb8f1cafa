/** Allocations in Ironic's API. */
import {
  allocationChange,
  allocationCreate,
  allocationFieldsSchema,
  allocationList,
  allocationRemove,
  allocationShow,
  type AllocationView,
} from '@anneal/contracts/calls/allocations.ts';
import { nodePatchSchema, nodeShow } from '@anneal/contracts/calls/provisioning.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { queryValue, refuseUnknownQuery } from '../http/body.ts';
import { parseField } from '../http/input.ts';
import { occasionOf } from '../identity/occasion.ts';
import {
  fieldsIn,
  fieldsQuery,
  itemSchema,
  listQuery,
  pageOf,
  itemsSchema,
  pagingParameters,
  type ListItem,
} from './collection.ts';
import { showNode, type NodePath } from './node-path.ts';
import { ironicPrefix, ironicLinks, pick } from './node-view.ts';
import { described } from '../http/document.ts';

interface AllocationPath {
  Params: { allocation: string };
}

const createSchema = allocationFieldsSchema.extend({
  uuid: z.guid().nullish(),
  node: z.string().min(1).max(255).nullish(),
});
const patchSchema = z.array(nodePatchSchema.element.strict()).max(100);
const row = ['uuid', 'name', 'resource_class', 'state', 'node_uuid', 'owner', 'traits', 'candidate_nodes'];
const filters = ['resource_class', 'state', 'node', 'owner'] as const;

const allocationSchema = itemSchema({
  name: z.string().nullable(),
  resource_class: z.string().nullable(),
  state: z.string(),
  last_error: z.string().nullable(),
  node_uuid: z.string().nullable(),
  owner: z.string().nullable(),
  traits: z.array(z.string()),
  candidate_nodes: z.array(z.string()),
}).meta({ id: 'Allocation' });
const creates = described({ summary: 'Allocate a node.', body: createSchema, status: 201, answer: allocationSchema });
const lists = described({
  summary: 'List the allocations.',
  query: listQuery(filters),
  answer: itemsSchema('allocations', allocationSchema),
});
const shows = described({ summary: 'Show an allocation.', query: fieldsQuery, answer: allocationSchema });
const changes = described({ summary: 'Change an allocation.', body: patchSchema, answer: allocationSchema });
const removes = described({ summary: 'Delete an allocation: its node is free again.' });

export function allocationRoutes(scope: FastifyInstance, { ask, newId }: { ask: Ask; newId: () => string }): void {
  const at = '/v1/allocations';
  scope.post(at, creates, async (request, reply) => {
    const { uuid, node, ...fields } = parseField(createSchema, request.body, 'The allocation');
    const made = await ask('provisioning', allocationCreate, {
      data: { ...fields, id: uuid ?? newId(), ...(node && { node }), occasion: occasionOf(request) },
    });
    const base = baseUrl(request);
    return reply.code(201).header('location', `${base}${ironicPrefix}${at}/${made.id}`).send(bodyOf(base, made));
  });
  scope.get(at, lists, (request) => list(request, ask));
  scope.get<AllocationPath>(`${at}/:allocation`, shows, async (request) => shown(request, await find(ask, request)));
  scope.patch<AllocationPath>(`${at}/:allocation`, changes, async (request) => {
    const patch = parseField(patchSchema, request.body, 'The patch');
    const data = { allocation: request.params.allocation, patch };
    return bodyOf(baseUrl(request), await ask('provisioning', allocationChange, { data }));
  });
  scope.delete<AllocationPath>(`${at}/:allocation`, removes, async (request, reply) => {
    const data = { allocation: request.params.allocation, occasion: occasionOf(request) };
    await ask('provisioning', allocationRemove, { data });
    return reply.code(204).send();
  });

  const ofNode = async (request: FastifyRequest<NodePath>): Promise<string> => {
    const { allocation_id: id } = await showNode(ask, request);
    if (id !== null) return id;
    throw new AnnealError('NotFound', `Allocation for node ${request.params.node} was not found.`);
  };
  scope.get<NodePath>('/v1/nodes/:node/allocation', shows, async (request) => {
    const data = { allocation: await ofNode(request) };
    return shown(request, await ask('provisioning', allocationShow, { data }));
  });
  scope.delete<NodePath>('/v1/nodes/:node/allocation', removes, async (request, reply) => {
    const data = { allocation: await ofNode(request), occasion: occasionOf(request) };
    await ask('provisioning', allocationRemove, { data });
    return reply.code(204).send();
  });
}

const find = (ask: Ask, { params }: FastifyRequest<AllocationPath>): Promise<AllocationView> =>
  ask('provisioning', allocationShow, { data: { allocation: params.allocation } });

async function list(request: FastifyRequest, ask: Ask): Promise<object> {
  refuseUnknownQuery(request, [...pagingParameters, ...filters]);
  const [resourceClass, state, node, owner] = filters.map((name) => queryValue(request, name));
  const id = node === undefined ? undefined : (await ask('provisioning', nodeShow, { data: { node } })).id;
  const found: AllocationView[] = [];
  for (let marker: string | undefined; ;) {
    const data = { limit: 1000, ...(marker !== undefined && { marker }) };
    const { allocations } = await ask('provisioning', allocationList, { data });
    found.push(...allocations);
    marker = allocations.at(-1)?.id;
    if (allocations.length < 1000) break;
  }
  const fits = found.filter(
    (each) =>
      (resourceClass === undefined || each.resource_class === resourceClass) &&
      (state === undefined || each.state === state) &&
      (id === undefined || each.node_id === id) &&
      (owner === undefined || each.owner === owner),
  );
  const base = baseUrl(request);
  return pageOf(
    request,
    fits.map((each) => bodyOf(base, each)),
    { key: 'allocations', row },
  );
}

function shown(request: FastifyRequest, allocation: AllocationView): object {
  const body = bodyOf(baseUrl(request), allocation);
  const fields = fieldsIn(request, body);
  return fields ? pick(body, fields) : body;
}

const bodyOf = (base: string, { id, node_id, version: _version, ...fields }: AllocationView): ListItem => ({
  uuid: id,
  ...fields,
  node_uuid: node_id,
  links: ironicLinks(base, `allocations/${id}`),
});
