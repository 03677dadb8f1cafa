/** The lists of nodes in Ironic's API. */
import { Readable } from 'node:stream';
import { assetShow } from '@anneal/contracts/calls/assets.ts';
import { nodeStates, type NodeView } from '@anneal/contracts/calls/nodes.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { route, type Route } from '../http/route.ts';
import { isVisible } from './access.ts';
import {
  commaText,
  itemSchema,
  itemsSchema,
  listParameters,
  listQuery,
  nextOf,
  pageOf,
  viewIn,
  type ListItem,
} from './collection.ts';
import { ironicPath, minorAsked } from './microversion.ts';
import { conductor, nodeBody, nodeFields, nodeRowFields } from './node-view.ts';
import { fromAllNodes, nodesAtOnce, nodesInParts } from './nodes-in-parts.ts';
import { answerAt } from './versioned-fields.ts';

const faults = [
  'power failure',
  'clean failure',
  'rescue abort failure',
  'service failure',
  'identity mismatch',
] as const;

const flag = z.boolean().optional();
const text = z.string().optional();
/** Strict, because a filter that is ignored would show nodes that it excludes. */
const nodesQuery = z.strictObject({
  ...listParameters,
  provision_state: z.enum(nodeStates).optional(),
  maintenance: flag,
  resource_class: text,
  associated: flag,
  instance_uuid: text,
  driver: text,
  retired: flag,
  owner: text,
  lessee: text,
  project: text.meta({ description: 'The owner or the lessee.' }),
  fault: z.enum(faults).optional(),
  description_contains: text,
  chassis_uuid: text,
  conductor: text,
  conductor_group: text,
  shard: commaText.meta({ description: 'Names of shards, with commas between.' }),
  sharded: flag,
  parent_node: text,
  include_children: flag,
});
type NodesQuery = z.output<typeof nodesQuery>;

/** Whether a node passes the filters that Anneal applies itself. */
function filterOf(query: NodesQuery): (node: NodeView) => boolean {
  const { project, shard: shards } = query;
  const words = query.description_contains?.toLowerCase();
  const fits = <T>(wanted: T | undefined, value: T): boolean => wanted === undefined || wanted === value;
  return (node) =>
    // No node has children, so no list leaves any out.
    query.parent_node === undefined &&
    fits(query.chassis_uuid, node.chassis_id) &&
    fits(query.conductor, conductor) &&
    fits(query.conductor_group, '') &&
    (shards === undefined || (node.shard !== null && shards.includes(node.shard))) &&
    fits(query.sharded, node.shard !== null) &&
    fits(query.retired, node.retired) &&
    fits(query.owner, node.owner) &&
    fits(query.lessee, node.lessee) &&
    (project === undefined || node.owner === project || node.lessee === project) &&
    fits(query.fault, node.fault) &&
    fits(query.driver, node.driver) &&
    (words === undefined || (node.description ?? '').toLowerCase().includes(words)) &&
    fits(query.maintenance, node.maintenance) &&
    fits(query.resource_class, node.resource_class) &&
    fits(query.associated, node.instance_id !== null);
}

