/** Roles of users and groups on projects, domains and the system. */
import { identityGrantSet } from '@anneal/contracts/calls/identity.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { queryOf } from '../../http/base-url.ts';
import { route, type Route, type RouteInput } from '../../http/route.ts';
import {
  directAssignments,
  effectiveAssignments,
  fitsFilter,
  type RoleAssignment,
  type AssignmentSource,
} from '../assignments.ts';
import { absentGrant } from '@anneal/directory/absent.ts';
import type { DomainDocument, Grant } from '@anneal/directory/documents.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import { identityCallerOf } from './changes.ts';
import { roleRow, roleSchema } from './role-routes.ts';
import { allow, linkTo, listLinks, ownDomain, type IdentityOptions } from './shape.ts';

type Input = Pick<RouteInput, 'params' | 'request'>;

interface GrantPlace {
  readonly on: Grant['on'];
  readonly inherited: boolean;
  readonly path: string;
}

const places: readonly GrantPlace[] = [
  { on: 'project', inherited: false, path: '/v3/projects/{id}' },
  { on: 'domain', inherited: false, path: '/v3/domains/{id}' },
  { on: 'system', inherited: false, path: '/v3/system' },
  { on: 'project', inherited: true, path: '/v3/OS-INHERIT/projects/{id}' },
  { on: 'domain', inherited: true, path: '/v3/OS-INHERIT/domains/{id}' },
];

const text = z.string().optional();
const flag = z
  .string()
  .transform((value) => !['0', 'false'].includes(value.toLowerCase()))
  .optional()
  .meta({ description: 'Set by its presence, unless it is 0 or false.' });
const assignmentsQuery = z.object({
  'user.id': text,
  'group.id': text,
  'role.id': text,
  'scope.project.id': text,
  'scope.domain.id': text,
  'scope.system': text,
  'scope.OS-INHERIT:inherited_to': text,
  effective: flag,
  include_names: flag,
  include_subtree: flag,
});
type AssignmentsQuery = z.output<typeof assignmentsQuery>;

/** The routes that grant, check and revoke roles, and `/v3/role_assignments`. */
export const assignmentRoutes = (options: IdentityOptions): Route[] => [
  ...places.flatMap((place) =>
    (['users', 'groups'] as const).flatMap((kind) => grantRoutes(options, { ...place, kind })),
  ),
  route({
    method: 'GET',
    path: '/v3/role_assignments',
    summary: 'List who has which role where.',
    query: assignmentsQuery,
    answer: z.object({
      role_assignments: z.array(
        z.looseObject({
          links: z.object({ assignment: z.string() }),
          scope: z.looseObject({}),
          role: z.looseObject({ id: z.string() }),
          user: z.looseObject({ id: z.string() }).optional(),
          group: z.looseObject({ id: z.string() }).optional(),
        }),
      ),
      links: listLinks,
    }),
    handle: ({ request, query }) => assignments(options, request, query),
  }),
];

function grantRoutes(options: IdentityOptions, place: GrantPlace & { kind: 'users' | 'groups' }): Route[] {
  const { on, inherited, path, kind } = place;
  const { directory } = options;
  const suffix = inherited ? '/inherited_to_projects' : '';
  const all = `${path}/${kind}/{holder}/roles${suffix}`;
  const one = `${path}/${kind}/{holder}/roles/{role}${suffix}`;
  const owner = `a ${kind.slice(0, -1)}`;
  const where = `${on === 'system' ? 'the system' : `a ${on}`}${inherited ? ', for the projects below it' : ''}`;
  /** The id of the object, and the roles that the holder has there. @throws AnnealError NotFound, Forbidden */
  const held = async ({ params, request }: Input) => {
    const { id = 'all', holder: holderId = '' } = params;
    const domainId = await domainOfPlace(directory, on, id);
    const holder = await directory[kind].get(holderId);
    if (on === 'system') allow(request, 'check_system_grant');
    else allow(request, 'list_grants', { domainId });
    const isHere = (grant: Grant): boolean => grant.on === on && grant.id === id && grant.inherited === inherited;
    return { id, holder, ids: holder.grants.filter(isHere).map(({ role_id }) => role_id) };
  };
  const set = async ({ params, request }: Input, granted: boolean): Promise<void> => {
    const { id = 'all', holder = '', role = '' } = params;
    const data = { caller: identityCallerOf(request), holder: { kind, id: holder }, role, on, id, inherited, granted };
    await options.ask('identity', identityGrantSet, { data });
  };
  return [
    route({
      method: 'GET',
      path: all,
      summary: `List the roles of ${owner} on ${where}.`,
      answer: z.object({ roles: z.array(roleSchema), links: listLinks }),
      handle: async (input) => {
        const { ids } = await held(input);
        const rows = (await directory.roles.findMany(ids)).map((each) => roleRow(input.request, each));
        return { roles: rows, links: { ...linkTo(input.request, 'roles'), previous: null, next: null } };
      },
    }),
    route({
      method: 'PUT',
      path: one,
      summary: `Grant a role to ${owner} on ${where}.`,
      handle: (input) => set(input, true),
    }),
    route({
      method: ['GET', 'HEAD'],
      path: one,
      summary: `Check that ${owner} has a role on ${where}.`,
      handle: async (input) => {
        const { id, holder, ids } = await held(input);
        const role = await directory.roles.get(input.params['role'] ?? '');
        if (!ids.includes(role.id)) throw absentGrant(role.id, holder.id, id);
      },
    }),
    route({
      method: 'DELETE',
      path: one,
      summary: `Revoke a role of ${owner} on ${where}.`,
      handle: (input) => set(input, false),
    }),
  ];
}

