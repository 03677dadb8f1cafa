/** Parts of the client, each loaded on demand: a program that needs one part starts sooner than with `connect`. */
import type { Client } from './connect.ts';
import { openConnection, type GatewayConnection, type Login } from './connection.ts';
import { plainHttp } from './plain-http.ts';

const parts = {
  stacks: async (connection) => (await import('./stacks.ts')).stacksOf(connection),
  nodes: async (connection) => (await import('./nodes.ts')).nodesOf(connection),
  hosts: async (connection) => (await import('./hosts.ts')).hostsOf(connection),
  deployments: async (connection) => (await import('./hosts.ts')).deploymentsOf(connection),
  contexts: async (connection) => (await import('./contexts.ts')).contextsOf(connection),
  queues: async (connection) => (await import('./queues.ts')).queuesOf(connection),
  deadLetters: async (connection) => (await import('./queues.ts')).deadLettersOf(connection),
  subscriptions: async (connection) => (await import('./events.ts')).subscriptionsOf(connection),
  identity: async (connection) => (await import('./identity.ts')).identityOf(connection),
  alarms: async (connection) => (await import('./alarms.ts')).alarmsOf(connection),
  types: async (connection) => (await import('./types.ts')).typesOf(connection),
  why: async (connection) => (await import('./why.ts')).whyOf(connection),
} satisfies { [Name in keyof Client]?: (connection: GatewayConnection) => Promise<Client[Name]> };

/** The name of a part, as in `Client`. */
export type PartName = keyof typeof parts;

/**
 * Logs in, as `connect` does, and returns only these parts.
 * @throws AnnealError Unauthorized, or Unavailable when no gateway answers.
 */
export async function connectTo<Name extends PartName>(
  login: Login,
  names: readonly Name[],
  options: { signal?: AbortSignal } = {},
): Promise<Pick<Client, Name>> {
  // Load while the login is on its way.
  const opening = openConnection(login, { ...options, send: plainHttp });
  const loading = Promise.all(names.map(async (name) => [name, await parts[name](await opening)] as const));
  return Object.fromEntries(await loading) as Pick<Client, Name>;
}
