/** Parts of the client, each loaded on demand: a program that needs one part starts sooner than with `connect`. */
import type { Client } from './connect.ts';
import { openConnection, type GatewayConnection, type Login } from './connection.ts';
import { plainHttp } from './plain-http.ts';
import type { WaitReports } from './reach.ts';

const parts = {
  /** For calls whose answers the caller reads itself. */
  connection: async (connection) => connection,
  stacks: async (connection) => (await import('./stacks.ts')).stacksOf(connection),
  nodes: async (connection) => (await import('./nodes.ts')).nodesOf(connection),
  inspectionRules: async (connection) => (await import('./inspection-rules.ts')).inspectionRulesOf(connection),
  hosts: async (connection) => (await import('./hosts.ts')).hostsOf(connection),
  deployments: async (connection) => (await import('./hosts.ts')).deploymentsOf(connection),
  contexts: async (connection) => (await import('./contexts.ts')).contextsOf(connection),
  actions: async (connection) => {
    const [{ actionsOf }, { stacksOf }] = await Promise.all([import('./actions.ts'), import('./stacks.ts')]);
    return actionsOf(connection, stacksOf(connection));
  },
  groups: async (connection) => {
    const [{ groupsOf }, { stacksOf }] = await Promise.all([import('./groups.ts'), import('./stacks.ts')]);
    return groupsOf(connection, stacksOf(connection));
  },
  templates: async (connection) => (await import('./templates.ts')).templatesOf(connection),
  images: async (connection) => (await import('./images.ts')).imagesOf(connection),
  metrics: async (connection) => (await import('./metrics.ts')).metricsOf(connection),
  credentials: async (connection) => (await import('./credentials.ts')).credentialsOf(connection),
  workflows: async (connection) => (await import('./workflows.ts')).workflowsOf(connection),
  cronTriggers: async (connection) => (await import('./workflows.ts')).cronTriggersOf(connection),
  executions: async (connection) => (await import('./workflows.ts')).executionsOf(connection),
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
  options: { signal?: AbortSignal; reports?: WaitReports } = {},
): Promise<Pick<Client, Name>> {
  // Load while the login is on its way.
  const opening = openConnection(login, { ...options, send: plainHttp });
  const loading = Promise.all(names.map(async (name) => [name, await parts[name](await opening)] as const));
  return Object.fromEntries(await loading) as Pick<Client, Name>;
}
