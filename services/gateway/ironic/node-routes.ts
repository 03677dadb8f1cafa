/** The nodes of Ironic's API: list, enrol, show, change and remove. */
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import {
  convertDriverInfo,
  nodeNameSchema,
  resourceClassSchema,
  nodeEnrol,
  nodeDescriptionSchema,
  nodeExtraSchema,
  nodePropertiesSchema,
  nodeList,
  nodePatchSchema,
  nodeRemove,
  nodeStates,
  nodeTextSchema,
  nodeUpdate,
  traitsSchema,
  type NodeView,
} from '@anneal/contracts/calls/provisioning.ts';
import { driverInfoSchemas, driverNames, type DriverInfo } from '@anneal/contracts/drivers.ts';
import { sealText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField, queryBoolean, queryNumber, queryValue, refuseUnknownQuery } from '../http/body.ts';
import { ironicPrefix, nodeBody, nodeRow, pick } from './node-view.ts';
import { showNode, type NodePath } from './node-path.ts';

// Strict, because a client must not believe that Anneal applies a field that it does not know.
const commonShape = {
  uuid: z.guid().optional(),
  name: nodeNameSchema.optional(),
  driver: z.enum(driverNames).default('redfish'),
  resource_class: resourceClassSchema.default('baremetal'),
  traits: traitsSchema.default([]),
  properties: nodePropertiesSchema.default({}),
  extra: nodeExtraSchema.default({}),
  owner: nodeTextSchema.default(null),
  lessee: nodeTextSchema.default(null),
  description: nodeDescriptionSchema.default(null),
  /** Beyond Ironic: takes the node to `available` without separate verbs. */
  provide: z.boolean().default(false),
};
const redfishSchema = z.strictObject({ ...commonShape, driver_info: driverInfoSchemas.redfish.strict() });
const ipmiSchema = z.strictObject({ ...commonShape, driver_info: driverInfoSchemas.ipmi.strict() });
/** The driver of the request decides which names its `driver_info` may have. */
const enrolSchemaFor = (body: unknown): typeof redfishSchema | typeof ipmiSchema =>
  isObject(body) && body['driver'] === 'ipmi' ? ipmiSchema : redfishSchema;
const patchSchema = z.array(nodePatchSchema.element.strict()).max(100);

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
] as const;

/** Seals the password, because brokers keep messages in files. */
function sealPassword(secrets: Secrets, info: DriverInfo) {
  const sealed = (password: string | undefined) => (password === undefined ? undefined : sealText(secrets, password));
  if ('ipmi_address' in info) {
    const { ipmi_password: password, ...rest } = info;
    const seal = sealed(password);
    return { seal, info: { ...rest, ...(seal && { ipmi_password: seal }) } };
  }
  const { redfish_password: password, ...rest } = info;
  const seal = sealed(password);
  return { seal, info: { ...rest, ...(seal && { redfish_password: seal }) } };
}

const fieldsOf = (request: FastifyRequest): string[] | undefined => queryValue(request, 'fields')?.split(',');

/** Reads the filters that Anneal applies itself. */
function filterOf(request: FastifyRequest): (node: NodeView) => boolean {
  const maintenance = queryBoolean(request, 'maintenance');
  const resourceClass = queryValue(request, 'resource_class');
  const associated = queryBoolean(request, 'associated');
  const retired = queryBoolean(request, 'retired');
  const owner = queryValue(request, 'owner');
  const lessee = queryValue(request, 'lessee');
  const project = queryValue(request, 'project');
  const fault = queryValue(request, 'fault');
  const driver = queryValue(request, 'driver');
  const words = queryValue(request, 'description_contains')?.toLowerCase();
  return (node) =>
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

async function listNodes(ask: Ask, request: FastifyRequest, detailed: boolean): Promise<object> {
  refuseUnknownQuery(request, listParameters);
  const limit = queryNumber(request, 'limit', { least: 0, most: 1_000_000 });
  const marker = queryValue(request, 'marker');
  const state = queryValue(request, 'provision_state');
  const instance = queryValue(request, 'instance_uuid');
  const size = limit === undefined || limit === 0 ? 1000 : Math.min(limit, 1000);
  const fields = fieldsOf(request);
  const detail = detailed || (queryBoolean(request, 'detail') ?? false);
  const fits = filterOf(request);
  const { nodes } = await ask('provisioning', nodeList, {
    data: {
      limit: size,
      ...(marker !== undefined && { marker }),
      ...(instance !== undefined && { instance_id: instance }),
      ...(state !== undefined && { provision_state: parseField(z.enum(nodeStates), state, 'provision_state') }),
    },
  });
  const base = baseUrl(request);
  const last = nodes.at(-1);
  return {
    nodes: nodes
      .filter(fits)
      .map((node) =>
        fields ? pick(nodeBody(base, node), fields) : detail ? nodeBody(base, node) : nodeRow(base, node),
      ),
    ...(last &&
      nodes.length === size && {
        next: `${base}${ironicPrefix}/v1/nodes?limit=${size}&marker=${encodeURIComponent(last.id)}`,
      }),
  };
}

/** Registers the routes of nodes. */
export function nodeRoutes(
  scope: FastifyInstance,
  { ask, secrets, newId }: { ask: Ask; secrets: Secrets; newId: () => string },
): void {
  scope.get('/v1/nodes', (request) => listNodes(ask, request, false));
  scope.get('/v1/nodes/detail', (request) => listNodes(ask, request, true));

  scope.post('/v1/nodes', async (request, reply) => {
    const wanted = parseField<z.output<typeof redfishSchema> | z.output<typeof ipmiSchema>>(
      enrolSchemaFor(request.body),
      request.body,
      'The node',
    );
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
        owner: wanted.owner,
        lessee: wanted.lessee,
        description: wanted.description,
        provide: wanted.provide,
      },
    });
    const base = baseUrl(request);
    return reply.code(201).header('location', `${base}${ironicPrefix}/v1/nodes/${node.id}`).send(nodeBody(base, node));
  });

  scope.get<NodePath>('/v1/nodes/:node', async (request) => {
    const body = nodeBody(baseUrl(request), await showNode(ask, request));
    const fields = fieldsOf(request);
    return fields ? pick(body, fields) : body;
  });
  scope.delete<NodePath>('/v1/nodes/:node', async (request, reply) => {
    await ask('provisioning', nodeRemove, { data: { node: request.params.node } });
    return reply.code(204).send();
  });

  scope.patch<NodePath>('/v1/nodes/:node', async (request) => {
    const sealed: JsonObject[] = [];
    const patch = convertDriverInfo(parseField(patchSchema, request.body, 'The patch'), (value) => {
      const seal = secrets.seal(value);
      sealed.push(seal);
      return seal;
    });
    const data = { node: request.params.node, patch };
    return nodeBody(baseUrl(request), await ask('provisioning', nodeUpdate, { sealed, data }));
  });
}
