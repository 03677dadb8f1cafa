/** The endpoints and groups that the catalog of a project is limited to, in the directory. */
import { hasCode } from '@anneal/contracts/errors.ts';
import type { Directory } from '../directory/directory.ts';
import type { ProjectDocument, ProjectEndpointsDocument } from '../directory/documents.ts';

type Limit = Omit<ProjectEndpointsDocument, 'version'>;
const noLimit = (id: string): Limit => ({ id, endpoints: [], groups: [] });

export async function endpointLimitOf(
  { projectEndpoints }: Directory,
  project: string,
): Promise<ProjectEndpointsDocument> {
  return (await projectEndpoints.find(project)) ?? { ...noLimit(project), version: 0 };
}

/** Changes what a project is limited to. Of two concurrent changes the second sees the first. */
export async function changeLimit(
  { projectEndpoints }: Directory,
  project: string,
  change: (limit: Limit) => Limit,
): Promise<void> {
  if (!(await projectEndpoints.find(project))) {
    try {
      await projectEndpoints.insert(noLimit(project), '');
    } catch (error) {
      // Another request was faster.
      if (!hasCode(error, 'AlreadyExists')) throw error;
    }
  }
  await projectEndpoints.update(project, change);
}

/** The projects whose limit names this. */
export async function projectsWith(
  { projectEndpoints, projects }: Directory,
  names: (limit: Limit) => boolean,
): Promise<ProjectDocument[]> {
  const limits = (await projectEndpoints.list()).filter(names);
  return projects.findMany(limits.map(({ id }) => id));
}
