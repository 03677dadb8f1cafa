/** The nodes of Ironic's API: list, enrol, show, change and remove. */
import { Readable } from 'node:stream';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import {
  convertDriverInfo,
  nodeNameSchema,
  resourceClassSchema,
  nodeEnrol,
  nodeDescriptionSchema,
  nodeExtraSchema,
  nodePropertiesSchema,
  nodePatchSchema,
  nodeRemove,
  nodeStates,
  nodeTextSchema,
  nodeUpdate,
  traitsSchema,
  type NodePatch,
  type NodeView,
} from '@anneal/contracts/calls/provisioning.ts';
import { assetShow } from '@anneal/contracts/calls/assets.ts';
import {
  driverInfoSchemas,
  driverNames,
  interfaceKinds,
  type DriverInfo,
  type InterfaceKind,
} from '@anneal/contracts/drivers.ts';
import { sealText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { queryBoolean, queryNumber, queryValue, refuseUnknownQuery } from '../http/body.ts';
import { parseField } from '../http/input.ts';
import { isVisible } from './access.ts';
import {
  fieldsIn,
  fieldsQuery,
  itemSchema,
  listQuery,
  nextOf,
  pageOf,
  itemsSchema,
  shownItem,
  type ListItem,
} from './collection.ts';
import { withoutInstanceSecrets, maskSecrets } from './instance-info.ts';
import { fromAllNodes, nodesAtOnce, nodesInParts } from './nodes-in-parts.ts';
import { ironicPath, minorAsked } from './microversion.ts';
import { conductor, ironicPrefix, nodeBody, nodeFields, nodeRowFields, pick } from './node-view.ts';
import { showNode, type NodePath } from './node-path.ts';
import { answerAt } from './versioned-fields.ts';
import { described } from '../http/document.ts';

type InterfaceField = `${InterfaceKind}_interface`;

/** Names that are a part of an address as they are. A node that has another name since an earlier version keeps it. */
const isLogicalName = (name: string): boolean => /^[A-Za-z0-9._~-]+$/.test(name);
const notLogical = 'must have only letters, digits and . _ ~ -';

// Strict, because a client must not believe that Anneal applies a field that it does not know.
const commonShape = {
  uuid: z.guid().optional(),
  name: nodeNameSchema.refine(isLogicalName, notLogical).optional(),
  driver: z.enum(driverNames).default('redfish'),
  resource_class: resourceClassSchema.default('baremetal'),
  traits: traitsSchema.default([]),
  properties: nodePropertiesSchema.default({}),
  extra: nodeExtraSchema.default({}),
  instance_info: nodeExtraSchema.default({}),
  owner: nodeTextSchema.default(null),
  lessee: nodeTextSchema.default(null),
  description: nodeDescriptionSchema.default(null),
  chassis_uuid: z.guid().nullable().default(null),
  shard: nodeTextSchema.default(null),
  ...(Object.fromEntries(
    interfaceKinds.map((kind): [InterfaceField, z.ZodType<string | undefined>] => [
      `${kind}_interface`,
      z.string().min(1).max(255).optional(),
    ]),
  ) as Record<InterfaceField, z.ZodType<string | undefined>>),
  /** Beyond Ironic: takes the node to `available` without separate verbs. */
  provide: z.boolean().default(false),
};
const redfishSchema = z.strictObject({ ...commonShape, driver_info: driverInfoSchemas.redfish.strict() });
const ipmiSchema = z.strictObject({ ...commonShape, driver_info: driverInfoSchemas.ipmi.strict() });
const fakeSchema = z.strictObject({
  ...commonShape,
  driver_info: driverInfoSchemas['fake-hardware'].strict().default({}),
});
type WantedNode = z.output<typeof redfishSchema> | z.output<typeof ipmiSchema> | z.output<typeof fakeSchema>;
/** The driver of the request decides which names its `driver_info` may have. */
const enrolSchemaFor = (body: unknown) => {
  const driver = isObject(body) ? body['driver'] : undefined;
  return driver === 'ipmi' ? ipmiSchema : driver === 'fake-hardware' ? fakeSchema : redfishSchema;
};
const patchSchema = z
  .array(
    nodePatchSchema.element
      .strict()
      .refine(
        ({ op, path, value }) =>
          path !== '/name' || op === 'remove' || op === 'test' || typeof value !== 'string' || isLogicalName(value),
        { path: ['value'], error: notLogical },
      ),
  )
  .max(100);

/** A filter that is ignored would show nodes that it excludes. */
const listParameters = [
  'limit',
  'marker',
  'fields',
  'detail',
  'provision_state',
  'maintenance',
  'resource_class',
  'associated',
  'instance_uuid',
  'driver',
  'retired',
  'owner',
  'lessee',
  'project',
  'fault',
  'description_contains',
  'chassis_uuid',
  'conductor',
  'conductor_group',
  'shard',
  'sharded',
  'parent_node',
  'include_children',
  'sort_key',
  'sort_dir',
] as const;
const faults = [
  'power failure',
  'clean failure',
  'rescue abort failure',
  'service failure',
  'identity mismatch',
] as const;

type SealedInfo = z.output<typeof nodeEnrol.data>['driver_info'];

/** Seals the password, because brokers keep messages in files. */
function sealPassword(secrets: Secrets, info: DriverInfo): { seal: JsonObject | undefined; info: SealedInfo } {
  const name = 'ipmi_address' in info ? 'ipmi_password' : 'redfish_password';
  const password = (info as JsonObject)[name];
  if (typeof password !== 'string') return { seal: undefined, info };
  const seal = sealText(secrets, password);
  return { seal, info: { ...info, [name]: seal } as SealedInfo };
}

/** Reads the filters that Anneal applies itself. */
function filterOf(request: FastifyRequest): (node: NodeView) => boolean {
  const maintenance = queryBoolean(request, 'maintenance');
  const resourceClass = queryValue(request, 'resource_class');
  const associated = queryBoolean(request, 'associated');
  const retired = queryBoolean(request, 'retired');
  const owner = queryValue(request, 'owner');
  const lessee = queryValue(request, 'lessee');
  const project = queryValue(request, 'project');
  const faultText = queryValue(request, 'fault');
  const fault = faultText === undefined ? undefined : parseField(z.enum(faults), faultText, 'fault');
  const chassis = queryValue(request, 'chassis_uuid');
  const host = queryValue(request, 'conductor');
  const group = queryValue(request, 'conductor_group');
  const shards = queryValue(request, 'shard')?.split(',');
  const sharded = queryBoolean(request, 'sharded');
  const driver = queryValue(request, 'driver');
  const words = queryValue(request, 'description_contains')?.toLowerCase();
  // No node has children, so no list leaves any out.
  const parent = queryValue(request, 'parent_node');
  queryBoolean(request, 'include_children');
  return (node) =>
    parent === undefined &&
    (chassis === undefined || node.chassis_id === chassis) &&
    (host === undefined || host === conductor) &&
    (group === undefined || group === '') &&
    (shards === undefined || (node.shard !== null && shards.includes(node.shard))) &&
    (sharded === undefined || (node.shard !== null) === sharded) &&
    (retired === undefined || node.retired === retired) &&
    (owner === undefined || node.owner === owner) &&
    (lessee === undefined || node.lessee === lessee) &&
    (project === undefined || node.owner === project || node.lessee === project) &&
    (fault === undefined || node.fault === fault) &&
    (driver === undefined || node.driver === driver) &&
    (words === undefined || (node.description ?? '').toLowerCase().includes(words)) &&
    (maintenance === undefined || node.maintenance === maintenance) &&
    (resourceClass === undefined || node.resource_class === resourceClass) &&
    (associated === undefined || (node.instance_id !== null) === associated);
}

/** Without an order of the client, the service lists by name, a page at a time. Any other order needs all nodes. */
async function listNodes(
  ask: Ask,
  { request, reply, detailed }: { request: FastifyRequest; reply: FastifyReply; detailed: boolean },
): Promise<object> {
  refuseUnknownQuery(request, listParameters);
  const chassis = queryValue(request, 'chassis_uuid');
  // A chassis that does not exist is an error, as in Ironic, and not an empty list.
  if (chassis !== undefined) await ask('provisioning', assetShow, { data: { kind: 'chassis', asset: chassis } });
  const fits = filterOf(request);
  const base = baseUrl(request);
  const bodyOf = (node: NodeView): ListItem[] =>
    fits(node) && isVisible(request, node) ? [{ ...nodeBody(base, node), uuid: node.id }] : [];
  const form = { key: 'nodes', row: nodeRowFields, detailed };
  if (queryValue(request, 'sort_key') !== undefined || queryValue(request, 'sort_dir') !== undefined)
    return pageOf(request, await fromAllNodes(ask, bodyOf), form);
  const limit = queryNumber(request, 'limit', { least: 0, most: 1_000_000 });
  const marker = queryValue(request, 'marker');
  const state = queryValue(request, 'provision_state');
  const instance = queryValue(request, 'instance_uuid');
  const size = limit === undefined || limit === 0 ? 1000 : Math.min(limit, 1000);
  const wanted = {
    limit: size,
    ...(marker !== undefined && { marker }),
    ...(instance !== undefined && { instance_id: instance }),
    ...(state !== undefined && { provision_state: parseField(z.enum(nodeStates), state, 'provision_state') }),
  };
  const shown = (part: readonly NodeView[]): object[] =>
    part.flatMap(bodyOf).map((item) => shownItem(request, item, form));
  const nextAfter = (id: string): object => ({ next: nextOf(request, { size, marker: id }) });
  const parts = nodesInParts(ask, wanted);
  const { value: first = [] } = await parts.next();
  const last = first.at(-1);
  if (!last || first.length === size || first.length < nodesAtOnce)
    return { nodes: shown(first), ...(last && first.length === size && nextAfter(last.id)) };
  const version = { path: ironicPath(request), minor: minorAsked(request) };
  const textOf = (part: readonly NodeView[]): string =>
    JSON.stringify((answerAt({ nodes: shown(part) }, version) as { nodes: unknown }).nodes).slice(1, -1);
  const pieces = inPieces({ first, rest: parts, textOf, end: ({ read, id }) => (read === size ? nextAfter(id) : {}) });
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
    const text = textOf(part);
    if (text !== '') yield isEmpty ? text : `,${text}`;
    isEmpty &&= text === '';
    read += part.length;
    id = part.at(-1)?.id ?? id;
  }
  const fields = JSON.stringify(end({ read, id })).slice(1);
  yield fields === '}' ? ']}' : `],${fields}`;
}

