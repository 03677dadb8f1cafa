/** The projects of a user, and those above a project. */
import type { ProjectDocument, UserDocument } from './documents.ts';
import type { DirectoryReader } from './reader.ts';
import { countsIn } from './roles.ts';

/** The projects above one, nearest first. */
export function idsAbove(projects: ReadonlyMap<string, ProjectDocument>, id: string): string[] {
  const above: string[] = [];
  for (
    let at = projects.get(projects.get(id)?.parent_id ?? '');
    at && !above.includes(at.id);
    at = projects.get(at.parent_id)
  ) {
    above.push(at.id);
  }
  return above;
}

/** The enabled projects in which a user has a role. The number of reads does not depend on the number of projects. */
export async function projectsOf(directory: DirectoryReader, user: UserDocument): Promise<ProjectDocument[]> {
  const [projects, groups, roles] = await Promise.all([
    directory.projects.list(),
    directory.groups.findMany(user.groups),
    directory.roles.list(),
  ]);
  const byId = new Map(projects.map((project) => [project.id, project]));
  const known = new Set(roles.map(({ id }) => id));
  const grants = [user, ...groups].flatMap((each) => each.grants).filter(({ role_id }) => known.has(role_id));
  return projects.filter(({ id, enabled, domain_id: domain }) => {
    const scope = { on: 'project', id, above: idsAbove(byId, id), domain } as const;
    return enabled && grants.some((grant) => countsIn(grant, scope));
  });
}
