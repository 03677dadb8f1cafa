/** Chassis, ports, port groups, volume connectors and targets in Ironic's API. */
import {
  assetChange,
  assetCreate,
  assetList,
  assetRemove,
  assetShow,
  type AssetKind,
  type AssetView,
} from '@anneal/contracts/calls/assets.ts';
import { nodePatchSchema } from '@anneal/contracts/calls/provisioning.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { objectBody, queryValue, refuseUnknownQuery } from '../http/body.ts';
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
import { inspectedPort, inspectedPorts } from './inspected-ports.ts';
import { showNode, type NodePath } from './node-path.ts';
import { ironicPrefix, ironicLinks, ironicLinksSchema, pick } from './node-view.ts';
import { described } from '../http/document.ts';
import { jsonObject } from '@anneal/contracts/json.ts';

interface AssetPath {
  Params: { asset: string };
}
interface AssetRoutes {
  readonly ask: Ask;
  readonly newId: () => string;
}

interface Collection {
  readonly kind: AssetKind;
  /** The path below the version. */
  readonly path: string;
  readonly key: string;
  /** The fields of an item in a list without detail. */
  readonly row: readonly string[];
  readonly hasNames: boolean;
  /** Lists below an asset, to which it links. */
  readonly below?: string;
}

const collections: readonly Collection[] = [
  { kind: 'chassis', path: 'chassis', key: 'chassis', row: ['uuid', 'description'], hasNames: false, below: 'nodes' },
  { kind: 'port', path: 'ports', key: 'ports', row: ['uuid', 'address'], hasNames: true },
  {
    kind: 'port group',
    path: 'portgroups',
    key: 'portgroups',
    row: ['uuid', 'address', 'name'],
    hasNames: true,
    below: 'ports',
  },
  {
    kind: 'volume connector',
    path: 'volume/connectors',
    key: 'connectors',
    row: ['uuid', 'node_uuid', 'type', 'connector_id'],
    hasNames: false,
  },
  {
    kind: 'volume target',
    path: 'volume/targets',
    key: 'targets',
    row: ['uuid', 'node_uuid', 'volume_type', 'volume_id', 'boot_index'],
    hasNames: false,
  },
];
const patchSchema = z.array(nodePatchSchema.element.strict()).max(100);
const uuidSchema = z.guid();

const assetSchema = itemSchema({ extra: jsonObject, node_uuid: z.string().nullable() }).meta({ id: 'Asset' });
const volumeSchema = z.object({ links: ironicLinksSchema, connectors: ironicLinksSchema, targets: ironicLinksSchema });

export function assetRoutes(scope: FastifyInstance, routes: AssetRoutes): void {
  for (const collection of collections) {
    listRoutes(scope, collection, routes);
    objectRoutes(scope, collection, routes);
  }
  const listsPorts = described({
    summary: 'List the ports of a port group.',
    query: listQuery(),
    answer: itemsSchema('ports', assetSchema),
  });
  scope.get<AssetPath>('/v1/portgroups/:asset/ports', listsPorts, (request) =>
    portsOfGroup(request, routes.ask, false),
  );
  scope.get<AssetPath>('/v1/portgroups/:asset/ports/detail', listsPorts, (request) =>
    portsOfGroup(request, routes.ask, true),
  );
  const links = (request: FastifyRequest, path: string) => ({
    links: ironicLinks(baseUrl(request), path),
    connectors: ironicLinks(baseUrl(request), `${path}/connectors`),
    targets: ironicLinks(baseUrl(request), `${path}/targets`),
  });
  scope.get('/v1/volume', described({ summary: 'Show the lists of volumes.', answer: volumeSchema }), (request) =>
    links(request, 'volume'),
  );
  const ofNode = described({ summary: 'Show the lists of volumes of a node.', answer: volumeSchema });
  scope.get<NodePath>('/v1/nodes/:node/volume', ofNode, async (request) =>
    links(request, `nodes/${(await showNode(routes.ask, request)).id}/volume`),
  );
}

const portOf = collections.find(({ kind }) => kind === 'port');

async function portsOfGroup(request: FastifyRequest<AssetPath>, ask: Ask, detailed: boolean): Promise<object> {
  const { id, node_id } = await ask('provisioning', assetShow, {
    data: { kind: 'port group', asset: request.params.asset },
  });
  const ports = await all(ask, { kind: 'port', ...(node_id !== null && { node: node_id }) });
  const members = ports.filter(({ fields }) => fields['portgroup_uuid'] === id);
  const { key = 'ports', row = [] } = portOf ?? {};
  return pageOf(
    request,
    members.map((each) => bodyOf(baseUrl(request), each)),
    { key, row, detailed },
  );
}

const filtersOf = (kind: AssetKind): string[] =>
  kind === 'chassis' ? [] : ['node', 'node_uuid', 'address', ...(kind === 'port' ? ['portgroup'] : [])];
const pluralOf = (kind: AssetKind): string => (kind === 'chassis' ? kind : `${kind}s`);