const chosenInterfaces = (wanted: WantedNode): Partial<Record<InterfaceKind, string>> =>
  Object.fromEntries(
    interfaceKinds.flatMap((kind) => {
      const chosen = wanted[`${kind}_interface`];
      return chosen === undefined ? [] : [[kind, chosen]];
    }),
  );

/** The patch that also gives each interface that it does not name back to the driver. */
const withDefaultInterfaces = (patch: NodePatch): NodePatch => [
  ...patch,
  ...interfaceKinds
    .map((kind) => `/${kind}_interface`)
    .filter((path) => !patch.some((operation) => operation.path === path))
    .map((path) => ({ op: 'remove' as const, path })),
];

const nodeSchema = itemSchema(nodeFields).meta({ id: 'IronicNode' });
const flag = z.boolean().optional();
const nodesQuery = listQuery(listParameters).extend({
  maintenance: flag,
  associated: flag,
  retired: flag,
  sharded: flag,
  include_children: flag,
  provision_state: z.enum(nodeStates).optional(),
  fault: z.enum(faults).optional(),
});
const lists = described({ summary: 'List the nodes.', query: nodesQuery, answer: itemsSchema('nodes', nodeSchema) });
const details = described({
  summary: 'List the nodes with all fields.',
  query: nodesQuery,
  answer: itemsSchema('nodes', nodeSchema),
});
const listsOfChassis = described({
  summary: 'List the nodes of a chassis.',
  query: listQuery(),
  answer: itemsSchema('nodes', nodeSchema),
});
const listsShards = described({
  summary: 'Count the nodes of each shard.',
  answer: z.object({ shards: z.array(z.object({ name: z.string(), count: z.int() })) }),
});
const enrols = described({
  summary: 'Enrol a node.',
  body: z.union([redfishSchema, ipmiSchema, fakeSchema]),
  status: 201,
  answer: nodeSchema,
});
const shows = described({ summary: 'Show a node.', query: fieldsQuery, answer: nodeSchema });
const changes = described({
  summary: 'Change a node.',
  query: z.object({ reset_interfaces: flag }),
  body: patchSchema,
  answer: nodeSchema,
});

