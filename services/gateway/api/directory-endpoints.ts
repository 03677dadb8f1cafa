/** Pages of the users and the projects, for administrators. The identity API has the whole lists, as Keystone. */
import { pageCounts, type PageRequest } from '@anneal/contracts/page.ts';
import type { PagedList } from '@anneal/store/page.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import type { ProjectDocument, UserDocument } from '@anneal/directory/documents.ts';
import { projectRow, projectSchema } from '../identity/routes/project-routes.ts';
import { allow, ownDomain } from '../identity/routes/shape.ts';
import { userRow, userSchema } from '../identity/routes/user-routes.ts';
import { route, type Route } from '../http/route.ts';
import { wantedPage, pageQuery } from './page-query.ts';

const defaultLimit = 100;

/** Users or projects of one domain, or of all of them, by name. A row says whether it is enabled. */
const listedIn = (domain: string | undefined): PagedList<UserDocument> & PagedList<ProjectDocument> => ({
  where: domain === undefined ? {} : { domain_id: domain },
  natural: { name: 'name', orderBy: domain === undefined ? ['domain_id', 'name'] : ['name'] },
  paths: ['name', 'enabled', 'description'],
  columns: { status: stateOf, description: ({ description }) => description ?? '' },
  textsOf: (values) => [String(values['name']), String(values['description'] ?? ''), stateOf(values)],
});
const stateOf = ({ enabled }: Readonly<Record<string, unknown>>): string => (enabled === 0 ? 'disabled' : 'enabled');

export interface DirectoryOptions {
  readonly directory: Pick<DirectoryReader, 'users' | 'projects'>;
}

/** @throws AnnealError Forbidden for a caller who may not list users */
export async function pageOfUsers({ directory }: DirectoryOptions, request: FastifyRequest, page: PageRequest) {
  const domain = ownDomain(request);
  allow(request, 'list_users', { domainId: domain });
  return directory.users.page(listedIn(domain), page);
}

/** @throws AnnealError Forbidden for a caller who may not list projects */
export async function pageOfProjects({ directory }: DirectoryOptions, request: FastifyRequest, page: PageRequest) {
  const domain = ownDomain(request);
  allow(request, 'list_projects', { domainId: domain });
  return directory.projects.page(listedIn(domain), page);
}

export function directoryEndpoints(options: DirectoryOptions): Route[] {
  return [
    route({
      method: 'GET',
      path: '/users',
      summary: 'Show one page of the users, by name, in the form of Keystone. Columns: name, status, description.',
      query: z.strictObject(pageQuery),
      answer: z.object({ users: z.array(userSchema), ...pageCounts }),
      handle: async ({ request, query }) => {
        const page = wantedPage({ ...query, limit: query.limit ?? defaultLimit });
        const { documents, ...counts } = await pageOfUsers(options, request, page);
        return { users: documents.map((user) => userRow(request, user)), ...counts };
      },
    }),
    route({
      method: 'GET',
      path: '/projects',
      summary: 'Show one page of the projects, by name, in the form of Keystone. Columns: name, status, description.',
      query: z.strictObject(pageQuery),
      answer: z.object({ projects: z.array(projectSchema), ...pageCounts }),
      handle: async ({ request, query }) => {
        const page = wantedPage({ ...query, limit: query.limit ?? defaultLimit });
        const { documents, ...counts } = await pageOfProjects(options, request, page);
        return { projects: documents.map((project) => projectRow(request, project)), ...counts };
      },
    }),
  ];
}
