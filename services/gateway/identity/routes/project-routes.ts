/** Projects: what stacks, hosts, queues and workflows belong to. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseField } from '../../http/input.ts';
import { route, type Route } from '../../http/route.ts';
import { deepestProject, projectsAbove, rolesIn, scopeOfProject } from '@anneal/directory/access.ts';
import type { DomainDocument, ProjectDocument } from '@anneal/directory/documents.ts';
import { changeDomain, createDomain, deleteDomain, domainsFor } from './domain-routes.ts';
import {
  checkedByKind,
  kindRoutes,
  listOfScope,
  patch,
  type ChangeOf,
  type Given,
  type KindInput,
  type ObjectAction,
} from './kind-routes.ts';
import { refuseParent, removeProject } from './removal.ts';
import {
  accessOf,
  allow,
  callerDomain,
  checkDomain,
  keystoneId,
  linkTo,
  nameField,
  objectForm,
  ownDomain,
  rowSchema,
  selfLink,
  tagsField,
  textField,
  type IdentityOptions,
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

export const projectTaken = ({ name, id }: { name: string; id: string }): string =>
  `it is not permitted to have two projects with either the same name or same id in the same domain: name is ${name}, project id ${id}.`;

/** A project, or a domain that is shown as one. */
type Shown = (ProjectDocument | DomainDocument) & {
  /** The projects above and below it, as the query asks for them. */
  readonly around?: JsonObject;
};
const isProject = (shown: Shown): shown is ProjectDocument => 'parent_id' in shown;
const path = '/v3/projects/{id}';

/** `/v3/projects` and its tags. */
export const projectRoutes = (options: IdentityOptions): Route[] => [
  ...kindRoutes<typeof path, Shown, typeof fields>({
    kind: 'project',
    plural: 'projects',
    path,
    row: projectSchema,
    form: (request, project) => ({ ...projectRow(request, project), ...project.around }),
    fields,
    filters: ['name', 'domain_id', 'parent_id', 'enabled', 'is_domain'],
    parameters: ['tags', 'tags-any', 'not-tags', 'not-tags-any'],
    showQuery: z.object({
      parents_as_list: withAbove,
      parents_as_ids: withAbove,
      subtree_as_list: withBelow,
      subtree_as_ids: withBelow,
    }),
    records: options.directory.projects,
    rules: checkedByKind,
    async list({ query, request }) {
      if (['true', '1', 'yes'].includes(query['is_domain']?.toLowerCase() ?? '')) return domainsFor(request, options);
      allow(request, 'list_projects', { domainId: ownDomain(request) });
      return (await listOfScope(options.directory.projects, request)).filter((project) => hasTags(query, project));
    },
    find: (input, action) => projectAt(options, input, action),
    fixed: (shown) =>
      isProject(shown)
        ? { id: shown.id, domain_id: shown.domain_id, is_domain: false }
        : { id: shown.id, domain_id: null, parent_id: null, is_domain: true },
    create: (given, { request }) =>
      given.is_domain === true
        ? createDomain(request, options, aloneAbove(given))
        : createProject(request, options, given),
    change: ({ parent_id, is_domain: _is, options: _options, ...given }, shown) =>
      isProject(shown)
        ? changeProject(options, shown, { parent_id, ...given })
        : changeDomain(options, shown.id, given),
    async remove(shown) {
      if (!isProject(shown)) return deleteDomain(options, shown);
      await refuseParent(options, shown);
      await removeProject(options, shown);
    },
  }),
  ...tagRoutes(options),
];

/** The project or the domain of the path, for a caller who has the right. */
async function projectAt(
  options: IdentityOptions,
  { params: { id }, query, request }: KindInput<typeof path>,
  action: ObjectAction,
): Promise<Shown> {
  const { projects, domains } = options.directory;
  const domain = await domains.find(id);
  if (domain) {
    allow(request, `${action}_domain`, { domainId: id });
    return domain;
  }
  const project = await projects.get(id);
  const { user, project: own } = accessOf(request);
  const isSelf = action === 'get' && (own?.id === id || (await hasRole(options, request, project)));
  allow(request, `${action}_project`, { domainId: project.domain_id, ...(isSelf && { userId: user.id }) });
  return action === 'get' ? { ...project, around: await family(options, { query, request }, project) } : project;
}

