/**
 * Keystone's OS-EP-FILTER: which endpoints the catalog of a project shows. A project is limited to the endpoints and the
 * groups of endpoints that were added to it; a project without any sees all. It limits what users find, not what they may do.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { described } from '../../http/document.ts';
import { endpointsOfProject, isInGroup } from '../catalog.ts';
import type { EndpointGroupDocument } from '../directory/documents.ts';
import { allEndpoints, endpointSchema, type CatalogOptions } from './catalog-routes.ts';
import { changeLimit, endpointLimitOf, projectsWith } from './endpoint-limits.ts';
import { projectRow, projectSchema } from './project-routes.ts';
import {
  allow,
  describeKind,
  keystoneId,
  linkTo,
  listDescription,
  nameField,
  pageOfList,
  paramsOf,
  readObject,
  rowSchema,
  selfLink,
  textField,
} from './shape.ts';

const filtersField = z
  .strictObject({
    service_id: z.string().exactOptional(),
    interface: z.enum(['public', 'internal', 'admin']).exactOptional(),
    region_id: z.string().exactOptional(),
  })
  .refine((filters) => Object.keys(filters).length > 0, 'must name a service_id, an interface or a region_id');
const fields = { name: nameField(255), description: textField.optional(), filters: filtersField };
/** Clients send null for what they do not change. */
const changes = { ...fields, name: fields.name.nullish(), filters: filtersField.nullish() };
const groupSchema = rowSchema({
  name: z.string(),
  description: z.string().nullable(),
  filters: filtersField,
}).meta({ id: 'EndpointGroup' });

const root = '/v3/OS-EP-FILTER';
const one = `${root}/endpoint_groups/:group`;
const kind = describeKind({
  kind: 'endpoint_group',
  plural: 'endpoint_groups',
  row: groupSchema,
  fields,
  changes,
  filters: ['name'],
});
const listOf = (summary: string, plural: string, row: z.ZodType) =>
  described({ summary, ...listDescription(plural, row, []) });

const groupRow = (
  request: FastifyRequest,
  { id, name, description, filters, extra }: EndpointGroupDocument,
): JsonObject => ({
  ...extra,
  id,
  name,
  description,
  filters: { ...filters },
  links: linkTo(request, `OS-EP-FILTER/endpoint_groups/${id}`),
});

/** `/v3/OS-EP-FILTER` */
export function endpointFilterRoutes(scope: FastifyInstance, options: CatalogOptions): void {
  groupRoutes(scope, options);
  groupMemberRoutes(scope, options);
  projectRoutes(scope, options);
}

const idOf = (request: FastifyRequest): string => paramsOf(request)['group'] ?? '';

function groupRoutes(scope: FastifyInstance, { directory, newId }: CatalogOptions): void {
  const { endpointGroups: groups } = directory;
  const taken = (name: string): string => `Duplicate entry found with name ${name}.`;

  scope.get(`${root}/endpoint_groups`, kind.lists, async (request) => {
    allow(request, 'get_endpoint_filter');
    const rows = (await groups.list()).map((group) => groupRow(request, group));
    return pageOfList(request, 'endpoint_groups', { rows, filters: ['name'] });
  });

  scope.post(`${root}/endpoint_groups`, kind.creates, async (request, reply) => {
    allow(request, 'change_endpoint_filter');
    const { known, extra } = readObject(request, 'endpoint_group', fields);
    const { name, description = null, filters } = known;
    const made = await groups.insert({ id: keystoneId(newId), name, description, filters, extra }, taken(name));
    return reply.code(201).send({ endpoint_group: groupRow(request, made) });
  });

  scope.route({
    method: ['GET', 'HEAD'],
    url: one,
    ...kind.shows,
    async handler(request) {
      allow(request, 'get_endpoint_filter');
      return { endpoint_group: groupRow(request, await groups.get(idOf(request))) };
    },
  });

  scope.patch(one, kind.updates, async (request) => {
    allow(request, 'change_endpoint_filter');
    const { known, extra } = readObject(request, 'endpoint_group', changes);
    const { name, description, filters } = known;
    const change = (present: EndpointGroupDocument) => ({
      ...present,
      ...(name != null && { name }),
      ...(description != null && { description }),
      ...(filters != null && { filters }),
      extra: { ...present.extra, ...extra },
    });
    return {
      endpoint_group: groupRow(request, await groups.update(idOf(request), change, taken(name ?? ''))),
    };
  });

  scope.delete(one, kind.removes, async (request, reply) => {
    allow(request, 'change_endpoint_filter');
    await groups.get(idOf(request));
    await groups.remove(idOf(request));
    return reply.code(204).send();
  });
}

