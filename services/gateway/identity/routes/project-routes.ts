/** Projects: what stacks, hosts, queues and workflows belong to. */
import { projectFields, tagsField } from '@anneal/contracts/calls/identity-fields.ts';
import { identityTagsChange } from '@anneal/contracts/calls/identity.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { absentTag } from '@anneal/directory/absent.ts';
import { projectsAbove, rolesIn, scopeOfProject } from '@anneal/directory/access.ts';
import type { DomainDocument, ProjectDocument } from '@anneal/directory/documents.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { accessOf } from '../caller.ts';
import { identityCallerOf } from './changes.ts';
import { domainsFor } from './domain-routes.ts';
import { checkedByKind, kindRoutes, listOfScope, type KindInput } from './kind-routes.ts';
import { allow, linkTo, objectForm, ownDomain, rowSchema, selfLink, type IdentityOptions } from './shape.ts';

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
const withAbove = z.string().optional().meta({ description: 'By its presence, shows the projects above, too.' });
const withBelow = z.string().optional().meta({ description: 'By its presence, shows the projects below, too.' });
const tagsAnswer = z.object({ tags: z.array(z.string()), links: selfLink });

/** A project, or a domain in the form of one, as Keystone shows it. */
export const projectRow = (request: FastifyRequest, project: ProjectDocument | DomainDocument): JsonObject => {
  const { id, name, description, enabled, tags, extra } = project;
  const place =
    'parent_id' in project
      ? { domain_id: project.domain_id, parent_id: project.parent_id, is_domain: false }
      : { domain_id: null, parent_id: null, is_domain: true };
  const own = { id, name, description: description ?? '', enabled, tags: [...tags], options: {} };
  return objectForm(request, 'projects', { ...own, ...place, extra });
};

/** A project, or a domain that is shown as one. */
type Shown = (ProjectDocument | DomainDocument) & {
  /** The projects above and below it, as the query asks for them. */
  readonly around?: JsonObject;
};
const path = '/v3/projects/{id}';

/** `/v3/projects` and its tags. */
export const projectRoutes = (options: IdentityOptions): Route[] => {
  const { projects, domains } = options.directory;
  return [
    ...kindRoutes<typeof path, Shown>(options, {
      kind: 'project',
      plural: 'projects',
      path,
      row: projectSchema,
      form: (request, project) => ({ ...projectRow(request, project), ...project.around }),
      fields: projectFields,
      filters: ['name', 'domain_id', 'parent_id', 'enabled', 'is_domain'],
      parameters: ['tags', 'tags-any', 'not-tags', 'not-tags-any'],
      showQuery: z.object({
        parents_as_list: withAbove,
        parents_as_ids: withAbove,
        subtree_as_list: withBelow,
        subtree_as_ids: withBelow,
      }),
      records: projects,
      rules: checkedByKind,
      async list({ query, request }) {
        if (['true', '1', 'yes'].includes(query['is_domain']?.toLowerCase() ?? '')) return domainsFor(request, options);
        allow(request, 'list_projects', { domainId: ownDomain(request) });
        return (await listOfScope(projects, request)).filter((project) => hasTags(query, project));
      },
      find: (input) => projectAt(options, input),
      changed: async (id) => (await domains.find(id)) ?? projects.get(id),
      creates: true,
      changes: true,
    }),
    ...tagRoutes(options),
  ];
};

/** The project or the domain of the path, for a caller who has the right. */
async function projectAt(
  options: IdentityOptions,
  { params: { id }, query, request }: KindInput<typeof path>,
): Promise<Shown> {
  const { projects, domains } = options.directory;
  const domain = await domains.find(id);
  if (domain) {
    allow(request, 'get_domain', { domainId: id });
    return domain;
  }
  const project = await projects.get(id);
  const { user, project: own } = accessOf(request);
  const isSelf = own?.id === id || (await hasRole(options, request, project));
  allow(request, 'get_project', { domainId: project.domain_id, ...(isSelf && { userId: user.id }) });
  return { ...project, around: await family(options, { query, request }, project) };
}

async function hasRole({ directory }: IdentityOptions, request: FastifyRequest, project: ProjectDocument) {
  const scope = await scopeOfProject(directory, project);
  return (await rolesIn(directory, accessOf(request).user, scope)).length > 0;
}

/** `parents` and `subtree` as the query asks for them. */
async function family(
  { directory }: IdentityOptions,
  { query, request }: Pick<KindInput, 'query' | 'request'>,
  project: ProjectDocument,
): Promise<JsonObject> {
  const asked = (name: string): boolean => query[name] !== undefined;
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

function hasTags(query: KindInput['query'], { tags }: ProjectDocument): boolean {
  const named = (name: string): string[] | undefined => query[name]?.split(',');
  const has = (tag: string): boolean => tags.includes(tag);
  return (
    (named('tags')?.every(has) ?? true) &&
    (named('tags-any')?.some(has) ?? true) &&
    !(named('not-tags')?.every(has) ?? false) &&
    !(named('not-tags-any')?.some(has) ?? false)
  );
}

function tagRoutes({ ask, directory: { projects } }: IdentityOptions): Route[] {
  const all = `${path}/tags` as const;
  const one = `${path}/tags/{tag}` as const;
  const found = async (request: FastifyRequest, id: string) => {
    const project = await projects.get(id);
    const { user, project: own } = accessOf(request);
    allow(request, 'get_project', { domainId: project.domain_id, ...(own?.id === id && { userId: user.id }) });
    return project;
  };
  const changeTags = async (
    request: FastifyRequest,
    project: string,
    change: { all: string[] } | { add: string } | { remove: string },
  ): Promise<void> => {
    await ask('identity', identityTagsChange, { data: { caller: identityCallerOf(request), project, change } });
  };
  const shown = (request: FastifyRequest, { id, tags }: ProjectDocument) => ({
    tags,
    links: linkTo(request, `projects/${id}/tags`),
  });
  return [
    route({
      method: 'GET',
      path: all,
      summary: 'List the tags of a project.',
      answer: tagsAnswer,
      handle: async ({ params: { id }, request }) => shown(request, await found(request, id)),
    }),
    route({
      method: 'PUT',
      path: all,
      summary: 'Replace the tags of a project.',
      body: z.object({ tags: tagsField }),
      answer: tagsAnswer,
      handle: async ({ params: { id }, body: { tags }, request }) => {
        await changeTags(request, id, { all: tags });
        return shown(request, await projects.get(id));
      },
    }),
    route({
      method: 'DELETE',
      path: all,
      summary: 'Delete all tags of a project.',
      handle: ({ params: { id }, request }) => changeTags(request, id, { all: [] }),
    }),
    route({
      method: 'GET',
      path: one,
      summary: 'Check that a project has a tag.',
      handle: async ({ params: { id, tag }, request }) => {
        const { tags } = await found(request, id);
        if (!tags.includes(tag)) throw absentTag(tag);
      },
    }),
    route({
      method: 'PUT',
      path: one,
      summary: 'Add a tag to a project.',
      status: 201,
      handle: async ({ params: { id, tag }, request, reply }) => {
        await changeTags(request, id, { add: tag });
        const { self } = linkTo(request, `projects/${id}/tags/${encodeURIComponent(tag)}`);
        void reply.header('location', self);
      },
    }),
    route({
      method: 'DELETE',
      path: one,
      summary: 'Delete a tag of a project.',
      handle: ({ params: { id, tag }, request }) => changeTags(request, id, { remove: tag }),
    }),
  ];
}
