/** Projects: what stacks, hosts, queues and workflows belong to. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { queryValue } from '../../http/body.ts';
import { parseField } from '../../http/input.ts';
import { described } from '../../http/document.ts';
import { deepestProject, projectsAbove, rolesIn, scopeOfProject } from '../access.ts';
import type { DomainDocument, ProjectDocument } from '../directory/documents.ts';
import { defaultDomain } from '../principals.ts';
import { changeDomain, createDomain, deleteDomain } from './domain-routes.ts';
import { refuseParent, removeProject } from './removal.ts';
import {
  accessOf,
  allow,
  checkDomain,
  describeKind,
  keystoneId,
  linkTo,
  pageOfList,
  nameField,
  ownDomain,
  paramsOf,
  readObject,
  rowSchema,
  selfLink,
  refuseChange,
  objectForm,
  tagsField,
  textField,
  type IdentityOptions,
  type IdentityRoutes,
} from './shape.ts';

const fields = {
  name: nameField(64),
  domain_id: z.string().nullable().optional(),
  parent_id: z.string().nullable().optional(),
  description: textField.optional(),
  enabled: z.boolean().optional(),
  /** True for a domain, which `/v3/domains` shows too. */
  is_domain: z.boolean().optional(),
  tags: tagsField.optional(),
  options: z.looseObject({}).optional(),
};
const changes = { ...fields, name: fields.name.optional() };

const filters = ['name', 'domain_id', 'parent_id', 'enabled', 'is_domain'];

export const projectSchema = rowSchema({
  name: z.string(),
  description: z.string(),
  domain_id: z.string().nullable(),
  parent_id: z.string().nullable(),
  enabled: z.boolean(),
  tags: z.array(z.string()),
  is_domain: z.boolean(),
  options: z.looseObject({}),
}).meta({ id: 'Project' });
const kind = describeKind({
  kind: 'project',
  plural: 'projects',
  row: projectSchema,
  fields,
  changes,
  filters: [...filters, 'tags', 'tags-any', 'not-tags', 'not-tags-any'],
});
const flag = z.string().optional();
const showsProject = described({
  summary: 'Show a project, and the projects above and below it.',
  query: z.object({ parents_as_list: flag, parents_as_ids: flag, subtree_as_list: flag, subtree_as_ids: flag }),
  answer: z.object({ project: projectSchema }),
});
const tagsBody = z.object({ tags: tagsField });
const tagsAnswer = z.object({ tags: z.array(z.string()), links: selfLink });

export const projectRow = (request: FastifyRequest, project: ProjectDocument): JsonObject => {
  const { id, name, description, domain_id, parent_id, enabled, tags, extra } = project;
  return objectForm(request, 'projects', {
    id,
    name,
    description: description ?? '',
    domain_id,
    parent_id,
    enabled,
    tags: [...tags],
    is_domain: false,
    options: {},
    extra,
  });
};

/** A domain in the form of a project, as Keystone shows it. */
const domainAsProject = (request: FastifyRequest, domain: DomainDocument): JsonObject => {
  const { id, name, description, enabled, tags, extra } = domain;
  return objectForm(request, 'projects', {
    id,
    name,
    description: description ?? '',
    domain_id: null,
    parent_id: null,
    enabled,
    tags: [...tags],
    is_domain: true,
    options: {},
    extra,
  });
};

export const projectTaken = ({ name, id }: { name: string; id: string }): string =>
  `it is not permitted to have two projects with either the same name or same id in the same domain: name is ${name}, project id ${id}.`;

/** `/v3/projects` and its tags. */
export const projectRoutes: IdentityRoutes = (scope, options) => {
  listRoutes(scope, options);
  changeRoutes(scope, options);
  tagRoutes(scope, options);
};

