/** Role assignments as rows: pure functions of the directory's documents. */
import type {
  Grant,
  UserGroupDocument,
  ProjectDocument,
  RoleDocument,
  UserDocument,
} from '@anneal/directory/documents.ts';
import { idsAbove } from '@anneal/directory/projects.ts';
import { withImplied } from '@anneal/directory/roles.ts';

/** A role of one user or group in one place. */
export interface RoleAssignment {
  readonly kind: 'user' | 'group';
  readonly holder: UserDocument | UserGroupDocument;
  readonly grant: Grant;
}

/** The documents that the assignments are made of. */
export interface AssignmentSource {
  readonly users: readonly UserDocument[];
  readonly groups: readonly UserGroupDocument[];
  readonly roles: ReadonlyMap<string, RoleDocument>;
  readonly projects: ReadonlyMap<string, ProjectDocument>;
  readonly domains: ReadonlyMap<string, unknown>;
}

/** The assignments as they were made. Those of deleted roles, projects and domains are left out. */
export function directAssignments({ users, groups, roles, projects, domains }: AssignmentSource): RoleAssignment[] {
  const exists = ({ on, id, role_id }: Grant): boolean =>
    roles.has(role_id) && (on === 'system' || (on === 'project' ? projects.has(id) : domains.has(id)));
  const of = (kind: RoleAssignment['kind'], holders: readonly (UserDocument | UserGroupDocument)[]): RoleAssignment[] =>
    holders.flatMap((holder) => holder.grants.filter(exists).map((grant) => ({ kind, holder, grant })));
  return [...of('user', users), ...of('group', groups)];
}

/** The assignments that count: groups as their members, inherited ones in the projects below, with implied roles. */
export function effectiveAssignments(source: AssignmentSource): RoleAssignment[] {
  const { users, projects, roles } = source;
  const members = (given: RoleAssignment): RoleAssignment[] =>
    given.kind === 'user'
      ? [given]
      : users
          .filter((user) => user.groups.includes(given.holder.id))
          .map((holder) => ({ kind: 'user', holder, grant: given.grant }));
  const below = (given: RoleAssignment): RoleAssignment[] => {
    const { grant } = given;
    if (!grant.inherited) return [given];
    return [...projects.values()]
      .filter(({ id, domain_id }) =>
        grant.on === 'domain' ? domain_id === grant.id : idsAbove(projects, id).includes(grant.id),
      )
      .map(({ id }) => ({ ...given, grant: { ...grant, on: 'project', id } }));
  };
  const impliedToo = (given: RoleAssignment): RoleAssignment[] =>
    // A role of a domain gives only what it implies.
    withImplied([given.grant.role_id], roles)
      .filter(({ domain_id }) => domain_id === '')
      .map(({ id }) => ({ ...given, grant: { ...given.grant, role_id: id } }));
  return directAssignments(source).flatMap(members).flatMap(below).flatMap(impliedToo);
}

/** The conditions of a list. Undefined ones hold for every row. */
export interface AssignmentFilter {
  readonly user?: string | undefined;
  readonly group?: string | undefined;
  readonly role?: string | undefined;
  readonly project?: string | undefined;
  /** With the projects below `project`. */
  readonly subtree?: boolean;
  readonly domain?: string | undefined;
  readonly system?: boolean;
  readonly inherited?: boolean;
  /** Only what is in this domain: the scope of the caller. */
  readonly within?: string | undefined;
}

/** Whether a row meets every condition. */
export function fitsFilter(
  { kind, holder, grant }: RoleAssignment,
  filter: AssignmentFilter,
  source: AssignmentSource,
): boolean {
  const { projects } = source;
  const is = (wanted: string | undefined, found: string | undefined): boolean =>
    wanted === undefined || wanted === found;
  const at = (on: Grant['on']): string | undefined => (grant.on === on ? grant.id : undefined);
  const domainOf = grant.on === 'project' ? projects.get(grant.id)?.domain_id : at('domain');
  const inProject =
    is(filter.project, at('project')) ||
    (filter.subtree === true && grant.on === 'project' && idsAbove(projects, grant.id).includes(filter.project ?? ''));
  return (
    inProject &&
    is(filter.user, kind === 'user' ? holder.id : undefined) &&
    is(filter.group, kind === 'group' ? holder.id : undefined) &&
    is(filter.role, grant.role_id) &&
    is(filter.domain, at('domain')) &&
    is(filter.within, domainOf) &&
    (!filter.system || grant.on === 'system') &&
    (!filter.inherited || grant.inherited)
  );
}
