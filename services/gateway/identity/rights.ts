/**
 * The rights at the APIs of the services: two tables. The identity API has its own (`identity-policy.ts`).
 *
 * R1 A user with the role `reader` in a project reads it, and one with `member` changes it. `admin` implies both.
 * R2 Operators see what belongs to no project: nodes, images, queues of services, dead letters. An operator has `admin`
 *    in any project; a user with a role in the system reads as one, and changes with `admin` there. Operators also read
 *    the events of any project, which they name (`other-projects.ts`).
 * R3 A machine credential may use the routes of its rights and no other. The handlers limit what it reads and changes
 *    to its stack.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { CredentialRight } from '@anneal/contracts/calls/credentials.ts';
import { hasRole, isOperator, type UserAccess } from '@anneal/directory/access.ts';

/** `METHOD path`, as the routes are declared. */
export const routesOfRights: Readonly<Record<CredentialRight, readonly string[]>> = {
  'metrics.post': ['POST /api/v1/metrics'],
  'events.read': ['GET /api/v1/events', 'GET /api/v1/events/ws', 'POST /api/v1/events/ticket'],
  'hooks.complete': ['POST /api/v1/stacks/:stack/resources/:resource/actions'],
};

/** Whether any of the rights allows a route. */
export const allowsRoute = (can: readonly CredentialRight[], method: string, url: string | undefined): boolean =>
  can.some((right) => routesOfRights[right].includes(`${method} ${url ?? ''}`));

/** Routes that only read although their method can change something: `METHOD path`, as the routes are declared. */
const readingRoutes: ReadonlySet<string> = new Set([
  'POST /api/v1/session',
  'DELETE /api/v1/session',
  'POST /api/v1/events/ticket',
  'POST /orchestration/v1/:project/validate',
  'POST /orchestration/v1/:project/stacks/preview',
  'PUT /orchestration/v1/:project/stacks/:name/:id/preview',
  'PATCH /orchestration/v1/:project/stacks/:name/:id/preview',
]);

/** Routes of operators (R2), by the beginning of their path, with the methods; all methods when none is listed. */
const operatorRoutes: readonly { readonly path: string; readonly methods?: readonly string[] }[] = [
  { path: '/baremetal/v1' },
  { path: '/api/v1/nodes' },
  { path: '/api/v1/dead-letters' },
  { path: '/api/v1/images', methods: ['POST', 'PUT', 'DELETE'] },
  { path: '/image/v2/images', methods: ['POST', 'PUT', 'PATCH', 'DELETE'] },
  { path: '/api/v1/services' },
  { path: '/orchestration/v1/:project/services' },
  { path: '/api/v1/projects', methods: ['POST', 'DELETE'] },
];

/** Routes whose handlers limit other users to what their project may see (`ironic/access.ts`, `ironic/runbook-routes.ts`). */
const limitedRoutes: readonly RegExp[] = [
  /^\/baremetal\/v1\/nodes(?:\/|$)/,
  /^\/baremetal\/v1\/runbooks(?:\/:runbook)?$/,
];

/** Routes on which an operator names a project, so that the scope of the token may be the system. */
const routesOfSystem: ReadonlySet<string> = new Set([
  'GET /api/v1/events',
  'GET /api/v1/events/ws',
  'POST /api/v1/events/ticket',
]);

/** The role that a route needs, in the project of the token or as an operator. */
export interface RouteNeed {
  readonly role: 'reader' | 'member';
  readonly operator: boolean;
  /** Whether a token may have the system as its scope, and no project. */
  readonly system: boolean;
}

/** A pure function of the declared route. */
export function needOfRoute(method: string, url: string): RouteNeed {
  const reads = ['GET', 'HEAD', 'OPTIONS'].includes(method) || readingRoutes.has(`${method} ${url}`);
  if (limitedRoutes.some((route) => route.test(url))) return { role: 'reader', operator: false, system: true };
  const operator = operatorRoutes.some(
    ({ path, methods }) => (url === path || url.startsWith(`${path}/`)) && (methods?.includes(method) ?? true),
  );
  return { role: reads ? 'reader' : 'member', operator, system: routesOfSystem.has(`${method} ${url}`) };
}

/** @throws AnnealError Forbidden that names the missing role */
export function requireRole(access: UserAccess, { role, operator }: RouteNeed): void {
  const { user, project, roles } = access;
  const where = project ? `the project ${project.name}` : 'its scope';
  const deny = (needed: string): never => {
    const has = roles.length === 0 ? 'no role' : `the roles ${roles.map(({ name }) => name).join(', ')}`;
    throw new AnnealError('Forbidden', `This request needs ${needed}; the user ${user.name} has ${has} in ${where}.`);
  };
  if (operator && !isOperator(access, role)) {
    deny(role === 'reader' ? 'the role admin, or the role reader in the system' : 'the role admin');
  }
  if (!operator && !hasRole(access, role)) deny(`the role ${role}`);
}
