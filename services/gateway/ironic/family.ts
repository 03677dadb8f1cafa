/** Ironic's API for nodes: what the openstack command needs to enrol, show, power and provision them. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import {
  convertDriverInfo,
  driverInfoSchema,
  nodeNameSchema,
  resourceClassSchema,
  nodeEnrol,
  nodeExtraSchema,
  nodePropertiesSchema,
  nodeList,
  nodeMaintenance,
  nodePatchSchema,
  nodePower,
  nodeProvision,
  nodeRemove,
  nodeShow,
  nodeStates,
  nodeUpdate,
  traitsSchema,
  type NodePatch,
  type NodeView,
} from '@anneal/contracts/provisioning.ts';
import { sealText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField, queryBoolean, queryNumber, queryValue, readJsonBodies, refuseUnknownQuery } from '../http/body.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { requireToken, type Authenticate } from '../identity/caller.ts';
import { authenticateHeader } from '../identity/keystone.ts';
import { nodeBody, nodeRow, pick } from './node-view.ts';

export interface IronicOptions {
  ask: Ask;
  secrets: Secrets;
  newId: () => string;
  authenticate: Authenticate;
  report: (error: unknown, request: FastifyRequest) => void;
}

export const ironicPrefix = '/baremetal';
const versions = { least: '1.1', most: '1.95' } as const;

/** Ironic puts its fault, as JSON, into a string. */
const fault = (status: number, faultstring: string, more: object = {}) => ({
  error_message: JSON.stringify({
    faultcode: status < 500 ? 'Client' : 'Server',
    faultstring,
    debuginfo: null,
    ...more,
  }),
});

const ironicWording: FamilyWording = {
  body: ({ status, failure: { code, message, remedy, mistakes } }) =>
    fault(status, message, { code, remedy, ...(mistakes && { mistakes }) }),
  headers: ({ status }, request): Record<string, string> =>
    status === 401 ? { 'www-authenticate': authenticateHeader(request) } : {},
  notFound: (_request, reply) =>
    reply.code(404).send(fault(404, 'The bare metal API has no endpoint at this address.')),
  notAllowed: (_request, allow) => fault(405, `This address accepts ${allow.join(', ')}.`),
};

// Strict, because a client must not believe that Anneal applies a field that it does not know.
const enrolSchema = z.strictObject({
  uuid: z.guid().optional(),
  name: nodeNameSchema.optional(),
  driver: z.enum(['redfish']).default('redfish'),
  driver_info: driverInfoSchema.strict(),
  resource_class: resourceClassSchema.default('baremetal'),
  traits: traitsSchema.default([]),
  properties: nodePropertiesSchema.default({}),
  extra: nodeExtraSchema.default({}),
  /** Beyond Ironic: takes the node to `available` without separate verbs. */
  provide: z.boolean().default(false),
});
const powerTargets = ['power on', 'power off', 'rebooting', 'soft power off', 'soft rebooting'] as const;
const powerSchema = z.strictObject({ target: z.enum(powerTargets) });
const provisionSchema = z.strictObject({
  target: z.enum(['manage', 'inspect', 'provide', 'clean', 'abort', 'deleted']),
});
const patchSchema = z.array(nodePatchSchema.element.strict()).max(100);
const maintenanceSchema = z.strictObject({ reason: z.string().max(4096).nullish() });

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
] as const;

interface NodePath {
  Params: { node: string };
}
interface TraitPath {
  Params: { node: string; trait: string };
}

/** Seals the password, because brokers keep messages in files. */
const sealPassword = (
  secrets: Secrets,
  { redfish_password: password, ...info }: z.output<typeof driverInfoSchema>,
) => ({
  ...info,
  ...(password !== undefined && { redfish_password: sealText(secrets, password) }),
});