/** The projects and the endpoints of a group. */
function groupMemberRoutes(scope: FastifyInstance, options: CatalogOptions): void {
  const { directory } = options;
  const inProject = `${one}/projects/:project`;
  const found = async (request: FastifyRequest): Promise<{ group: string; project: string }> => {
    const { id: project } = await directory.projects.get(paramsOf(request)['project'] ?? '');
    const { id: group } = await directory.endpointGroups.get(idOf(request));
    return { group, project };
  };

  scope.get(
    `${one}/endpoints`,
    listOf('List the endpoints of a group.', 'endpoints', endpointSchema),
    async (request) => {
      allow(request, 'get_endpoint_filter');
      const { filters } = await directory.endpointGroups.get(idOf(request));
      const rows = (await allEndpoints(request, options)).filter((endpoint) => isInGroup(filters, endpoint));
      return pageOfList(request, 'endpoints', { rows, filters: [] });
    },
  );

  scope.get(
    `${one}/projects`,
    listOf('List the projects of a group of endpoints.', 'projects', projectSchema),
    async (request) => {
      allow(request, 'get_endpoint_filter');
      const { id } = await directory.endpointGroups.get(idOf(request));
      const rows = await projectsWith(directory, ({ groups }) => groups.includes(id));
      return pageOfList(request, 'projects', { rows: rows.map((row) => projectRow(request, row)), filters: [] });
    },
  );

  const shows = described({
    summary: 'Show that a group of endpoints is added to a project.',
    answer: z.object({
      project_endpoint_group: z.object({ endpoint_group_id: z.string(), project_id: z.string(), links: selfLink }),
    }),
  });
  scope.route({
    method: ['GET', 'HEAD'],
    url: inProject,
    ...shows,
    async handler(request) {
      allow(request, 'get_endpoint_filter');
      const { group, project } = await found(request);
      if (!(await endpointLimitOf(directory, project)).groups.includes(group))
        throw directory.endpointGroups.absent(group);
      const links = linkTo(request, `OS-EP-FILTER/endpoint_groups/${group}/projects/${project}`);
      return { project_endpoint_group: { endpoint_group_id: group, project_id: project, links } };
    },
  });

  const adds = described({ summary: 'Add a group of endpoints to a project.' });
  scope.put(inProject, adds, async (request, reply) => {
    allow(request, 'change_endpoint_filter');
    const { group, project } = await found(request);
    await changeLimit(directory, project, (limit) => ({ ...limit, groups: [...new Set([...limit.groups, group])] }));
    return reply.code(204).send();
  });

  const removes = described({ summary: 'Remove a group of endpoints from a project.' });
  scope.delete(inProject, removes, async (request, reply) => {
    allow(request, 'change_endpoint_filter');
    const { group, project } = await found(request);
    if (!(await endpointLimitOf(directory, project)).groups.includes(group))
      throw directory.endpointGroups.absent(group);
    await changeLimit(directory, project, (limit) => ({
      ...limit,
      groups: limit.groups.filter((each) => each !== group),
    }));
    return reply.code(204).send();
  });
}