function listRoutes(scope: FastifyInstance, collection: Collection, { ask }: AssetRoutes): void {
  const { kind, path, key, row } = collection;
  const answer = itemsSchema(key, assetSchema);
  const lists = described({ summary: `List the ${pluralOf(kind)}.`, query: listQuery(filtersOf(kind)), answer });
  const listsOfNode = described({ summary: `List the ${pluralOf(kind)} of a node.`, query: listQuery(), answer });
  const list = async (request: FastifyRequest, detailed: boolean): Promise<object> => {
    refuseUnknownQuery(request, [...pagingParameters, ...filtersOf(kind)]);
    const address = queryValue(request, 'address');
    const node = queryValue(request, 'node') ?? queryValue(request, 'node_uuid');
    const group = queryValue(request, 'portgroup');
    const inGroup =
      group === undefined
        ? undefined
        : (await ask('provisioning', assetShow, { data: { kind: 'port group', asset: group } })).id;
    const wanted = { kind, ...(node !== undefined && { node }), ...(address !== undefined && { address }) };
    const found = await all(ask, wanted);
    const items = found
      .filter(({ fields }) => inGroup === undefined || fields['portgroup_uuid'] === inGroup)
      .map((each) => bodyOf(baseUrl(request), each));
    const others =
      kind === 'port' && inGroup === undefined ? await inspectedPorts(ask, request, { node, address }) : [];
    const declared = new Set(items.map((item) => `${String(item['node_uuid'])} ${String(item['address'])}`));
    const rest = others.filter((each) => !declared.has(`${String(each['node_uuid'])} ${String(each['address'])}`));
    return pageOf(request, [...items, ...rest], { key, row, detailed });
  };
  scope.get(`/v1/${path}`, lists, (request) => list(request, false));
  scope.get(`/v1/${path}/detail`, lists, (request) => list(request, true));
  if (kind === 'chassis') return;
  const ofNode = async (request: FastifyRequest<NodePath>, detailed: boolean): Promise<object> => {
    const node = await showNode(ask, request);
    const items = (await all(ask, { kind, node: node.id })).map((each) => bodyOf(baseUrl(request), each));
    const seen = kind === 'port' ? await inspectedPorts(ask, request, { node: node.id }) : [];
    const rest = seen.filter((each) => !items.some(({ address }) => address === each['address']));
    return pageOf(request, [...items, ...rest], { key, row, detailed });
  };
  scope.get<NodePath>(`/v1/nodes/:node/${path}`, listsOfNode, (request) => ofNode(request, false));
  scope.get<NodePath>(`/v1/nodes/:node/${path}/detail`, listsOfNode, (request) => ofNode(request, true));
}

function objectRoutes(scope: FastifyInstance, collection: Collection, { ask, newId }: AssetRoutes): void {
  const { kind, path } = collection;
  const placeOf = ({ params: { asset } }: FastifyRequest<AssetPath>) => {
    const isName = collection.hasNames && /^[A-Za-z0-9._~-]+$/.test(asset);
    if (!isName && !uuidSchema.safeParse(asset).success)
      throw new AnnealError('InvalidRequest', `Expected the UUID of a ${kind}, not "${asset}".`);
    return { kind, asset };
  };
  const creates = described({
    summary: `Create a ${kind}.`,
    body: z.looseObject({ uuid: uuidSchema.nullish() }),
    status: 201,
    answer: assetSchema,
  });
  const shows = described({ summary: `Show a ${kind}.`, query: fieldsQuery, answer: assetSchema });
  const changes = described({ summary: `Change a ${kind}.`, body: patchSchema, answer: assetSchema });
  scope.post(`/v1/${path}`, creates, async (request, reply) => {
    const { uuid, ...fields } = objectBody(request);
    const id = uuid === undefined || uuid === null ? newId() : parseField(uuidSchema, uuid, 'The uuid');
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
    const made = await ask('provisioning', assetCreate, {
      data: { id, kind, fields: given, occasion: occasionOf(request) },
    });
    const base = baseUrl(request);
    return reply.code(201).header('location', `${base}${ironicPrefix}/v1/${path}/${made.id}`).send(bodyOf(base, made));
  });
  scope.get<AssetPath>(`/v1/${path}/:asset`, shows, async (request) => {
    const place = placeOf(request);
    const body = await ask('provisioning', assetShow, { data: place })
      .then((found) => bodyOf(baseUrl(request), found))
      .catch(async (error: unknown) => {
        const port = kind === 'port' ? await inspectedPort(ask, request, place.asset) : undefined;
        if (port) return port;
        throw error;
      });
    const fields = fieldsIn(request, body);
    return fields ? pick(body, fields) : body;
  });
  scope.patch<AssetPath>(`/v1/${path}/:asset`, changes, async (request) => {
    const place = placeOf(request);
    const patch = parseField(patchSchema, request.body, 'The patch');
    const data = { ...place, patch, occasion: occasionOf(request) };
    return bodyOf(baseUrl(request), await ask('provisioning', assetChange, { data }));
  });
  scope.delete<AssetPath>(`/v1/${path}/:asset`, described({ summary: `Delete a ${kind}.` }), async (request, reply) => {
    await ask('provisioning', assetRemove, { data: { ...placeOf(request), occasion: occasionOf(request) } });
    return reply.code(204).send();
  });
}

async function all(ask: Ask, wanted: { kind: AssetKind; node?: string; address?: string }): Promise<AssetView[]> {
  const found: AssetView[] = [];
  for (let marker: string | undefined; ;) {
    const data = { ...wanted, limit: 1000, ...(marker !== undefined && { marker }) };
    const { assets } = await ask('provisioning', assetList, { data });
    found.push(...assets);
    marker = assets.at(-1)?.id;
    if (assets.length < 1000) return found;
  }
}

const seconds = (time: string | null): string | null => (time === null ? null : `${time.slice(0, 19)}+00:00`);

function bodyOf(base: string, { id, kind, fields, created_at, updated_at }: AssetView): ListItem {
  const { path = '', below } = collections.find((each) => each.kind === kind) ?? {};
  return {
    uuid: id,
    ...fields,
    ...((kind === 'port' || kind === 'port group') && { internal_info: {} }),
    created_at: seconds(created_at),
    updated_at: seconds(updated_at),
    links: ironicLinks(base, `${path}/${id}`),
    ...(below !== undefined && { [below]: ironicLinks(base, `${path}/${id}/${below}`) }),
  };
}