/** Answers 400 for a wrong state. In Ironic 409 means a locked node, and clients retry a 409 for a while. */
function withoutConflicts(ask: Ask): Ask {
  return (service, call, parameters) =>
    ask(service, call, parameters).catch((error: unknown) => {
      if (!(error instanceof AnnealError) || error.code !== 'Conflict') throw error;
      throw new AnnealError('InvalidRequest', error.message, { cause: error });
    });
}

export function ironicFamily(
  scope: FastifyInstance,
  { newId, secrets, authenticate, report, ...options }: IronicOptions,
): void {
  const ask = withoutConflicts(options.ask);
  readJsonBodies(scope);
  wordErrors(scope, ironicWording, report);
  requireToken(scope, authenticate);
  scope.addHook('onSend', async (request, reply) => {
    const asked = request.headers['x-openstack-ironic-api-version'];
    void reply.headers({
      'x-openstack-ironic-api-minimum-version': versions.least,
      'x-openstack-ironic-api-maximum-version': versions.most,
      'x-openstack-ironic-api-version': typeof asked === 'string' && asked !== 'latest' ? asked : versions.most,
    });
  });

  const entry = (request: FastifyRequest) => ({
    id: 'v1',
    status: 'CURRENT',
    min_version: versions.least,
    version: versions.most,
    links: [{ href: `${baseUrl(request)}${ironicPrefix}/v1/`, rel: 'self' }],
  });
  const open = { config: { public: true } } as const;
  scope.get('/', open, (request) => ({
    name: 'Bare metal API',
    description: 'Nodes, compatible with Ironic.',
    default_version: entry(request),
    versions: [entry(request)],
  }));
  scope.get('/v1', open, (request) => ({
    id: 'v1',
    version: entry(request),
    links: entry(request).links,
    nodes: [{ href: `${baseUrl(request)}${ironicPrefix}/v1/nodes/`, rel: 'self' }],
    media_types: [{ base: 'application/json', type: 'application/vnd.openstack.ironic.v1+json' }],
  }));

  const fieldsOf = (request: FastifyRequest): string[] | undefined => queryValue(request, 'fields')?.split(',');

  const list = (detailed: boolean) => async (request: FastifyRequest) => {
    refuseUnknownQuery(request, listParameters);
    const limit = queryNumber(request, 'limit', { least: 0, most: 1_000_000 });
    const marker = queryValue(request, 'marker');
    const state = queryValue(request, 'provision_state');
    const size = limit === undefined || limit === 0 ? 1000 : Math.min(limit, 1000);
    const { nodes } = await ask('provisioning', nodeList, {
      data: {
        limit: size,
        ...(marker !== undefined && { marker }),
        ...(state !== undefined && { provision_state: parseField(z.enum(nodeStates), state, 'provision_state') }),
      },
    });
    const base = baseUrl(request);
    const fields = fieldsOf(request);
    const detail = detailed || (queryBoolean(request, 'detail') ?? false);
    const maintenance = queryBoolean(request, 'maintenance');
    const resourceClass = queryValue(request, 'resource_class');
    const associated = queryBoolean(request, 'associated');
    const instance = queryValue(request, 'instance_uuid');
    const fits = (node: NodeView): boolean =>
      (maintenance === undefined || node.maintenance === maintenance) &&
      (resourceClass === undefined || node.resource_class === resourceClass) &&
      (associated === undefined || (node.instance_id !== null) === associated) &&
      (instance === undefined || node.instance_id === instance);
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
  };
  scope.get('/v1/nodes', list(false));
  scope.get('/v1/nodes/detail', list(true));

  scope.post('/v1/nodes', async (request, reply) => {
    const wanted = parseField(enrolSchema, request.body, 'The node');
    const id = wanted.uuid ?? newId();
    const driverInfo = sealPassword(secrets, driverInfoSchema.parse(wanted.driver_info));
    const node = await ask('provisioning', nodeEnrol, {
      sealed: driverInfo.redfish_password ?? null,
      data: {
        id,
        name: wanted.name ?? id,
        driver: wanted.driver,
        driver_info: driverInfo,
        resource_class: wanted.resource_class,
        traits: wanted.traits,
        properties: wanted.properties,
        extra: wanted.extra,
        provide: wanted.provide,
      },
    });
    const base = baseUrl(request);
    return reply.code(201).header('location', `${base}${ironicPrefix}/v1/nodes/${node.id}`).send(nodeBody(base, node));
  });

  const show = (request: FastifyRequest<NodePath>): Promise<NodeView> =>
    ask('provisioning', nodeShow, { data: { node: request.params.node } });

  scope.get<NodePath>('/v1/nodes/:node', async (request) => {
    const body = nodeBody(baseUrl(request), await show(request));
    const fields = fieldsOf(request);
    return fields ? pick(body, fields) : body;
  });
  scope.delete<NodePath>('/v1/nodes/:node', async (request, reply) => {
    await ask('provisioning', nodeRemove, { data: { node: request.params.node } });
    return reply.code(204).send();
  });

  // ---- states: each change is accepted, and completes in the background

  scope.get<NodePath>('/v1/nodes/:node/states', async (request) => {
    const node = await show(request);
    const fields = ['power_state', 'target_power_state', 'provision_state', 'target_provision_state', 'last_error'];
    return pick(nodeBody(baseUrl(request), node), [...fields, 'provision_updated_at', 'console_enabled']);
  });
  const accepted = (reply: FastifyReply): FastifyReply => reply.code(202).send();
  scope.put<NodePath>('/v1/nodes/:node/states/power', async (request, reply) => {
    const { target } = parseField(powerSchema, request.body, 'The power request');
    await ask('provisioning', nodePower, { data: { node: request.params.node, target } });
    return accepted(reply);
  });
  scope.put<NodePath>('/v1/nodes/:node/states/provision', async (request, reply) => {
    const { target } = parseField(provisionSchema, request.body, 'The provision request');
    await ask('provisioning', nodeProvision, { data: { node: request.params.node, target } });
    return accepted(reply);
  });
  scope.put<NodePath>('/v1/nodes/:node/maintenance', async (request, reply) => {
    const { reason } = parseField(maintenanceSchema, request.body ?? {}, 'The maintenance request');
    const data = { node: request.params.node, maintenance: true, ...(typeof reason === 'string' && { reason }) };
    await ask('provisioning', nodeMaintenance, { data });
    return accepted(reply);
  });
  scope.delete<NodePath>('/v1/nodes/:node/maintenance', async (request, reply) => {
    await ask('provisioning', nodeMaintenance, { data: { node: request.params.node, maintenance: false } });
    return accepted(reply);
  });

  // ---- traits

  const changeTraits = async (request: FastifyRequest<NodePath>, reply: FastifyReply, traits: string[]) => {
    const patch: NodePatch = [{ op: 'add', path: '/traits', value: traits }];
    await ask('provisioning', nodeUpdate, { data: { node: request.params.node, patch } });
    return reply.code(204).send();
  };
  scope.get<NodePath>('/v1/nodes/:node/traits', async (request) => ({ traits: (await show(request)).traits }));
  scope.put<NodePath>('/v1/nodes/:node/traits', (request, reply) =>
    changeTraits(
      request,
      reply,
      parseField(z.strictObject({ traits: traitsSchema }), request.body, 'The traits').traits,
    ),
  );
  scope.delete<NodePath>('/v1/nodes/:node/traits', (request, reply) => changeTraits(request, reply, []));
  scope.put<TraitPath>('/v1/nodes/:node/traits/:trait', async (request, reply) => {
    const { traits } = await show(request);
    return changeTraits(request, reply, [...traits, request.params.trait]);
  });
  scope.delete<TraitPath>('/v1/nodes/:node/traits/:trait', async (request, reply) => {
    const { traits } = await show(request);
    const { node: named, trait } = request.params;
    if (!traits.includes(trait)) throw new AnnealError('NotFound', `Node ${named} doesn't have a trait '${trait}'`);
    return changeTraits(
      request,
      reply,
      traits.filter((each) => each !== trait),
    );
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