function listRoutes(scope: FastifyInstance, options: IdentityOptions): void {
  const { projects, domains } = options.directory;

  scope.get('/v3/projects', kind.lists, async (request) => {
    const domain = ownDomain(request);
    if (['true', '1', 'yes'].includes(queryValue(request, 'is_domain')?.toLowerCase() ?? '')) {
      if (domain === undefined) allow(request, 'list_domains');
      const rows = domain === undefined ? await domains.list() : [await domains.get(domain)];
      return pageOfList(request, 'projects', { rows: rows.map((row) => domainAsProject(request, row)), filters });
    }
    allow(request, 'list_projects', { domainId: domain });
    const rows = (await projects.list(domain === undefined ? {} : { domain_id: domain })).filter((row) =>
      hasTags(request, row),
    );
    return pageOfList(request, 'projects', { rows: rows.map((row) => projectRow(request, row)), filters });
  });

  scope.post('/v3/projects', kind.creates, async (request, reply) => {
    const { known, extra } = readObject(request, 'project', fields);
    if (known.is_domain === true) {
      const made = await createDomain(request, options, { ...aloneAbove(known), extra });
      return reply.code(201).send({ project: domainAsProject(request, made) });
    }
    const parent = known.parent_id == null ? undefined : await parentOf(options, known.parent_id);
    const domain_id = known.domain_id ?? parent?.domain_id ?? callerDomain(request);
    allow(request, 'create_project', { domainId: domain_id });
    await checkPlace(options, { domain_id, parent });
    const id = keystoneId(options.newId);
    const project = await projects.insert(
      {
        id,
        name: known.name,
        description: known.description ?? '',
        domain_id,
        parent_id: parent?.id ?? domain_id,
        enabled: known.enabled ?? true,
        tags: known.tags ?? [],
        extra,
      },
      projectTaken({ name: known.name, id }),
    );
    return reply.code(201).send({ project: projectRow(request, project) });
  });
}

function changeRoutes(scope: FastifyInstance, options: IdentityOptions): void {
  const { projects, domains } = options.directory;
  /** The domain that the path names. */
  const domainOf = (request: FastifyRequest) => domains.find(paramsOf(request)['id'] ?? '');

  scope.get('/v3/projects/:id', showsProject, async (request) => {
    const domain = await domainOf(request);
    if (domain) {
      allow(request, 'get_domain', { domainId: domain.id });
      return { project: domainAsProject(request, domain) };
    }
    const project = await projects.get(paramsOf(request)['id'] ?? '');
    const { user, project: own } = accessOf(request);
    const self = own?.id === project.id || (await hasRole(options, request, project));
    allow(request, 'get_project', { domainId: project.domain_id, ...(self && { userId: user.id }) });
    return { project: { ...projectRow(request, project), ...(await family(options, request, project)) } };
  });

  scope.patch('/v3/projects/:id', kind.updates, async (request) => {
    const domain = await domainOf(request);
    if (domain) {
      const { known, extra } = readObject(request, 'project', changes);
      refuseChange(request, 'project', { id: domain.id, is_domain: true });
      const changed = await changeDomain(request, options, { id: domain.id, ...aloneAbove(known), extra });
      return { project: domainAsProject(request, changed) };
    }
    const project = await projects.get(paramsOf(request)['id'] ?? '');
    allow(request, 'update_project', { domainId: project.domain_id });
    const { known, extra } = readObject(request, 'project', changes);
    const { id, domain_id } = project;
    refuseChange(request, 'project', { id, domain_id, is_domain: false });
    if (known.parent_id !== undefined && known.parent_id !== project.parent_id) {
      throw new AnnealError('Forbidden', 'Update of `parent_id` is not allowed.');
    }
    if (known.enabled === false) await refuseDisabling(options, project);
    const {
      name = project.name,
      description = project.description,
      enabled = project.enabled,
      tags = project.tags,
    } = known;
    const changed = await projects.update(
      id,
      (present) => ({ ...present, name, description, enabled, tags, extra: { ...present.extra, ...extra } }),
      projectTaken({ name, id }),
    );
    return { project: projectRow(request, changed) };
  });

  scope.delete('/v3/projects/:id', kind.removes, async (request, reply) => {
    const domain = await domainOf(request);
    if (domain) {
      await deleteDomain(request, options, domain);
      return reply.code(204).send();
    }
    const project = await projects.get(paramsOf(request)['id'] ?? '');
    allow(request, 'delete_project', { domainId: project.domain_id });
    await refuseParent(options, project);
    await removeProject(options, project);
    return reply.code(204).send();
  });
}

