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
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { route, type Route } from '../http/route.ts';
import { occasionOf } from '../identity/occasion.ts';
import {
  chosenOf,
  fieldsQuery,
  itemSchema,
  itemsSchema,
  listParameters,
  pageOf,
  readAll,
  type ListItem,
} from './collection.ts';
import { showNode } from './node-path.ts';
import { ironicPrefix, ironicLinks } from './node-view.ts';
import { patchBody } from './patch.ts';

const at = '/v1/allocations';
const row = ['uuid', 'name', 'resource_class', 'state', 'node_uuid', 'owner', 'traits', 'candidate_nodes'];
const text = z.string().optional();

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

export function allocationRoutes({ ask, newId }: { ask: Ask; newId: () => string }): Route[] {
  const show = (allocation: string) => ask('provisioning', allocationShow, { data: { allocation } });
  return [
    route({
      method: 'POST',
      path: at,
      summary: 'Allocate a node.',
      body: allocationFieldsSchema.extend({
        uuid: z.guid().nullish(),
        node: z.string().min(1).max(255).nullish(),
      }),
      status: 201,
      answer: allocationSchema,
      handle: async ({ body: { uuid, node, ...fields }, request, reply }) => {
        const made = await ask('provisioning', allocationCreate, {
          data: { ...fields, id: uuid ?? newId(), ...(node && { node }), occasion: occasionOf(request) },
        });
        const base = baseUrl(request);
        void reply.header('location', `${base}${ironicPrefix}${at}/${made.id}`);
        return bodyOf(base, made);
      },
    }),
    listRoute(ask),
    route({
      method: 'GET',
      path: `${at}/{allocation}`,
      summary: 'Show an allocation.',
      query: fieldsQuery,
      answer: allocationSchema,
      handle: async ({ params, query, request }) =>
        chosenOf(bodyOf(baseUrl(request), await show(params.allocation)), query.fields),
    }),
    route({
      method: 'PATCH',
      path: `${at}/{allocation}`,
      summary: 'Change an allocation.',
      body: patchBody,
      answer: allocationSchema,
      handle: async ({ params: { allocation }, body: patch, request }) =>
        bodyOf(baseUrl(request), await ask('provisioning', allocationChange, { data: { allocation, patch } })),
    }),
    route({
      method: 'DELETE',
      path: `${at}/{allocation}`,
      summary: 'Delete an allocation: its node is free again.',
      handle: ({ params: { allocation }, request }) =>
        ask('provisioning', allocationRemove, { data: { allocation, occasion: occasionOf(request) } }),
    }),
    route({
      method: 'GET',
      path: '/v1/nodes/{node}/allocation',
      summary: 'Show an allocation.',
      query: fieldsQuery,
      answer: allocationSchema,
      handle: async ({ params, query, request }) =>
        chosenOf(bodyOf(baseUrl(request), await show(await allocationOf(ask, params.node))), query.fields),
    }),
    route({
      method: 'DELETE',
      path: '/v1/nodes/{node}/allocation',
      summary: 'Delete an allocation: its node is free again.',
      handle: async ({ params, request }) => {
        const data = { allocation: await allocationOf(ask, params.node), occasion: occasionOf(request) };
        await ask('provisioning', allocationRemove, { data });
      },
    }),
  ];
}

const listRoute = (ask: Ask): Route =>
  route({
    method: 'GET',
    path: at,
    summary: 'List the allocations.',
    query: z.strictObject({ ...listParameters, resource_class: text, state: text, node: text, owner: text }),
    answer: itemsSchema('allocations', allocationSchema),
    handle: async ({ query, request }) => {
      const { resource_class: resourceClass, state, node, owner } = query;
      const id = node === undefined ? undefined : (await showNode(ask, node)).id;
      const all = await readAll(async (data) => (await ask('provisioning', allocationList, { data })).allocations);
      const fits = all.filter(
        (each) =>
          (resourceClass === undefined || each.resource_class === resourceClass) &&
          (state === undefined || each.state === state) &&
          (id === undefined || each.node_id === id) &&
          (owner === undefined || each.owner === owner),
      );
      const base = baseUrl(request);
      const items = fits.map((each) => bodyOf(base, each));
      return pageOf({ request, query }, items, { key: 'allocations', row });
    },
  });

/** The id of the allocation that holds a node. @throws AnnealError NotFound. */
async function allocationOf(ask: Ask, node: string): Promise<string> {
  const { allocation_id: id } = await showNode(ask, node);
  if (id !== null) return id;
  throw new AnnealError('NotFound', `Allocation for node ${node} was not found.`);
}

const bodyOf = (base: string, { id, node_id, version: _version, ...fields }: AllocationView): ListItem => ({
  uuid: id,
  ...fields,
  node_uuid: node_id,
  links: ironicLinks(base, `allocations/${id}`),
});
