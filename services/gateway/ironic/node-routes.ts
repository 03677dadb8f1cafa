/** The nodes of Ironic's API: enrol, show, change and remove. */
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { convertDriverInfo, nodeEnrol, nodeRemove, nodeUpdate, type NodePatch } from '@anneal/contracts/calls/nodes.ts';
import {
  nodeNameSchema,
  resourceClassSchema,
  nodeDescriptionSchema,
  nodeExtraSchema,
  nodePropertiesSchema,
  nodeTextSchema,
  traitsSchema,
} from '@anneal/contracts/calls/node-fields.ts';
import {
  driverInfoSchemas,
  driverNames,
  interfaceKinds,
  type DriverInfo,
  type InterfaceKind,
} from '@anneal/contracts/drivers.ts';
import { sealText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { route, type Route } from '../http/route.ts';
import { chosenOf, fieldsQuery } from './collection.ts';
import { withoutInstanceSecrets, maskSecrets } from './instance-info.ts';
import { minorAsked } from './microversion.ts';
import { ironicNodeSchema } from './node-list.ts';
import { showNode } from './node-path.ts';
import { ironicPrefix, nodeBody } from './node-view.ts';
import { patchBody } from './patch.ts';

type InterfaceField = `${InterfaceKind}_interface`;

/** Names that are a part of an address as they are. A node that has another name since an earlier version keeps it. */
const isLogicalName = (name: string): boolean => /^[A-Za-z0-9._~-]+$/.test(name);
const notLogical = 'must have only letters, digits and . _ ~ -';

// Strict, because a client must not believe that Anneal applies a field that it does not know.
const commonShape = {
  uuid: z.guid().optional(),
  name: nodeNameSchema.refine(isLogicalName, notLogical).optional(),
  resource_class: resourceClassSchema.default('baremetal'),
  traits: traitsSchema.default([]),
  properties: nodePropertiesSchema.prefault({}),
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
/** The driver of the request decides which names its `driver_info` may have. */
const enrolBody = z.preprocess(
  (body) => (isObject(body) ? { driver: 'redfish', ...body } : body),
  z.discriminatedUnion(
    'driver',
    [
      z.strictObject({
        ...commonShape,
        driver: z.literal('redfish').default('redfish'),
        driver_info: driverInfoSchemas.redfish.strict(),
      }),
      z.strictObject({ ...commonShape, driver: z.literal('ipmi'), driver_info: driverInfoSchemas.ipmi.strict() }),
      z.strictObject({
        ...commonShape,
        driver: z.literal('fake-hardware'),
        driver_info: driverInfoSchemas['fake-hardware'].strict().default({}),
      }),
    ],
    { error: ({ code }) => (code === 'invalid_union' ? `expected one of ${driverNames.join(', ')}` : undefined) },
  ),
);
const nodePatchBody = z
  .array(
    patchBody.element.refine(
      ({ op, path, value }) =>
        path !== '/name' || op === 'remove' || op === 'test' || typeof value !== 'string' || isLogicalName(value),
      { path: ['value'], error: notLogical },
    ),
  )
  .max(100);

type SealedInfo = z.output<typeof nodeEnrol.data>['driver_info'];

/** Seals the password, because brokers keep messages in files. */
function sealPassword(secrets: Secrets, info: DriverInfo): { seal: JsonObject | undefined; info: SealedInfo } {
  const name = 'ipmi_address' in info ? 'ipmi_password' : 'redfish_password';
  const password = (info as JsonObject)[name];
  if (typeof password !== 'string') return { seal: undefined, info };
  const seal = sealText(secrets, password);
  return { seal, info: { ...info, [name]: seal } as SealedInfo };
}

const chosenInterfaces = (wanted: z.output<typeof enrolBody>): Partial<Record<InterfaceKind, string>> =>
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

/** The routes of single nodes. */
export const nodeRoutes = ({ ask, secrets, newId }: { ask: Ask; secrets: Secrets; newId: () => string }): Route[] => [
  route({
    method: 'POST',
    path: '/v1/nodes',
    summary: 'Enrol a node.',
    body: enrolBody,
    status: 201,
    answer: ironicNodeSchema,
    handle: async ({ body: wanted, request, reply }) => {
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
      void reply.header('location', `${base}${ironicPrefix}/v1/nodes/${node.id}`);
      return nodeBody(base, node);
    },
  }),
  route({
    method: 'GET',
    path: '/v1/nodes/{node}',
    summary: 'Show a node.',
    query: fieldsQuery,
    answer: ironicNodeSchema,
    handle: async ({ params, query, request }) =>
      chosenOf(nodeBody(baseUrl(request), await showNode(ask, params.node)), query.fields),
  }),
  route({
    method: 'DELETE',
    path: '/v1/nodes/{node}',
    summary: 'Remove a node.',
    query: z.object({
      force: z.boolean().default(false).meta({
        description:
          'Beyond Ironic: in every state, also with a server, when the node is in maintenance and its machine is proven to be off.',
      }),
    }),
    handle: ({ params: { node }, query: { force } }) => ask('provisioning', nodeRemove, { data: { node, force } }),
  }),
  route({
    method: 'PATCH',
    path: '/v1/nodes/{node}',
    summary: 'Change a node.',
    query: z.object({ reset_interfaces: z.boolean().default(false) }),
    body: nodePatchBody,
    answer: ironicNodeSchema,
    handle: async ({ params: { node }, query, body, request }) => {
      const sealed: JsonObject[] = [];
      const patch = convertDriverInfo(withoutInstanceSecrets(body), (value) => {
        const seal = secrets.seal(value);
        sealed.push(seal);
        return seal;
      });
      const data = { node, patch: query.reset_interfaces ? withDefaultInterfaces(patch) : patch };
      return nodeBody(baseUrl(request), await ask('provisioning', nodeUpdate, { sealed, data }));
    },
  }),
];
