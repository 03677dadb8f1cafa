/** Roles of users and groups on projects, domains and the system. */
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
import type { DomainDocument, Grant } from '@anneal/directory/documents.ts';
import { roleRow, roleSchema } from './role-routes.ts';
import { accessOf, allow, linkTo, listLinks, ownDomain, type IdentityOptions } from './shape.ts';

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

function grantRoutes(
  options: IdentityOptions,
  { on, inherited, path, kind }: GrantPlace & { kind: 'users' | 'groups' },
): Route[] {
  const { roles } = options.directory;
  const suffix = inherited ? '/inherited_to_projects' : '';
  const all = `${path}/${kind}/{holder}/roles${suffix}`;
  const one = `${path}/${kind}/{holder}/roles/{role}${suffix}`;
  const owner = `a ${kind.slice(0, -1)}`;
  const where = `${on === 'system' ? 'the system' : `a ${on}`}${inherited ? ', for the projects below it' : ''}`;
  const { found, update } = holdersOf(options, on, kind);
  /** The id of the role of the path. A manager of a domain grants none above its own. */
  const roleIn = async ({ params, request }: Input, { isChange }: { isChange: boolean }): Promise<string> => {
    const { id, name } = await roles.get(params['role'] ?? '');
    const isHigher = !['manager', 'member', 'reader'].includes(name);
    const isAdmin = accessOf(request).roles.some((each) => each.name === 'admin');
    if (isChange && isHigher && !isAdmin) allow(request, 'create_system_grant');
    return id;
  };
  const isThis = (grant: Grant, id: string): boolean =>
    grant.on === on && grant.id === id && grant.inherited === inherited;
  const absent = (roleId: string, holder: string, id: string) =>
    new AnnealError(
      'NotFound',
      `Could not find role assignment with role: ${roleId}, user or group: ${holder}, project, domain, or system: ${id}.`,
    );
  return [
    route({
      method: 'GET',
      path: all,
      summary: `List the roles of ${owner} on ${where}.`,
      answer: z.object({ roles: z.array(roleSchema), links: listLinks }),
      handle: async (input) => {
        const { id, holder } = await found(input, 'read');
        const ids = holder.grants.filter((grant) => isThis(grant, id)).map(({ role_id }) => role_id);
        const rows = (await roles.findMany(ids)).map((each) => roleRow(input.request, each));
        return { roles: rows, links: { ...linkTo(input.request, 'roles'), previous: null, next: null } };
      },
    }),
    route({
      method: 'PUT',
      path: one,
      summary: `Grant a role to ${owner} on ${where}.`,
      handle: async (input) => {
        const { id, holder } = await found(input, 'create');
        const role_id = await roleIn(input, { isChange: true });
        await update(holder.id, (grants) => [
          ...grants.filter((grant) => !(isThis(grant, id) && grant.role_id === role_id)),
          { role_id, on, id, inherited },
        ]);
      },
    }),
    route({
      method: ['GET', 'HEAD'],
      path: one,
      summary: `Check that ${owner} has a role on ${where}.`,
      handle: async (input) => {
        const { id, holder } = await found(input, 'read');
        const roleId = await roleIn(input, { isChange: false });
        const has = holder.grants.some((grant) => isThis(grant, id) && grant.role_id === roleId);
        if (!has) throw absent(roleId, holder.id, id);
      },
    }),
    route({
      method: 'DELETE',
      path: one,
      summary: `Revoke a role of ${owner} on ${where}.`,
      handle: async (input) => {
        const { id, holder } = await found(input, 'revoke');
        const roleId = await roleIn(input, { isChange: true });
        await update(holder.id, (grants) => {
          const rest = grants.filter((grant) => !(isThis(grant, id) && grant.role_id === roleId));
          if (rest.length === grants.length) throw absent(roleId, holder.id, id);
          return rest;
        });
      },
    }),
  ];
}

/** Finds and changes the users or groups that hold roles on a kind of object. */
function holdersOf({ directory }: IdentityOptions, on: Grant['on'], kind: 'users' | 'groups') {
  return {
    /** The id of the object, and the holder. @throws AnnealError NotFound, Forbidden */
    found: async ({ params, request }: Input, rule: 'read' | 'create' | 'revoke') => {
      const { id = 'all', holder: holderId = '' } = params;
      const domainId =
        on === 'project'
          ? (await directory.projects.get(id)).domain_id
          : on === 'domain'
            ? (await directory.domains.get(id)).id
            : undefined;
      const holder = await directory[kind].get(holderId);
      if (on === 'system') allow(request, rule === 'read' ? 'check_system_grant' : 'create_system_grant');
      else {
        // A manager of a domain grants only inside it.
        const target = { domainId: holder.domain_id === domainId ? domainId : '' };
        allow(request, rule === 'read' ? 'list_grants' : `${rule}_grant`, rule === 'read' ? { domainId } : target);
      }
      return { id, holder };
    },
    update: (id: string, change: (grants: readonly Grant[]) => readonly Grant[]): Promise<unknown> =>
      kind === 'users'
        ? directory.users.update(id, (present) => ({ ...present, grants: change(present.grants) }))
        : directory.groups.update(id, (present) => ({ ...present, grants: change(present.grants) })),
  };
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
