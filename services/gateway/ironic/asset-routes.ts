/** Chassis, ports, port groups, volume connectors and targets in Ironic's API. */
import {
  assetChange,
  assetCreate,
  assetList,
  assetRemove,
  assetSchemas,
  assetShow,
  type AssetKind,
  type AssetView,
} from '@anneal/contracts/calls/assets.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, jsonObject, type JsonObject } from '@anneal/contracts/json.ts';
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
  listQuery,
  pageOf,
  readAll,
  type ListItem,
} from './collection.ts';
import { inspectedPort, inspectedPorts } from './inspected-ports.ts';
import { showNode } from './node-path.ts';
import { ironicPrefix, ironicLinks, ironicLinksSchema, ironicSeconds } from './node-view.ts';
import { patchBody } from './patch.ts';

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

const portRow = { key: 'ports', row: ['uuid', 'address'] };
const collections: readonly Collection[] = [
  { kind: 'chassis', path: 'chassis', key: 'chassis', row: ['uuid', 'description'], hasNames: false, below: 'nodes' },
  { kind: 'port', path: 'ports', ...portRow, hasNames: true },
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
const assetSchema = itemSchema({ extra: jsonObject, node_uuid: z.string().nullable() }).meta({ id: 'Asset' });
const volumeSchema = z.object({ links: ironicLinksSchema, connectors: ironicLinksSchema, targets: ironicLinksSchema });
const text = z.string().optional();
const portsQuery = z.strictObject({ ...listParameters, node: text, node_uuid: text, address: text, portgroup: text });
type AssetsQuery = z.output<typeof portsQuery>;
/** The query of a list. Strict, because a filter that is ignored would show assets that it excludes. */
const queryOf = (kind: AssetKind): z.ZodType<AssetsQuery> =>
  kind === 'port'
    ? portsQuery
    : kind === 'chassis'
      ? z.strictObject(listParameters)
      : portsQuery.omit({ portgroup: true });

/** The body of a new asset. Clients send null for what they leave out. */
const draftOf = (kind: AssetKind) =>
  z.preprocess(
    (body) =>
      isObject(body ?? {})
        ? Object.fromEntries(Object.entries(body ?? {}).filter(([, value]) => value !== null))
        : body,
    z.strictObject({ uuid: z.guid().nullish(), ...assetSchemas[kind].shape }),
  );

export const assetRoutes = (routes: AssetRoutes): Route[] => [
  ...collections.flatMap((collection) => [
    ...listRoutes(collection, routes),
    ...ofNodeRoutes(collection, routes),
    ...objectRoutes(collection, routes),
  ]),
  ...([false, true] as const).map((detailed) =>
    route({
      method: 'GET',
      path: `/v1/portgroups/{asset}/ports${detailed ? '/detail' : ''}`,
      summary: 'List the ports of a port group.',
      query: listQuery,
      answer: itemsSchema('ports', assetSchema),
      handle: async ({ params: { asset }, query, request }) => {
        const { ask } = routes;
        const { id, node_id: node } = await ask('provisioning', assetShow, { data: { kind: 'port group', asset } });
        const ports = await all(ask, { kind: 'port', ...(node !== null && { node }) });
        const items = ports
          .filter(({ fields }) => fields['portgroup_uuid'] === id)
          .map((each) => bodyOf(baseUrl(request), each));
        return pageOf({ request, query }, items, { ...portRow, detailed });
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/v1/volume',
    summary: 'Show the lists of volumes.',
    answer: volumeSchema,
    handle: ({ request }) => volumeLinks(baseUrl(request), 'volume'),
  }),
  route({
    method: 'GET',
    path: '/v1/nodes/{node}/volume',
    summary: 'Show the lists of volumes of a node.',
    answer: volumeSchema,
    handle: async ({ params, request }) =>
      volumeLinks(baseUrl(request), `nodes/${(await showNode(routes.ask, params.node)).id}/volume`),
  }),
];

const volumeLinks = (base: string, path: string) => ({
  links: ironicLinks(base, path),
  connectors: ironicLinks(base, `${path}/connectors`),
  targets: ironicLinks(base, `${path}/targets`),
});

const pluralOf = (kind: AssetKind): string => (kind === 'chassis' ? kind : `${kind}s`);

const listRoutes = ({ kind, path, key, row }: Collection, { ask }: AssetRoutes): Route[] =>
  [false, true].map((detailed) =>
    route({
      method: 'GET',
      path: `/v1/${path}${detailed ? '/detail' : ''}`,
      summary: `List the ${pluralOf(kind)}.`,
      query: queryOf(kind),
      answer: itemsSchema(key, assetSchema),
      handle: async ({ query, request }) => {
        const { address, node = query.node_uuid, portgroup: asset } = query;
        const group =
          asset === undefined
            ? undefined
            : await ask('provisioning', assetShow, { data: { kind: 'port group', asset } });
        const found = await all(ask, {
          kind,
          ...(node !== undefined && { node }),
          ...(address !== undefined && { address }),
        });
        const items = found
          .filter(({ fields }) => group === undefined || fields['portgroup_uuid'] === group.id)
          .map((each) => bodyOf(baseUrl(request), each));
        const others = kind === 'port' && !group ? await inspectedPorts(ask, request, { node, address }) : [];
        return pageOf({ request, query }, withOthers(items, others), { key, row, detailed });
      },
    }),
  );

const ofNodeRoutes = ({ kind, path, key, row }: Collection, { ask }: AssetRoutes): Route[] =>
  (kind === 'chassis' ? [] : [false, true]).map((detailed) =>
    route({
      method: 'GET',
      path: `/v1/nodes/{node}/${path}${detailed ? '/detail' : ''}`,
      summary: `List the ${pluralOf(kind)} of a node.`,
      query: listQuery,
      answer: itemsSchema(key, assetSchema),
      handle: async ({ params, query, request }) => {
        const node = (await showNode(ask, params.node)).id;
        const items = (await all(ask, { kind, node })).map((each) => bodyOf(baseUrl(request), each));
        const others = kind === 'port' ? await inspectedPorts(ask, request, { node }) : [];
        return pageOf({ request, query }, withOthers(items, others), { key, row, detailed });
      },
    }),
  );

/** The declared ports, and those inspected ones of which none is declared. */
function withOthers(items: readonly ListItem[], others: readonly ListItem[]): ListItem[] {
  const placeOf = (port: ListItem) => `${String(port['node_uuid'])} ${String(port['address'])}`;
  const declared = new Set(items.map(placeOf));
  return [...items, ...others.filter((each) => !declared.has(placeOf(each)))];
}

function objectRoutes({ kind, path, hasNames }: Collection, { ask, newId }: AssetRoutes): Route[] {
  const placeOf = (asset: string) => {
    const isName = hasNames && /^[A-Za-z0-9._~-]+$/.test(asset);
    if (!isName && !z.guid().safeParse(asset).success)
      throw new AnnealError('InvalidRequest', `Expected the UUID of a ${kind}, not "${asset}".`);
    return { kind, asset };
  };
  return [
    route({
      method: 'POST',
      path: `/v1/${path}`,
      summary: `Create a ${kind}.`,
      body: draftOf(kind),
      status: 201,
      answer: assetSchema,
      handle: async ({ body: { uuid, ...fields }, request, reply }) => {
        const data = { id: uuid ?? newId(), kind, fields: fields as JsonObject, occasion: occasionOf(request) };
        const made = await ask('provisioning', assetCreate, { data });
        const base = baseUrl(request);
        void reply.header('location', `${base}${ironicPrefix}/v1/${path}/${made.id}`);
        return bodyOf(base, made);
      },
    }),
    route({
      method: 'GET',
      path: `/v1/${path}/{asset}`,
      summary: `Show a ${kind}.`,
      query: fieldsQuery,
      answer: assetSchema,
      handle: async ({ params, query, request }) => {
        const place = placeOf(params.asset);
        const body = await ask('provisioning', assetShow, { data: place })
          .then((found) => bodyOf(baseUrl(request), found))
          .catch(async (error: unknown) => {
            const port = kind === 'port' ? await inspectedPort(ask, request, place.asset) : undefined;
            if (port) return port;
            throw error;
          });
        return chosenOf(body, query.fields);
      },
    }),
    route({
      method: 'PATCH',
      path: `/v1/${path}/{asset}`,
      summary: `Change a ${kind}.`,
      body: patchBody,
      answer: assetSchema,
      handle: async ({ params, body: patch, request }) => {
        const data = { ...placeOf(params.asset), patch, occasion: occasionOf(request) };
        return bodyOf(baseUrl(request), await ask('provisioning', assetChange, { data }));
      },
    }),
    route({
      method: 'DELETE',
      path: `/v1/${path}/{asset}`,
      summary: `Delete a ${kind}.`,
      handle: ({ params, request }) =>
        ask('provisioning', assetRemove, { data: { ...placeOf(params.asset), occasion: occasionOf(request) } }),
    }),
  ];
}

const all = (ask: Ask, wanted: { kind: AssetKind; node?: string; address?: string }): Promise<AssetView[]> =>
  readAll(async (part) => (await ask('provisioning', assetList, { data: { ...wanted, ...part } })).assets);

function bodyOf(base: string, { id, kind, fields, created_at, updated_at }: AssetView): ListItem {
  const { path = '', below } = collections.find((each) => each.kind === kind) ?? {};
  return {
    uuid: id,
    ...fields,
    ...((kind === 'port' || kind === 'port group') && { internal_info: {} }),
    created_at: ironicSeconds(created_at),
    updated_at: ironicSeconds(updated_at),
    links: ironicLinks(base, `${path}/${id}`),
    ...(below !== undefined && { [below]: ironicLinks(base, `${path}/${id}/${below}`) }),
  };
}
