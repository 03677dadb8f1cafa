/** The client: all of the gateway's APIs behind one login. */
import { actionsOf, type Actions } from './actions.ts';
import { alarmsOf, type AlarmCalls } from './alarms.ts';
import { credentialsOf, type CredentialCalls } from './credentials.ts';
import { contextsOf, type ContextCalls } from './contexts.ts';
import { openConnection, gatewayRoot, type GatewayConnection, type Login } from './connection.ts';
import { eventsOf, subscriptionsOf, type Events, type SubscriptionCalls } from './events.ts';
import { failureOf } from './failure.ts';
import { groupsOf, type GroupCalls } from './groups.ts';
import { deploymentsOf, hostsOf, type Deployments, type HostCalls } from './hosts.ts';
import { metricsOf, type MetricCalls } from './metrics.ts';
import { nodesOf, type NodeCalls } from './nodes.ts';
import { deadLettersOf, queuesOf, type DeadLetterCalls, type QueueCalls } from './queues.ts';
import { read, readList } from './read.ts';
import { infoSchema, serviceRowSchema, type Info, type ServiceRow } from './representation.ts';
import { stacksOf, type Stacks } from './stacks.ts';
import { executionsOf, workflowsOf, type ExecutionCalls, type WorkflowCalls } from './workflows.ts';

/** All calls of the gateway with one login. Calls may overlap; the token is renewed once for all of them. */
export interface Client {
  readonly connection: GatewayConnection;
  readonly stacks: Stacks;
  readonly actions: Actions;
  readonly groups: GroupCalls;
  readonly nodes: NodeCalls;
  readonly hosts: HostCalls;
  readonly deployments: Deployments;
  readonly contexts: ContextCalls;
  readonly queues: QueueCalls;
  readonly deadLetters: DeadLetterCalls;
  readonly events: Events;
  readonly subscriptions: SubscriptionCalls;
  readonly metrics: MetricCalls;
  readonly workflows: WorkflowCalls;
  readonly executions: ExecutionCalls;
  readonly alarms: AlarmCalls;
  readonly credentials: CredentialCalls;
  services(): Promise<ServiceRow[]>;
}

/** @throws AnnealError Unauthorized, or Unavailable when no gateway answers. */
export async function connect(login: Login, options: { signal?: AbortSignal } = {}): Promise<Client> {
  const connection = await openConnection(login, options);
  const stacks = stacksOf(connection);
  return {
    connection,
    stacks,
    actions: actionsOf(connection, stacks),
    groups: groupsOf(connection, stacks),
    nodes: nodesOf(connection),
    hosts: hostsOf(connection),
    deployments: deploymentsOf(connection),
    contexts: contextsOf(connection),
    queues: queuesOf(connection),
    deadLetters: deadLettersOf(connection),
    events: eventsOf(connection),
    subscriptions: subscriptionsOf(connection),
    metrics: metricsOf(connection),
    workflows: workflowsOf(connection),
    executions: executionsOf(connection),
    alarms: alarmsOf(connection),
    credentials: credentialsOf(connection),
    async services() {
      const what = 'list the services';
      const body = await connection.json({ service: 'api', path: '/services', what });
      return readList({ services: serviceRowSchema }, body, what);
    },
  };
}

/** Describes the server at an address; needs no login. */
export async function info(parameters: { url: string; signal?: AbortSignal }): Promise<Info> {
  const root = gatewayRoot(parameters.url);
  const what = `read the version of ${root}`;
  const response = await fetch(`${root}/api/v1/info`, parameters.signal ? { signal: parameters.signal } : {});
  if (!response.ok) throw await failureOf(response, what);
  return read(infoSchema, await response.json(), what);
}