/** The endpoints and the groups of a project. */
function projectRoutes(scope: FastifyInstance, options: CatalogOptions): void {
  const { directory } = options;
  const ofProject = `${root}/projects/:project`;
  const oneOf = `${ofProject}/endpoints/:endpoint`;
  const projectOf = async (request: FastifyRequest): Promise<string> =>
    (await directory.projects.get(paramsOf(request)['project'] ?? '')).id;
  /** @throws AnnealError NotFound */
  const endpointOf = async (request: FastifyRequest): Promise<string> => {
    const id = paramsOf(request)['endpoint'] ?? '';
    if ((await allEndpoints(request, options)).some((endpoint) => endpoint.id === id)) return id;
    throw directory.endpoints.absent(id);
  };
  const absent = (endpoint: string, project: string): AnnealError =>
    new AnnealError('NotFound', `Endpoint ${endpoint} not found in project ${project}.`);

  scope.get(
    `${root}/endpoints/:endpoint/projects`,
    listOf('List the projects that an endpoint is added to.', 'projects', projectSchema),
    async (request) => {
      allow(request, 'get_endpoint_filter');
      const id = await endpointOf(request);
      const rows = await projectsWith(directory, ({ endpoints }) => endpoints.includes(id));
      return pageOfList(request, 'projects', { rows: rows.map((row) => projectRow(request, row)), filters: [] });
    },
  );

  scope.get(
    `${ofProject}/endpoints`,
    listOf('List the endpoints that a project is limited to.', 'endpoints', endpointSchema),
    async (request) => {
      allow(request, 'get_endpoint_filter');
      const limit = await endpointLimitOf(directory, await projectOf(request));
      const groups = await directory.endpointGroups.list();
      const all = await allEndpoints(request, options);
      const rows = endpointsOfProject({ groups, projects: [limit] }, limit.id, all) ?? [];
      return pageOfList(request, 'endpoints', { rows, filters: [] });
    },
  );

  scope.get(
    `${ofProject}/endpoint_groups`,
    listOf('List the groups of endpoints of a project.', 'endpoint_groups', groupSchema),
    async (request) => {
      allow(request, 'get_endpoint_filter');
      const { groups } = await endpointLimitOf(directory, await projectOf(request));
      const rows = (await directory.endpointGroups.findMany(groups)).map((group) => groupRow(request, group));
      return pageOfList(request, 'endpoint_groups', { rows, filters: [] });
    },
  );

  scope.route({
    method: ['GET', 'HEAD'],
    url: oneOf,
    ...described({ summary: 'Check that an endpoint is added to a project.' }),
    async handler(request, reply) {
      allow(request, 'get_endpoint_filter');
      const [endpoint, project] = [await endpointOf(request), await projectOf(request)];
      if (!(await endpointLimitOf(directory, project)).endpoints.includes(endpoint)) throw absent(endpoint, project);
      return reply.code(204).send();
    },
  });

  scope.put(oneOf, described({ summary: 'Add an endpoint to a project.' }), async (request, reply) => {
    allow(request, 'change_endpoint_filter');
    const [endpoint, project] = [await endpointOf(request), await projectOf(request)];
    await changeLimit(directory, project, (limit) => ({
      ...limit,
      endpoints: [...new Set([...limit.endpoints, endpoint])],
    }));
    return reply.code(204).send();
  });

  scope.delete(oneOf, described({ summary: 'Remove an endpoint from a project.' }), async (request, reply) => {
    allow(request, 'change_endpoint_filter');
    const [endpoint, project] = [paramsOf(request)['endpoint'] ?? '', await projectOf(request)];
    if (!(await endpointLimitOf(directory, project)).endpoints.includes(endpoint)) throw absent(endpoint, project);
    await changeLimit(directory, project, (limit) => ({
      ...limit,
      endpoints: limit.endpoints.filter((each) => each !== endpoint),
    }));
    return reply.code(204).send();
  });
}
