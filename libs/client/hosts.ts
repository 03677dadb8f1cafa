/** Hosts and deployments. */
import {
  deploymentViewSchema,
  hostViewSchema,
  type DeploymentView,
  type HostView,
} from '@anneal/contracts/configuration.ts';
import { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { read, readList } from './read.ts';

export interface HostCalls {
  list(parameters?: { signal?: AbortSignal }): Promise<HostView[]>;
  show(parameters: { host: string }): Promise<HostView>;
  /** Creates a new token; the one before is invalid from then on. */
  renewToken(parameters: { host: string }): Promise<{ host: HostView; token: string }>;
}
export interface Deployments {
  list(parameters?: { host?: string | undefined; stack?: string | undefined }): Promise<DeploymentView[]>;
  show(parameters: { deployment: string }): Promise<DeploymentView>;
}

const service = 'api';

export function hostsOf(connection: GatewayConnection): HostCalls {
  return {
    async list({ signal } = {}) {
      const what = 'list the hosts';
      return readList(hostViewSchema, 'hosts', await connection.json({ service, path: '/hosts', what, signal }), what);
    },
    async show({ host }) {
      const what = `show the host ${host}`;
      const path = `/hosts/${encodeURIComponent(host)}`;
      return read(hostViewSchema, await connection.json({ service, path, what }), what);
    },
    async renewToken({ host }) {
      const what = `renew the token of ${host}`;
      const path = `/hosts/${encodeURIComponent(host)}/token`;
      const body = await connection.json({ service, path, method: 'POST', what });
      return read(z.object({ host: hostViewSchema, token: z.string() }), body, what);
    },
  };
}

export function deploymentsOf(connection: GatewayConnection): Deployments {
  return {
    async list({ host, stack } = {}) {
      const what = 'list the deployments';
      const body = await connection.json({ service, path: '/deployments', query: { host, stack }, what });
      return readList(deploymentViewSchema, 'deployments', body, what);
    },
    async show({ deployment }) {
      const what = `show the deployment ${deployment}`;
      const path = `/deployments/${encodeURIComponent(deployment)}`;
      return read(deploymentViewSchema, await connection.json({ service, path, what }), what);
    },
  };
}
