/** Projects: what stacks, hosts, queues and workflows belong to. */
import type { identityTagsChange } from '@anneal/contracts/calls/identity.ts';
import { projectFields, tagsField } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { parseField } from '@anneal/contracts/field-mistakes.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import { absentTag } from '@anneal/directory/absent.ts';
import { deepestProject, projectsAbove } from '@anneal/directory/access.ts';
import type { DomainDocument, ProjectDocument } from '@anneal/directory/documents.ts';
import { authorize } from '@anneal/directory/policy.ts';
import type { z } from 'zod';
import { changeDomain, createDomain, deleteDomain } from './domains.ts';
import {
  decidedByKind,
  patch,
  serveKind,
  type ChangeOf,
  type FieldsOf,
  type Given,
  type ObjectQuestion,
  type ServedKind,
} from './kind.ts';
import { callerDomain, checkDomain, insertNew, type IdentityParts } from './parts.ts';
import { refuseParent, removeProject } from './removal.ts';

/** The reason of a conflict: the name or the id is that of another project. */
export const projectTaken = ({ name, id }: { name: string; id: string }): string =>
  `it is not permitted to have two projects with either the same name or same id in the same domain: name is ${name}, project id ${id}.`;

/** A project, or a domain that is shown as one. */
type Shown = ProjectDocument | DomainDocument;
const isProject = (shown: Shown): shown is ProjectDocument => 'parent_id' in shown;

/** Serves the projects, and the domains that are shown as projects. */
export const projectObjects = (parts: IdentityParts): ServedKind => {
  const { projects, domains } = parts.directory;
  return serveKind<Shown, typeof projectFields>({
    title: 'project',
    fields: projectFields,
    records: projects,
    rules: decidedByKind,
    async find({ id, caller }, action) {
      const domain = await domains.find(id);
      if (domain) {
        authorize(`${action}_domain`, caller, { domainId: id });
        return domain;
      }
      const project = await projects.get(id);
      authorize(`${action}_project`, caller, { domainId: project.domain_id });
      return project;
    },
    fixed: (shown) =>
      isProject(shown)
        ? { id: shown.id, domain_id: shown.domain_id, is_domain: false }
        : { id: shown.id, domain_id: null, parent_id: null, is_domain: true },
    create: (given, question) =>
      given.is_domain === true
        ? createDomain(parts, question, aloneAbove(given))
        : createProject(parts, question, given),
    change: ({ parent_id, is_domain: _is, options: _options, ...given }, shown) =>
      isProject(shown) ? changeProject(parts, shown, { parent_id, ...given }) : changeDomain(parts, shown.id, given),
    async remove(shown) {
      if (!isProject(shown)) return deleteDomain(parts, shown);
      await refuseParent(parts, shown);
      await removeProject(parts, shown);
    },
  });
};

async function createProject(
  parts: IdentityParts,
  { caller, id }: ObjectQuestion,
  {
    name,
    domain_id: wanted,
    parent_id,
    description,
    enabled = true,
    tags = [],
    extra,
  }: Given<FieldsOf<typeof projectFields>>,
): Promise<void> {
  const parent = parent_id == null ? undefined : await parentOf(parts, parent_id);
  const domain_id = wanted ?? parent?.domain_id ?? callerDomain(caller);
  authorize('create_project', caller, { domainId: domain_id });
  await checkPlace(parts, { domain_id, parent });
  const place = { domain_id, parent_id: parent?.id ?? domain_id };
  const draft = { id, name, description: description ?? '', ...place, enabled, tags, extra };
  await insertNew(parts.directory.projects, draft, projectTaken(draft));
}

async function changeProject(
  parts: IdentityParts,
  project: ProjectDocument,
  {
    parent_id,
    ...given
  }: Omit<ChangeOf<typeof projectFields>, 'is_domain' | 'options' | 'parent_id'> & {
    parent_id: string | null | undefined;
  },
): Promise<void> {
  if (parent_id !== undefined && parent_id !== project.parent_id) {
    throw new AnnealError('Forbidden', 'Update of `parent_id` is not allowed.');
  }
  if (given.enabled === false) await refuseDisabling(parts, project);
  const taken = projectTaken({ ...project, ...given });
  await patch(parts.directory.projects, { id: project.id, taken }, given);
}

/** The fields of a domain. @throws AnnealError InvalidRequest for a domain inside a domain or a project */
function aloneAbove<
  T extends { domain_id?: string | null; parent_id?: string | null; is_domain?: boolean; options?: object },
>({ domain_id = null, parent_id = null, is_domain: _is, options: _options, ...fieldsOfDomain }: T) {
  if (domain_id === null && parent_id === null) return fieldsOfDomain;
  throw new AnnealError('InvalidRequest', 'A project that is a domain has no domain and no project above it.');
}

async function parentOf({ directory }: IdentityParts, id: string): Promise<ProjectDocument | undefined> {
  const parent = await directory.projects.find(id);
  if (parent || (await directory.domains.find(id))) return parent;
  throw new AnnealError('InvalidRequest', `Could not find project: ${id}.`);
}

/** @throws AnnealError for a domain that does not exist, a parent in another domain, and a place that is too deep */
export async function checkPlace(
  { directory }: IdentityParts,
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

/** @throws AnnealError Forbidden for the project of the nodes, and for one with enabled projects below it */
export async function refuseDisabling({ directory }: IdentityParts, project: ProjectDocument): Promise<void> {
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

/** Changes the tags of a project. @throws AnnealError NotFound for a tag to remove that it does not have */
export async function changeTags(
  { directory: { projects } }: IdentityParts,
  { caller, project: id, change }: z.output<typeof identityTagsChange.data>,
): Promise<void> {
  const project = await projects.get(id);
  authorize('update_project', caller, { domainId: project.domain_id });
  const changed = (tags: readonly string[]): readonly string[] => {
    if ('all' in change) return change.all;
    if ('add' in change) return [...tags, change.add];
    if (!tags.includes(change.remove)) throw absentTag(change.remove);
    return tags.filter((each) => each !== change.remove);
  };
  await projects.update(id, (present) => ({
    ...present,
    tags: [...new Set(parseField(tagsField, changed(present.tags), 'The list of tags'))],
  }));
}