/** The domain of the object; undefined for the system. @throws AnnealError NotFound */
async function domainOfPlace(
  { projects, domains }: DirectoryReader,
  on: Grant['on'],
  id: string,
): Promise<string | undefined> {
  if (on === 'system') return undefined;
  return on === 'project' ? (await projects.get(id)).domain_id : (await domains.get(id)).id;
}

/** `GET /v3/role_assignments`, with the filters and flags of Keystone. */
async function assignments(
  { directory }: IdentityOptions,
  request: FastifyRequest,
  query: AssignmentsQuery,
): Promise<JsonObject> {
  const { effective = false, include_names = false, include_subtree: subtree = false } = query;
  refuseContradictions(query);
  const within = ownDomain(request);
  allow(request, 'list_role_assignments', { domainId: within });
  const [users, groups, roles, projects, domains] = await Promise.all([
    directory.users.list(),
    directory.groups.list(),
    directory.roles.list(),
    directory.projects.list(),
    directory.domains.list(),
  ]);
  const source = { users, groups, roles: byId(roles), projects: byId(projects), domains: byId(domains) };
  const filter = {
    user: query['user.id'],
    group: query['group.id'],
    role: query['role.id'],
    project: query['scope.project.id'],
    subtree,
    domain: query['scope.domain.id'],
    system: query['scope.system'] !== undefined,
    inherited: query['scope.OS-INHERIT:inherited_to'] === 'projects',
    within,
  };
  const rows = effective ? effectiveAssignments(source) : directAssignments(source);
  const names = include_names ? namesFrom(source) : undefined;
  return {
    role_assignments: rows
      .filter((row) => fitsFilter(row, filter, source))
      .map((row) => assignmentRow(request, row, names)),
    links: { self: `${linkTo(request, 'role_assignments').self}${queryOf(request)}`, previous: null, next: null },
  };
}

const byId = <T extends { readonly id: string }>(rows: readonly T[]): ReadonlyMap<string, T> =>
  new Map(rows.map((row) => [row.id, row]));

interface Names {
  readonly domain: (id: string) => JsonObject;
  readonly project: (id: string) => JsonObject;
  readonly role: (id: string) => JsonObject;
}

function namesFrom({
  roles,
  projects,
  domains,
}: Omit<AssignmentSource, 'domains'> & { domains: ReadonlyMap<string, DomainDocument> }): Names {
  const domain = (id: string): JsonObject => ({ id, name: domains.get(id)?.name ?? id });
  return {
    domain,
    project: (id) => {
      const found = projects.get(id);
      return { id, name: found?.name ?? id, domain: domain(found?.domain_id ?? '') };
    },
    role: (id) => {
      const found = roles.get(id);
      return { id, name: found?.name ?? id, ...(found?.domain_id && { domain: domain(found.domain_id) }) };
    },
  };
}

function assignmentRow(request: FastifyRequest, { kind, holder, grant }: RoleAssignment, names?: Names): JsonObject {
  const { on, id, inherited, role_id } = grant;
  const place = on === 'system' ? 'system' : `${inherited ? 'OS-INHERIT/' : ''}${on}s/${id}`;
  const path = `${place}/${kind}s/${holder.id}/roles/${role_id}${inherited ? '/inherited_to_projects' : ''}`;
  const scope = on === 'system' ? { system: { all: true } } : { [on]: names ? names[on](id) : { id } };
  return {
    links: { assignment: linkTo(request, path).self },
    scope: { ...scope, ...(inherited && { 'OS-INHERIT:inherited_to': 'projects' }) },
    [kind]: { id: holder.id, ...(names && { name: holder.name, domain: names.domain(holder.domain_id) }) },
    role: names ? names.role(role_id) : { id: role_id },
  };
}

function refuseContradictions(query: AssignmentsQuery): void {
  const has = (name: keyof AssignmentsQuery): boolean => query[name] !== undefined;
  const reason =
    has('user.id') && has('group.id')
      ? 'Specify a user or group, not both'
      : query.effective === true && has('group.id')
        ? 'Combining effective and group filter will always result in an empty list.'
        : has('scope.project.id') && has('scope.domain.id')
          ? 'Specify a domain or project, not both'
          : has('include_subtree') && !has('scope.project.id')
            ? 'scope.project.id must be specified if include_subtree is also specified'
            : undefined;
  if (reason !== undefined) throw new AnnealError('InvalidRequest', reason);
}