/** The fields of a domain. @throws AnnealError InvalidRequest for a domain inside a domain or a project */
function aloneAbove<
  T extends { domain_id?: string | null; parent_id?: string | null; is_domain?: boolean; options?: object },
>({ domain_id = null, parent_id = null, is_domain: _is, options: _options, ...fieldsOfDomain }: T) {
  if (domain_id === null && parent_id === null) return fieldsOfDomain;
  throw new AnnealError('InvalidRequest', 'A project that is a domain has no domain and no project above it.');
}

/** The domain of a new object whose body names none: that of the caller's scope. */
export function callerDomain(request: FastifyRequest): string {
  const { project, domain } = accessOf(request);
  return project?.domain_id ?? domain?.id ?? defaultDomain.id;
}

async function parentOf({ directory }: IdentityOptions, id: string): Promise<ProjectDocument | undefined> {
  const parent = await directory.projects.find(id);
  if (parent || (await directory.domains.find(id))) return parent;
  throw new AnnealError('InvalidRequest', `Could not find project: ${id}.`);
}

export async function checkPlace(
  { directory }: IdentityOptions,
  { domain_id, parent }: { domain_id: string; parent: ProjectDocument | undefined },
): Promise<void> {
  await checkDomain(directory, domain_id);
  if (!parent) return;
  if (parent.domain_id !== domain_id) {
    throw new AnnealError(
      'InvalidRequest',
      `Cannot create project, since it specifies its domain_id ${domain_id}, but specifies a parent in a different domain (${parent.domain_id}).`,
    );
  }
  if ((await projectsAbove(directory, parent)).length + 2 > deepestProject) {
    throw new AnnealError('Forbidden', `Max hierarchy depth of ${deepestProject} reached for ${parent.id} branch.`);
  }
}

export async function refuseDisabling({ directory }: IdentityOptions, project: ProjectDocument): Promise<void> {
  if (project.id === adminProject.id) {
    throw new AnnealError('Forbidden', `Cannot disable the project ${project.name}: the nodes belong to it.`);
  }
  const below = await directory.projects.list({ parent_id: project.id });
  if (below.some(({ enabled }) => enabled)) {
    throw new AnnealError(
      'Forbidden',
      `Cannot disable project ${project.id} since its subtree contains enabled projects.`,
    );
  }
}

async function hasRole({ directory }: IdentityOptions, request: FastifyRequest, project: ProjectDocument) {
  const scope = await scopeOfProject(directory, project);
  return (await rolesIn(directory, accessOf(request).user, scope)).length > 0;
}

/** `parents` and `subtree` as the query asks for them. */
async function family(
  { directory }: IdentityOptions,
  request: FastifyRequest,
  project: ProjectDocument,
): Promise<JsonObject> {
  const asked = (name: string): boolean => queryValue(request, name) !== undefined;
  const wrapped = (rows: readonly ProjectDocument[]) => rows.map((row) => ({ project: projectRow(request, row) }));
  const answer: JsonObject = {};
  if (asked('parents_as_list') || asked('parents_as_ids')) {
    const above = await projectsAbove(directory, project);
    answer['parents'] = asked('parents_as_list')
      ? wrapped(above)
      : above.reduceRight<JsonObject>((inner, { id }) => ({ [id]: inner }), { [project.domain_id]: null });
  }
  if (asked('subtree_as_list') || asked('subtree_as_ids')) {
    const all = await directory.projects.list({ domain_id: project.domain_id });
    const below = (id: string): ProjectDocument[] =>
      all.flatMap((each) => (each.parent_id === id ? [each, ...below(each.id)] : []));
    const ids = (id: string): JsonObject | null => {
      const inside = all.filter((each) => each.parent_id === id);
      return inside.length === 0 ? null : Object.fromEntries(inside.map((each) => [each.id, ids(each.id)]));
    };
    answer['subtree'] = asked('subtree_as_list') ? wrapped(below(project.id)) : ids(project.id);
  }
  return answer;
}

