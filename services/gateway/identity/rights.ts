/**
 * The routes that machine credentials may use: this one table. Every other route refuses them. The handlers limit what
 * such a caller reads and changes to its stack.
 */
import type { CredentialRight } from '@anneal/contracts/calls/credentials.ts';

/** `METHOD path`, as the routes are declared. */
export const routesOfRights: Readonly<Record<CredentialRight, readonly string[]>> = {
  'metrics.post': ['POST /api/v1/metrics'],
  'events.read': ['GET /api/v1/events'],
  'hooks.complete': ['POST /api/v1/stacks/:stack/resources/:resource/actions'],
};

/** Whether any of the rights allows a route. */
export const allowsRoute = (can: readonly CredentialRight[], method: string, url: string | undefined): boolean =>
  can.some((right) => routesOfRights[right].includes(`${method} ${url ?? ''}`));
