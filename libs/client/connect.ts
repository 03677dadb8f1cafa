/** The client: all of the gateway's APIs behind one login. */
import { ownFetch } from './own-fetch.ts';
import { foundObjectsSchema, type FoundObjects, type ObjectKind } from '@anneal/contracts/calls/found-objects.ts';
import { overviewSchema, type Overview } from '@anneal/contracts/calls/overview.ts';
import { actionsOf, type Actions } from './actions.ts';
import { alarmsOf, type AlarmCalls } from './alarms.ts';
import { credentialsOf, type CredentialCalls } from './credentials.ts';
import { contextsOf, type ContextCalls } from './contexts.ts';
import { openConnection, gatewayRoot, type GatewayConnection, type Login } from './connection.ts';
import { eventsOf, subscriptionsOf, type Events, type SubscriptionCalls } from './events.ts';
import { failureOf } from './failure.ts';
import { groupsOf, type GroupCalls } from './groups.ts';
import { deploymentsOf, hostsOf, type Deployments, type HostCalls } from './hosts.ts';
import { identityOf, type IdentityCalls } from './identity.ts';
import { imagesOf, type ImageCalls } from './images.ts';
import { inspectionRulesOf, type InspectionRuleCalls } from './inspection-rules.ts';
import { metricsOf, type MetricCalls } from './metrics.ts';
import { nodesOf, type NodeCalls } from './nodes.ts';
import { deadLettersOf, queuesOf, type DeadLetterCalls, type QueueCalls } from './queues.ts';
import { reach, type WaitReports } from './reach.ts';
import { read, readList } from './read.ts';
import { infoSchema, serviceRowSchema, type Info, type ServiceRow } from './representation.ts';
import { stacksOf, type Stacks } from './stacks.ts';
import { whyOf, type WhyCalls } from './why.ts';
import { typesOf, type TypeCalls } from './types.ts';
import { templatesOf, type TemplateCalls } from './templates.ts';
import {
  cronTriggersOf,
  executionsOf,
  workflowsOf,
  type CronTriggerCalls,
  type ExecutionCalls,
  type WorkflowCalls,
} from './workflows.ts';

/** All calls of the gateway with one login. Calls may overlap; the token is renewed once for all of them. */
export interface Client {
  readonly connection: GatewayConnection;
  readonly stacks: Stacks;
  readonly actions: Actions;
  readonly templates: TemplateCalls;
  readonly groups: GroupCalls;
  readonly nodes: NodeCalls;
  readonly inspectionRules: InspectionRuleCalls;
  readonly images: ImageCalls;
  readonly hosts: HostCalls;
  readonly deployments: Deployments;
  readonly contexts: ContextCalls;
  readonly queues: QueueCalls;
  readonly deadLetters: DeadLetterCalls;
  readonly events: Events;
  readonly subscriptions: SubscriptionCalls;
  readonly metrics: MetricCalls;
  readonly workflows: WorkflowCalls;
  readonly cronTriggers: CronTriggerCalls;
  readonly executions: ExecutionCalls;
  readonly alarms: AlarmCalls;
  readonly credentials: CredentialCalls;
  readonly types: TypeCalls;
  readonly identity: IdentityCalls;
  readonly why: WhyCalls;
  services(): Promise<ServiceRow[]>;
  /** Reads what works, what failed, and what needs a person. */
  overview(parameters?: { signal?: AbortSignal }): Promise<Overview>;
  /** Finds objects of every kind, or of one, by words of their names. `limit` is that of each kind, default 20. */
  objects(parameters: {
    find: string;
    kind?: ObjectKind | undefined;
    limit?: number | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<FoundObjects>;
}

/** @throws AnnealError Unauthorized, or Unavailable when no gateway answers. */
export async function connect(
  login: Login,
  options: { signal?: AbortSignal; reports?: WaitReports } = {},
): Promise<Client> {
  const connection = await openConnection(login, options);
  const stacks = stacksOf(connection);
  return {
    connection,
    stacks,
    actions: actionsOf(connection, stacks),
    templates: templatesOf(connection),
    groups: groupsOf(connection, stacks),
    nodes: nodesOf(connection),
    inspectionRules: inspectionRulesOf(connection),
    images: imagesOf(connection),
    hosts: hostsOf(connection),
    deployments: deploymentsOf(connection),
    contexts: contextsOf(connection),
    queues: queuesOf(connection),
    deadLetters: deadLettersOf(connection),
    events: eventsOf(connection),
    subscriptions: subscriptionsOf(connection),
    metrics: metricsOf(connection),
    workflows: workflowsOf(connection),
    cronTriggers: cronTriggersOf(connection),
    executions: executionsOf(connection),
    alarms: alarmsOf(connection),
    credentials: credentialsOf(connection),
    types: typesOf(connection),
    identity: identityOf(connection),
    why: whyOf(connection),
    async services() {
      const what = 'list the services';
      const body = await connection.json({ service: 'api', path: '/services', what });
      return readList({ services: serviceRowSchema }, body, what);
    },
    async overview({ signal } = {}) {
      const what = 'read the overview';
      return read(overviewSchema, await connection.json({ service: 'api', path: '/overview', what, signal }), what);
    },
    async objects({ signal, ...query }) {
      const what = 'find objects';
      const body = await connection.json({ service: 'api', path: '/objects', query, what, signal });
      return read(foundObjectsSchema, body, what);
    },
  };
}

/** Describes the server at an address; needs no login. @throws AnnealError Unavailable when no server answers. */
export async function info(parameters: { url: string; signal?: AbortSignal }): Promise<Info> {
  const root = gatewayRoot(parameters.url);
  const what = `read the version of ${root}`;
  const asked = { what, root, url: new URL(`${root}/api/v1/info`) };
  const response = await reach(ownFetch, asked, parameters.signal ? { signal: parameters.signal } : {});
  if (!response.ok) throw await failureOf(response, what);
  return read(infoSchema, await response.json(), what);
}