function hasTags(request: FastifyRequest, { tags }: ProjectDocument): boolean {
  const named = (name: string): string[] | undefined => queryValue(request, name)?.split(',');
  const has = (tag: string): boolean => tags.includes(tag);
  return (
    (named('tags')?.every(has) ?? true) &&
    (named('tags-any')?.some(has) ?? true) &&
    !(named('not-tags')?.every(has) ?? false) &&
    !(named('not-tags-any')?.some(has) ?? false)
  );
}

function tagRoutes(scope: FastifyInstance, { directory: { projects } }: IdentityOptions): void {
  const path = '/v3/projects/:id/tags';
  const one = `${path}/:tag`;
  const found = async (request: FastifyRequest, rule: 'get_project' | 'update_project'): Promise<ProjectDocument> => {
    const project = await projects.get(paramsOf(request)['id'] ?? '');
    const { user, project: own } = accessOf(request);
    allow(request, rule, {
      domainId: project.domain_id,
      ...(own?.id === project.id && rule === 'get_project' && { userId: user.id }),
    });
    return project;
  };
  const setTags = async (request: FastifyRequest, change: (tags: readonly string[]) => readonly string[]) => {
    const { id } = await found(request, 'update_project');
    return projects.update(id, (present) => ({
      ...present,
      tags: [...new Set(parseField(tagsField, change(present.tags), 'The list of tags'))],
    }));
  };
  const answer = (request: FastifyRequest, { id, tags }: ProjectDocument) => ({
    tags,
    links: linkTo(request, `projects/${id}/tags`),
  });
  const tagOf = (request: FastifyRequest): string => paramsOf(request)['tag'] ?? '';

  scope.get(path, described({ summary: 'List the tags of a project.', answer: tagsAnswer }), async (request) =>
    answer(request, await found(request, 'get_project')),
  );
  const replaces = described({ summary: 'Replace the tags of a project.', body: tagsBody, answer: tagsAnswer });
  scope.put(path, replaces, async (request) => {
    const { tags } = parseField(tagsBody, request.body, 'The list of tags');
    return answer(request, await setTags(request, () => tags));
  });
  scope.delete(path, described({ summary: 'Delete all tags of a project.' }), async (request, reply) => {
    await setTags(request, () => []);
    return reply.code(204).send();
  });
  scope.get(one, described({ summary: 'Check that a project has a tag.' }), async (request, reply) => {
    const { tags } = await found(request, 'get_project');
    if (!tags.includes(tagOf(request))) throw noTag(tagOf(request));
    return reply.code(204).send();
  });
  scope.put(one, described({ summary: 'Add a tag to a project.', status: 201 }), async (request, reply) => {
    const { id } = await setTags(request, (tags) => [...tags, tagOf(request)]);
    return reply
      .code(201)
      .header('location', linkTo(request, `projects/${id}/tags/${encodeURIComponent(tagOf(request))}`).self)
      .send();
  });
  scope.delete(one, described({ summary: 'Delete a tag of a project.' }), async (request, reply) => {
    const tag = tagOf(request);
    await setTags(request, (tags) => {
      if (!tags.includes(tag)) throw noTag(tag);
      return tags.filter((each) => each !== tag);
    });
    return reply.code(204).send();
  });
}

const noTag = (tag: string): AnnealError => new AnnealError('NotFound', `Could not find project tag: ${tag}.`);