/** Without an order of the client, the service lists by name, a page at a time. Any other order needs all nodes. */
async function listNodes(
  ask: Ask,
  { query, request, reply }: { query: NodesQuery; request: FastifyRequest; reply: FastifyReply },
  detailed: boolean,
): Promise<unknown> {
  const { chassis_uuid: chassis, provision_state: state, instance_uuid: instance, marker, limit } = query;
  // A chassis that does not exist is an error, as in Ironic, and not an empty list.
  if (chassis !== undefined) await ask('provisioning', assetShow, { data: { kind: 'chassis', asset: chassis } });
  const fits = filterOf(query);
  const base = baseUrl(request);
  const bodyOf = (node: NodeView): ListItem[] => (fits(node) && isVisible(request, node) ? [nodeBody(base, node)] : []);
  const form = { key: 'nodes', row: nodeRowFields, detailed };
  const wanted = {
    ...(instance !== undefined && { instance_id: instance }),
    ...(state !== undefined && { provision_state: state }),
  };
  if (query.sort_key !== undefined || query.sort_dir !== undefined)
    return pageOf({ request, query }, await fromAllNodes(ask, bodyOf, wanted), form);
  const view = viewIn(query, form);
  const shown = (part: readonly NodeView[]): object[] => part.flatMap(bodyOf).map(view);
  const nextAfter = (id: string): object => ({ next: nextOf(request, { limit, marker: id }) });
  const parts = nodesInParts(ask, { ...wanted, limit, ...(marker !== undefined && { marker }) });
  const { value: first = [] } = await parts.next();
  const last = first.at(-1);
  if (!last || first.length === limit || first.length < nodesAtOnce)
    return { nodes: shown(first), ...(last && first.length === limit && nextAfter(last.id)) };
  const version = { path: ironicPath(request), minor: minorAsked(request) };
  const textOf = (part: readonly NodeView[]): string =>
    JSON.stringify((answerAt({ nodes: shown(part) }, version) as { nodes: unknown }).nodes).slice(1, -1);
  const pieces = inPieces({ first, rest: parts, textOf, end: ({ read, id }) => (read === limit ? nextAfter(id) : {}) });
  return reply.type('application/json; charset=utf-8').send(Readable.from(pieces, { objectMode: false }));
}

/**
 * The text of a long list, made while it is sent, so that a list of thousands of nodes is never in memory. A failure after the
 * first part ends the connection.
 */
async function* inPieces(list: {
  first: readonly NodeView[];
  rest: AsyncIterable<readonly NodeView[]>;
  textOf: (part: readonly NodeView[]) => string;
  /** The fields beside the list, after this many nodes, of which the last has this id. */
  end: (at: { read: number; id: string }) => object;
}): AsyncGenerator<string> {
  const { first, rest, textOf, end } = list;
  let [read, id] = [first.length, first.at(-1)?.id ?? ''];
  const start = textOf(first);
  let isEmpty = start === '';
  yield `{"nodes":[${start}`;
  for await (const part of rest) {
    const rows = textOf(part);
    if (rows !== '') yield isEmpty ? rows : `,${rows}`;
    isEmpty &&= rows === '';
    read += part.length;
    id = part.at(-1)?.id ?? id;
  }
  const fields = JSON.stringify(end({ read, id })).slice(1);
  yield fields === '}' ? ']}' : `],${fields}`;
}

/** A node in an answer. */
export const ironicNodeSchema = itemSchema(nodeFields).meta({ id: 'IronicNode' });
const answer = itemsSchema('nodes', ironicNodeSchema);

/** The routes that list nodes. */
export const nodeListRoutes = (ask: Ask): Route[] => [
  ...[false, true].map((detailed) =>
    route({
      method: 'GET',
      path: detailed ? '/v1/nodes/detail' : '/v1/nodes',
      summary: detailed ? 'List the nodes with all fields.' : 'List the nodes.',
      query: nodesQuery,
      answer,
      handle: (input) => listNodes(ask, input, detailed),
    }),
  ),
  route({
    method: 'GET',
    path: '/v1/chassis/{chassis}/nodes',
    summary: 'List the nodes of a chassis.',
    query: listQuery,
    answer,
    handle: async ({ params: { chassis: asset }, query, request }) => {
      const { id } = await ask('provisioning', assetShow, { data: { kind: 'chassis', asset } });
      const items = await fromAllNodes(ask, (node) =>
        node.chassis_id === id ? [nodeBody(baseUrl(request), node)] : [],
      );
      return pageOf({ request, query }, items, { key: 'nodes', row: nodeRowFields });
    },
  }),
  route({
    method: 'GET',
    path: '/v1/shards',
    summary: 'Count the nodes of each shard.',
    answer: z.object({ shards: z.array(z.object({ name: z.string(), count: z.int() })) }),
    handle: async () => {
      const counts = new Map<string, number>();
      for (const shard of await fromAllNodes(ask, (node) => [node.shard ?? 'None']))
        counts.set(shard, (counts.get(shard) ?? 0) + 1);
      return { shards: [...counts].map(([name, count]) => ({ name, count })) };
    },
  }),
];
