/** Hosts and deployments. */
import { ownFetch } from './own-fetch.ts';
import {
  deploymentViewSchema,
  startedDeploymentSchema,
  type DeploymentView,
  type StartedDeployment,
} from '@anneal/contracts/calls/deployments.ts';
import {
  hostBrokerGrant,
  hostBrokerRevoke,
  hostViewSchema,
  type HostBrokerAccess,
  type HostView,
} from '@anneal/contracts/calls/hosts.ts';
import { configWarningsSchema } from '@anneal/contracts/calls/configs.ts';
import type { Mistake } from '@anneal/contracts/failure.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { bootSeedSchema, type BootSeed } from '@anneal/contracts/calls/boot.ts';
import { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { failureOf } from './failure.ts';
import { reach } from './reach.ts';
import { readPage, type PageOf } from './page.ts';
import { read, readList } from './read.ts';
import { followStream } from './stream.ts';

/** Hosts, and the commands that run on them. */
export interface HostCalls {
  /** All hosts, or those for which the expression `where` is true. */
  list(parameters?: { where?: string | undefined; signal?: AbortSignal }): Promise<HostView[]>;
  /** One page of the hosts, by name. Columns: name, status, last_seen, server. */
  page(parameters: PageRequest): Promise<PageOf<HostView>>;
  show(parameters: { host: string }): Promise<HostView>;
  /** A new address with which a machine joins as this host, once. Creates the host unless it exists. */
  join(parameters: { host: string }): Promise<{ host: HostView; url: string; expires_at: string }>;
  /** Exchanges the address of `join` for the seed of the host, as the machine would. */
  seed(parameters: { url: string }): Promise<BootSeed>;
  /** Refuses a host of a stack. */
  delete(parameters: { host: string }): Promise<void>;
  /** Creates a new token; the one before is invalid from then on. */
  renewToken(parameters: { host: string }): Promise<{ host: HostView; token: string; metadata_url: string }>;
  /** The address at which a host reads its own metadata. A secret. */
  metadataUrl(parameters: { host: string }): Promise<string>;
  /** New credentials with which the host uses the broker directly; the earlier ones stop working. */
  grantBroker(parameters: { host: string }): Promise<{ host: HostView; access: HostBrokerAccess }>;
  /** Revokes these credentials. */
  revokeBroker(parameters: { host: string }): Promise<HostView>;
}
/** Configs that run on hosts outside any stack. Repeats with the same id are harmless. */
export interface Deployments {
  /** Stores a config under an id of the caller. A repeat changes nothing. */
  /** The warnings say what may make it fail on a host. */
  storeConfig(parameters: {
    id: string;
    name: string;
    config: string;
    options: JsonObject;
  }): Promise<{ warnings?: readonly Mistake[] | undefined }>;
  /** Runs a stored config on hosts, at most 100 at a time. A repeat runs nothing twice. `seconds` limits each. */
  run(parameters: { config: string; hosts: readonly string[]; seconds: number }): Promise<StartedDeployment[]>;
  /** Deletes a deployment without a stack. */
  delete(parameters: { deployment: string }): Promise<void>;
  list(parameters?: {
    host?: string | undefined;
    stack?: string | undefined;
    config?: string | undefined;
    /** Only those that ended after this time. */
    endedAfter?: string | undefined;
  }): Promise<DeploymentView[]>;
  show(parameters: { deployment: string }): Promise<DeploymentView>;
  /**
   * Yields the output of a deployment as it arrives, until it ends: `state`, `output` and `end`. With `follow: false` it
   * ends after what is stored now. Continues after a broken connection where it stopped.
   */
  logs(parameters: { deployment: string; follow: boolean; signal: AbortSignal }): AsyncIterable<DeploymentLog>;
  /** The bytes of `stdout`, `stderr` or `outputs.<name>`, unchanged except for masked secrets. */
  download(parameters: { deployment: string; name: string; signal?: AbortSignal }): AsyncIterable<Uint8Array>;
}

/** An entry of `logs`. */
export type DeploymentLog =
  | { readonly kind: 'state' | 'end'; readonly status: string; readonly reason: string; readonly run: string | null }
  | { readonly kind: 'output'; readonly stream: 'stdout' | 'stderr'; readonly bytes: Uint8Array };

const stateSchema = z.object({ status: z.string(), reason: z.string(), run: z.string().nullable() });
const outputSchema = z.object({ stream: z.enum(['stdout', 'stderr']), data: z.base64() });

const service = 'api';

/** The calls for hosts. Each throws the gateway's AnnealError. */
export function hostsOf(connection: GatewayConnection): HostCalls {
  return {
    async list({ where, signal } = {}) {
      const what = 'list the hosts';
      const body = await connection.json({ service, path: '/hosts', query: { where }, what, signal });
      return readList({ hosts: hostViewSchema }, body, what);
    },
    page: (page) => readPage(connection, { path: '/hosts', key: 'hosts', row: hostViewSchema, ...page }),
    async show({ host }) {
      const what = `show the host ${host}`;
      const path = `/hosts/${encodeURIComponent(host)}`;
      return read(hostViewSchema, await connection.json({ service, path, what }), what);
    },
    async join({ host }) {
      const what = `issue a line with which a machine joins as ${host}`;
      const path = `/hosts/${encodeURIComponent(host)}/join`;
      const body = await connection.json({ service, path, method: 'POST', what });
      return read(z.object({ host: hostViewSchema, url: z.string(), expires_at: z.string() }), body, what);
    },
    async seed({ url }) {
      const what = 'exchange the address for a seed';
      const address = new URL(`${url}/exchange`);
      const response = await reach(
        ownFetch,
        { what, root: address.origin, url: address },
        {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ key: crypto.randomUUID() }),
        },
      );
      if (!response.ok) throw await failureOf(response, what);
      return read(bootSeedSchema, await response.json(), what);
    },
    async delete({ host }) {
      const what = `delete the host ${host}`;
      await connection.json({ service, path: `/hosts/${encodeURIComponent(host)}`, method: 'DELETE', what });
    },
    async renewToken({ host }) {
      const what = `renew the token of ${host}`;
      const path = `/hosts/${encodeURIComponent(host)}/token`;
      const body = await connection.json({ service, path, method: 'POST', what });
      return read(z.object({ host: hostViewSchema, token: z.string(), metadata_url: z.string() }), body, what);
    },
    async metadataUrl({ host }) {
      const what = `show the metadata address of ${host}`;
      const path = `/hosts/${encodeURIComponent(host)}/metadata-url`;
      const body = await connection.json({ service, path, what });
      return read(z.object({ metadata_url: z.string() }), body, what).metadata_url;
    },
    async grantBroker({ host }) {
      const what = `issue credentials of ${host} for the broker`;
      const path = `/hosts/${encodeURIComponent(host)}/credentials`;
      return read(hostBrokerGrant.answer, await connection.json({ service, path, method: 'POST', what }), what);
    },
    async revokeBroker({ host }) {
      const what = `revoke the credentials of ${host} for the broker`;
      const path = `/hosts/${encodeURIComponent(host)}/credentials`;
      const body = await connection.json({ service, path, method: 'DELETE', what });
      return read(hostBrokerRevoke.answer, body, what).host;
    },
  };
}