async function createProject(
  request: FastifyRequest,
  options: IdentityOptions,
  {
    name,
    domain_id: wanted,
    parent_id,
    description,
    enabled = true,
    tags = [],
    extra,
  }: Given<z.output<z.ZodObject<typeof fields>>>,
): Promise<ProjectDocument> {
  const parent = parent_id == null ? undefined : await parentOf(options, parent_id);
  const domain_id = wanted ?? parent?.domain_id ?? callerDomain(request);
  allow(request, 'create_project', { domainId: domain_id });
  await checkPlace(options, { domain_id, parent });
  const place = { domain_id, parent_id: parent?.id ?? domain_id };
  const draft = { id: keystoneId(options.newId), name, description: description ?? '', ...place, enabled, tags, extra };
  return options.directory.projects.insert(draft, projectTaken(draft));
}

async function changeProject(
  options: IdentityOptions,
  project: ProjectDocument,
  {
    parent_id,
    ...given
  }: Omit<ChangeOf<typeof fields>, 'is_domain' | 'options' | 'parent_id'> & { parent_id: string | null | undefined },
): Promise<ProjectDocument> {
  if (parent_id !== undefined && parent_id !== project.parent_id) {
    throw new AnnealError('Forbidden', 'Update of `parent_id` is not allowed.');
  }
  if (given.enabled === false) await refuseDisabling(options, project);
  const taken = projectTaken({ ...project, ...given });
  return patch(options.directory.projects, { id: project.id, taken }, given);
}

/** The fields of a domain. @throws AnnealError InvalidRequest for a domain inside a domain or a project */
function aloneAbove<
  T extends { domain_id?: string | null; parent_id?: string | null; is_domain?: boolean; options?: object },
>({ domain_id = null, parent_id = null, is_domain: _is, options: _options, ...fieldsOfDomain }: T) {
  if (domain_id === null && parent_id === null) return fieldsOfDomain;
  throw new AnnealError('InvalidRequest', 'A project that is a domain has no domain and no project above it.');
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

function tagRoutes({ directory: { projects } }: IdentityOptions): Route[] {
  const all = `${path}/tags` as const;
  const one = `${path}/tags/{tag}` as const;
  const found = async (request: FastifyRequest, id: string, rule: 'get_project' | 'update_project') => {
    const project = await projects.get(id);
    const { user, project: own } = accessOf(request);
    const isSelf = own?.id === id && rule === 'get_project';
    allow(request, rule, { domainId: project.domain_id, ...(isSelf && { userId: user.id }) });
    return project;
  };
  const setTags = async (
    request: FastifyRequest,
    id: string,
    change: (tags: readonly string[]) => readonly string[],
  ): Promise<ProjectDocument> => {
    await found(request, id, 'update_project');
    return projects.update(id, (present) => ({
      ...present,
      tags: [...new Set(parseField(tagsField, change(present.tags), 'The list of tags'))],
    }));
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
      handle: async ({ params: { id }, request }) => shown(request, await found(request, id, 'get_project')),
    }),
    route({
      method: 'PUT',
      path: all,
      summary: 'Replace the tags of a project.',
      body: z.object({ tags: tagsField }),
      answer: tagsAnswer,
      handle: async ({ params: { id }, body: { tags }, request }) =>
        shown(request, await setTags(request, id, () => tags)),
    }),
    route({
      method: 'DELETE',
      path: all,
      summary: 'Delete all tags of a project.',
      handle: async ({ params: { id }, request }) => void (await setTags(request, id, () => [])),
    }),
    route({
      method: 'GET',
      path: one,
      summary: 'Check that a project has a tag.',
      handle: async ({ params: { id, tag }, request }) => {
        const { tags } = await found(request, id, 'get_project');
        if (!tags.includes(tag)) throw noTag(tag);
      },
    }),
    route({
      method: 'PUT',
      path: one,
      summary: 'Add a tag to a project.',
      status: 201,
      handle: async ({ params: { id, tag }, request, reply }) => {
        await setTags(request, id, (tags) => [...tags, tag]);
        const { self } = linkTo(request, `projects/${id}/tags/${encodeURIComponent(tag)}`);
        void reply.header('location', self);
      },
    }),
    route({
      method: 'DELETE',
      path: one,
      summary: 'Delete a tag of a project.',
      handle: async ({ params: { id, tag }, request }) => {
        await setTags(request, id, (tags) => withoutTag(tags, tag));
      },
    }),
  ];
}

function withoutTag(tags: readonly string[], tag: string): readonly string[] {
  if (!tags.includes(tag)) throw noTag(tag);
  return tags.filter((each) => each !== tag);
}

const noTag = (tag: string): AnnealError => new AnnealError('NotFound', `Could not find project tag: ${tag}.`);