/** Registers the routes of nodes. */
export function nodeRoutes(
  scope: FastifyInstance,
  { ask, secrets, newId }: { ask: Ask; secrets: Secrets; newId: () => string },
): void {
  scope.get('/v1/nodes', lists, (request, reply) => listNodes(ask, { request, reply, detailed: false }));
  scope.get('/v1/nodes/detail', details, (request, reply) => listNodes(ask, { request, reply, detailed: true }));
  scope.get<{ Params: { chassis: string } }>('/v1/chassis/:chassis/nodes', listsOfChassis, async (request) => {
    const { chassis } = request.params;
    const { id } = await ask('provisioning', assetShow, { data: { kind: 'chassis', asset: chassis } });
    const items = await fromAllNodes(ask, (node): ListItem[] =>
      node.chassis_id === id ? [{ ...nodeBody(baseUrl(request), node), uuid: node.id }] : [],
    );
    return pageOf(request, items, { key: 'nodes', row: nodeRowFields });
  });
  scope.get('/v1/shards', listsShards, async () => {
    const counts = new Map<string, number>();
    for (const shard of await fromAllNodes(ask, (node) => [node.shard ?? 'None']))
      counts.set(shard, (counts.get(shard) ?? 0) + 1);
    return { shards: [...counts].map(([name, count]) => ({ name, count })) };
  });

  scope.post('/v1/nodes', enrols, async (request, reply) => {
    const wanted = parseField<WantedNode>(enrolSchemaFor(request.body), request.body, 'The node');
    const id = wanted.uuid ?? newId();
    const { seal, info } = sealPassword(secrets, wanted.driver_info);
    const node = await ask('provisioning', nodeEnrol, {
      sealed: seal ?? null,
      data: {
        id,
        name: wanted.name ?? id,
        driver: wanted.driver,
        driver_info: info,
        resource_class: wanted.resource_class,
        traits: wanted.traits,
        properties: wanted.properties,
        extra: wanted.extra,
        instance_info: maskSecrets(wanted.instance_info) as JsonObject,
        owner: wanted.owner,
        lessee: wanted.lessee,
        description: wanted.description,
        chassis_id: wanted.chassis_uuid,
        shard: wanted.shard,
        interfaces: chosenInterfaces(wanted),
        provide: wanted.provide,
        at_once: minorAsked(request) < 11,
      },
    });
    const base = baseUrl(request);
    return reply.code(201).header('location', `${base}${ironicPrefix}/v1/nodes/${node.id}`).send(nodeBody(base, node));
  });

  scope.get<NodePath>('/v1/nodes/:node', shows, async (request) => {
    const body = nodeBody(baseUrl(request), await showNode(ask, request));
    const fields = fieldsIn(request, body);
    return fields ? pick(body, fields) : body;
  });
  scope.delete<NodePath>('/v1/nodes/:node', described({ summary: 'Remove a node.' }), async (request, reply) => {
    await ask('provisioning', nodeRemove, { data: { node: request.params.node } });
    return reply.code(204).send();
  });

  scope.patch<NodePath>('/v1/nodes/:node', changes, async (request) => {
    const sealed: JsonObject[] = [];
    const given = withoutInstanceSecrets(parseField(patchSchema, request.body, 'The patch'));
    const patch = convertDriverInfo(given, (value) => {
      const seal = secrets.seal(value);
      sealed.push(seal);
      return seal;
    });
    const isReset = queryBoolean(request, 'reset_interfaces') ?? false;
    const data = { node: request.params.node, patch: isReset ? withDefaultInterfaces(patch) : patch };
    return nodeBody(baseUrl(request), await ask('provisioning', nodeUpdate, { sealed, data }));
  });
}