async function* logsOf(
  connection: GatewayConnection,
  { deployment, follow, signal }: Parameters<Deployments['logs']>[0],
): AsyncGenerator<DeploymentLog, void, undefined> {
  const what = `read the output of the deployment ${deployment}`;
  const path = `/deployments/${encodeURIComponent(deployment)}/logs`;
  for await (const { name, data } of followStream({ connection, path, query: { follow }, what, signal })) {
    if (name === 'output') {
      const { stream, data: text } = read(outputSchema, data, what);
      yield { kind: 'output', stream, bytes: Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)) };
    }
    if (name !== 'state' && name !== 'end') continue;
    yield { kind: name, ...read(stateSchema, data, what) };
    if (name === 'end') return;
  }
}

async function* downloadOf(
  connection: GatewayConnection,
  { deployment, name, signal }: Parameters<Deployments['download']>[0],
): AsyncGenerator<Uint8Array, void, undefined> {
  const path = `/deployments/${encodeURIComponent(deployment)}/output/${encodeURIComponent(name)}`;
  const what = `download ${name} of the deployment ${deployment}`;
  const { body } = await connection.call({ service, path, what, signal });
  if (body) yield* body;
}

/** The calls for deployments. Each throws the gateway's AnnealError. */
export function deploymentsOf(connection: GatewayConnection): Deployments {
  return {
    logs: (parameters) => logsOf(connection, parameters),
    download: (parameters) => downloadOf(connection, parameters),
    async list({ host, stack, config, endedAfter } = {}) {
      const what = 'list the deployments';
      const body = await connection.json({
        service,
        path: '/deployments',
        query: { host, stack, config, ended_after: endedAfter },
        what,
      });
      return readList({ deployments: deploymentViewSchema }, body, what);
    },
    async storeConfig(body) {
      const what = 'store the config';
      const answer = await connection.json({ service, path: '/configs', method: 'POST', body, what });
      return read(z.object({ warnings: configWarningsSchema }), answer, what);
    },
    async run(body) {
      const what = `run the config on ${body.hosts.length} hosts`;
      const answer = await connection.json({ service, path: '/deployments', method: 'POST', body, what });
      return readList({ deployments: startedDeploymentSchema }, answer, what);
    },
    async delete({ deployment }) {
      const path = `/deployments/${encodeURIComponent(deployment)}`;
      await connection.call({ service, path, method: 'DELETE', what: `delete the deployment ${deployment}` });
    },
    async show({ deployment }) {
      const what = `show the deployment ${deployment}`;
      const path = `/deployments/${encodeURIComponent(deployment)}`;
      return read(deploymentViewSchema, await connection.json({ service, path, what }), what);
    },
  };
}
