/** The removal of domains, projects and users, by the identity API or by a stack. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import type { ProjectDocument } from '@anneal/directory/documents.ts';
import { adminUser } from '@anneal/directory/principals.ts';
import type { IdentityParts } from './parts.ts';

/** @throws AnnealError Forbidden for a project with projects below it */
export async function refuseParent({ directory }: IdentityParts, { id }: ProjectDocument): Promise<void> {
  if ((await directory.projects.list({ parent_id: id })).length === 0) return;
  throw new AnnealError(
    'Forbidden',
    `Cannot delete the project ${id} since it is not a leaf in the hierarchy. Use the cascade option if you want to delete a whole subtree.`,
  );
}

/** @throws AnnealError Conflict for a project with stacks, because no user could reach them any more */
export async function removeProject({ directory, stacksIn }: IdentityParts, project: ProjectDocument): Promise<void> {
  if (project.id === adminProject.id) {
    throw new AnnealError('Forbidden', `Cannot delete the project ${project.name}: the nodes belong to it.`);
  }
  if ((await stacksIn(project.id)) > 0) {
    throw new AnnealError(
      'Conflict',
      `Cannot delete the project ${project.name}: it has stacks. Delete them first: openstack --os-project-id ${project.id} stack list.`,
    );
  }
  await directory.projects.remove(project.id);
}

/** Removes a user with its application credentials; its tokens end. @throws AnnealError Forbidden for admin */
export async function removeUser({ directory }: IdentityParts, id: string): Promise<void> {
  if (id === adminUser.id) {
    throw new AnnealError('Forbidden', 'Cannot delete the user admin: it is the one that can always log in.');
  }
  for (const credential of await directory.applicationCredentials.list({ user_id: id })) {
    await directory.applicationCredentials.remove(credential.id);
  }
  for (const credential of await directory.credentials.list({ user_id: id })) {
    await directory.credentials.remove(credential.id);
  }
  for (const rule of await directory.accessRules.list({ user_id: id })) await directory.accessRules.remove(rule.id);
  for (const link of await directory.oidcLinks.list({ user_id: id })) await directory.oidcLinks.remove(link.id);
  const { trusts } = directory;
  for (const trust of [
    ...(await trusts.list({ trustor_user_id: id })),
    ...(await trusts.list({ trustee_user_id: id })),
  ]) {
    await trusts.remove(trust.id);
  }
  await directory.users.remove(id);
}

/** Removes a domain with everything in it. A repetition after a crash removes the rest. */
export async function removeDomain(parts: IdentityParts, domain_id: string): Promise<void> {
  const { domains, projects, users, groups, roles } = parts.directory;
  const inside = await projects.list({ domain_id });
  for (const project of inside) await removeProject(parts, project);
  for (const user of await users.list({ domain_id })) await removeUser(parts, user.id);
  for (const { id } of await groups.list({ domain_id })) await groups.remove(id);
  for (const { id } of await roles.list({ domain_id })) await roles.remove(id);
  await domains.remove(domain_id);
}
