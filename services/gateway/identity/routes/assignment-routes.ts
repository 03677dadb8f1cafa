/** Roles of users and groups on projects, domains and the system. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { queryOf } from '../../http/base-url.ts';
import { queryValue } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import {
  directAssignments,
  effectiveAssignments,
  fitsFilter,
  type RoleAssignment,
  type AssignmentSource,
} from '../assignments.ts';
import type { DomainDocument, Grant } from '../directory/documents.ts';
import { roleRow, roleSchema } from './role-routes.ts';
import {
  accessOf,
  allow,
  linkTo,
  listLinks,
  ownDomain,
  paramsOf,
  type IdentityOptions,
  type IdentityRoutes,
} from './shape.ts';

interface GrantPlace {
  readonly on: Grant['on'];
  readonly inherited: boolean;
  readonly path: string;
}

const places: readonly GrantPlace[] = [
  { on: 'project', inherited: false, path: '/v3/projects/:id' },
  { on: 'domain', inherited: false, path: '/v3/domains/:id' },
  { on: 'system', inherited: false, path: '/v3/system' },
  { on: 'project', inherited: true, path: '/v3/OS-INHERIT/projects/:id' },
  { on: 'domain', inherited: true, path: '/v3/OS-INHERIT/domains/:id' },
];

const text = z.string().optional();
const flagText = text.meta({ description: 'Set by its presence, unless it is 0 or false.' });
const listsAssignments = described({
  summary: 'List who has which role where.',
  query: z.object({
    'user.id': text,
    'group.id': text,
    'role.id': text,
    'scope.project.id': text,
    'scope.domain.id': text,
    'scope.system': text,
    'scope.OS-INHERIT:inherited_to': text,
    effective: flagText,
    include_names: flagText,
    include_subtree: flagText,
  }),
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
});

/** The routes that grant, check and revoke roles, and `/v3/role_assignments`. */
export const assignmentRoutes: IdentityRoutes = (scope, options) => {
  for (const place of places)
    for (const kind of ['users', 'groups'] as const) grantRoutes(scope, options, { ...place, kind });
  scope.get('/v3/role_assignments', listsAssignments, (request) => assignments(options, request));
};

function describeGrants({ on, inherited, kind }: Omit<GrantPlace, 'path'> & { kind: 'users' | 'groups' }) {
  const holder = `a ${kind.slice(0, -1)}`;
  const where = `${on === 'system' ? 'the system' : `a ${on}`}${inherited ? ', for the projects below it' : ''}`;
  return {
    lists: described({
      summary: `List the roles of ${holder} on ${where}.`,
      answer: z.object({ roles: z.array(roleSchema), links: listLinks }),
    }),
    creates: described({ summary: `Grant a role to ${holder} on ${where}.` }),
    checks: described({ summary: `Check that ${holder} has a role on ${where}.` }),
    revokes: described({ summary: `Revoke a role of ${holder} on ${where}.` }),
  };
}

function grantRoutes(
  scope: FastifyInstance,
  options: IdentityOptions,
  { on, inherited, path, kind }: GrantPlace & { kind: 'users' | 'groups' },
): void {
  const { directory } = options;
  const suffix = inherited ? '/inherited_to_projects' : '';
  const all = `${path}/${kind}/:holder/roles${suffix}`;
  const one = `${path}/${kind}/:holder/roles/:role${suffix}`;

  /** The domain of the object, and the holder. @throws AnnealError NotFound */
  const found = async (request: FastifyRequest, rule: 'read' | 'create' | 'revoke') => {
    const { id = 'all', holder: holderId = '' } = paramsOf(request);
    const domainId =
      on === 'project'
        ? (await directory.projects.get(id)).domain_id
        : on === 'domain'
          ? (await directory.domains.get(id)).id
          : undefined;
    const holder = kind === 'users' ? await directory.users.get(holderId) : await directory.groups.get(holderId);
    if (on === 'system') allow(request, rule === 'read' ? 'check_system_grant' : 'create_system_grant');
    else {
      // A manager of a domain grants only inside it.
      const target = { domainId: holder.domain_id === domainId ? domainId : '' };
      allow(request, rule === 'read' ? 'list_grants' : `${rule}_grant`, rule === 'read' ? { domainId } : target);
    }
    return { id, holder };
  };
  const role = (request: FastifyRequest) => directory.roles.get(paramsOf(request)['role'] ?? '');
  const isThis = (grant: Grant, id: string): boolean =>
    grant.on === on && grant.id === id && grant.inherited === inherited;
  const update = (id: string, change: (grants: readonly Grant[]) => readonly Grant[]): Promise<unknown> =>
    kind === 'users'
      ? directory.users.update(id, (present) => ({ ...present, grants: change(present.grants) }))
      : directory.groups.update(id, (present) => ({ ...present, grants: change(present.grants) }));
  const absent = (roleId: string, holder: string, id: string) =>
    new AnnealError(
      'NotFound',
      `Could not find role assignment with role: ${roleId}, user or group: ${holder}, project, domain, or system: ${id}.`,
    );

  const { lists, creates, checks, revokes } = describeGrants({ on, inherited, kind });
  scope.get(all, lists, async (request) => {
    const { id, holder } = await found(request, 'read');
    const ids = holder.grants.filter((grant) => isThis(grant, id)).map(({ role_id }) => role_id);
    const rows = (await directory.roles.findMany(ids)).map((each) => roleRow(request, each));
    return { roles: rows, links: { ...linkTo(request, 'roles'), previous: null, next: null } };
  });

  scope.put(one, creates, async (request, reply) => {
    const { id, holder } = await found(request, 'create');
    const granted = await role(request);
    refuseHigher(request, granted.name);
    await update(holder.id, (grants) => [
      ...grants.filter((grant) => !(isThis(grant, id) && grant.role_id === granted.id)),
      { role_id: granted.id, on, id, inherited },
    ]);
    return reply.code(204).send();
  });

  scope.route({
    method: ['GET', 'HEAD'],
    url: one,
    ...checks,
    handler: async (request, reply) => {
      const { id, holder } = await found(request, 'read');
      const { id: roleId } = await role(request);
      const has = holder.grants.some((grant) => isThis(grant, id) && grant.role_id === roleId);
      if (!has) throw absent(roleId, holder.id, id);
      return reply.code(204).send();
    },
  });

  scope.delete(one, revokes, async (request, reply) => {
    const { id, holder } = await found(request, 'revoke');
    const { id: roleId, name } = await role(request);
    refuseHigher(request, name);
    await update(holder.id, (grants) => {
      const rest = grants.filter((grant) => !(isThis(grant, id) && grant.role_id === roleId));
      if (rest.length === grants.length) throw absent(roleId, holder.id, id);
      return rest;
    });
    return reply.code(204).send();
  });
}

/** A manager of a domain grants no role above its own. */
function refuseHigher(request: FastifyRequest, name: string): void {
  const { roles } = accessOf(request);
  if (roles.some((each) => each.name === 'admin') || ['manager', 'member', 'reader'].includes(name)) return;
  allow(request, 'create_system_grant');
}

/** `GET /v3/role_assignments`, with the filters and flags of Keystone. */
async function assignments({ directory }: IdentityOptions, request: FastifyRequest): Promise<JsonObject> {
  const flag = (name: string): boolean => {
    const value = queryValue(request, name);
    return value !== undefined && !['0', 'false'].includes(value.toLowerCase());
  };
  refuseContradictions(request, flag('effective'));
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
    user: queryValue(request, 'user.id'),
    group: queryValue(request, 'group.id'),
    role: queryValue(request, 'role.id'),
    project: queryValue(request, 'scope.project.id'),
    subtree: flag('include_subtree'),
    domain: queryValue(request, 'scope.domain.id'),
    system: queryValue(request, 'scope.system') !== undefined,
    inherited: queryValue(request, 'scope.OS-INHERIT:inherited_to') === 'projects',
    within,
  };
  const rows = flag('effective') ? effectiveAssignments(source) : directAssignments(source);
  const names = flag('include_names') ? namesFrom(source) : undefined;
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

function refuseContradictions(request: FastifyRequest, effective: boolean): void {
  const has = (name: string): boolean => queryValue(request, name) !== undefined;
  const reason =
    has('user.id') && has('group.id')
      ? 'Specify a user or group, not both'
      : effective && has('group.id')
        ? 'Combining effective and group filter will always result in an empty list.'
        : has('scope.project.id') && has('scope.domain.id')
          ? 'Specify a domain or project, not both'
          : has('include_subtree') && !has('scope.project.id')
            ? 'scope.project.id must be specified if include_subtree is also specified'
            : undefined;
  if (reason !== undefined) throw new AnnealError('InvalidRequest', reason);
}
