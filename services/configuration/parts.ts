/** Opens what the service works with: its collections, queues, timers and contexts, wired to each other. */
import type { HostDoor } from '@anneal/bus/hosts/door.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { queueFilled } from '@anneal/contracts/events.ts';
import { ProjectQuotas } from '@anneal/runtime/service/project-quotas.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import { Serial } from '@anneal/runtime/work/serial.ts';
import { SharedOutbox } from '@anneal/runtime/work/shared-outbox.ts';
import { createTimers, type Timers } from '@anneal/store/timers.ts';
import { HostBridge } from './broker/bridge.ts';
import { openBrokerOfHosts } from './broker/open.ts';
import { openConfigurationCollections, type ConfigurationCollections } from './collections.ts';
import { openOutputs, type StoredOutputContext } from './contents/stored-output.ts';
import { Contexts } from './contexts/contexts.ts';
import { openContexts, type ContextCollections } from './contexts/document.ts';
import type { HostMessageContext } from './deployments/runs/run-context.ts';
import { Acceptances } from './deployments/runs/acceptances.ts';
import { fire } from './deployments/due.ts';
import { limitFirst } from './deployments/requests/hand-out.ts';
import type { SetAsideContext } from './deployments/requests/set-aside.ts';
import { Contacts } from './hosts/contacts.ts';
import type { ProviderContext } from './provider.ts';
import { aliasesOf, isHostQueue, type HostQueue } from './hosts/queues.ts';
import type { MessageQueue } from './queues/message-queue.ts';
import type { QueueContext } from './queues/queue.ts';
import { createPuts } from './queues/waiting-puts.ts';
import { configurationSettings } from './settings.ts';

/** How late the written contact of a waiting host may be: its gateway's report, the time that it covers, and the write. */
const latestReportMs = 45_000;
/** Most agents report the start of a config that runs longer than a second. */
const acceptedAfterMs = 1_000;
/** Each costs some hundred bytes of memory. */
const queuesKept = 20_000;

/** The parts that every function of the service may use. */
export type ConfigurationContext = HostMessageContext & ProviderContext & SetAsideContext & StoredOutputContext;

/** The context, and the parts that live as long as the service. */
export interface ConfigurationParts {
  readonly context: ConfigurationContext;
  readonly contexts: Contexts;
  readonly stored: ContextCollections;
  readonly quotas: ProjectQuotas<'hosts' | 'queues'>;
  readonly acceptances: Acceptances;
  readonly bridge: HostBridge;
  readonly timers: Timers;
}

type Values = SettingsOf<typeof configurationSettings>;

/** Opens all parts. The timers fire from now on. @throws AnnealError for wrong settings of the broker for hosts */
export async function openConfigurationParts(service: ServiceContext, settings: Values): Promise<ConfigurationParts> {
  const [collections, stored, outputs] = await Promise.all([
    openConfigurationCollections(service.store),
    openContexts(service.store),
    openOutputs(service.store),
  ]);
  const quotas = await ProjectQuotas.open(service.store, 'configuration', {
    hosts: { most: settings.projectHosts, setting: configurationSettings.projectHosts.env },
    queues: { most: settings.projectQueues, setting: configurationSettings.projectQueues.env },
  });
  let timers: Timers | undefined;
  let door: HostDoor | undefined;
  const queues = queuesOf(service, settings, {
    collections,
    admitQueue: quotas.admissionsTo('queues'),
    offer: (queue) => bridge.offer(queue),
    onFirst: (queue, message) => limitFirst(context, queue, message),
  });
  const acceptances = new Acceptances({
    context: () => context,
    afterMs: acceptedAfterMs,
    onError: (error) =>
      service.log.warn({ err: error }, 'taken requests not recorded; recorded with their start or end'),
  });
  const context: ConfigurationContext = {
    service,
    outbox: new SharedOutbox({ service, collection: collections.resources, emptyAfterMs: 1_000 }),
    contacts: contactsOf(service, settings, collections),
    acceptances,
    collections,
    queues,
    timers: () => {
      if (!timers) throw new AnnealError('Unavailable', 'The configuration service is not ready yet.');
      return timers;
    },
    door: () => door,
    ...limitsOf(settings),
    startedAt: queues.now(),
    gatewayUrl: service.gatewayUrl,
    outputs,
    processId: service.newId(),
    quotas,
    wakeContext: (id) => contexts.wake(id),
  };
  const bridge = new HostBridge({
    context,
    door: context.door,
    sizeSetting: configurationSettings.postBytes.env,
  });
  door = await openBrokerOfHosts(context, { settings, bridge });
  const contexts = new Contexts({
    context,
    stored,
    settleMs: settings.contextSettle * 1000,
    deletedMs: settings.contextDeleted * 1000,
  });
  timers = await createTimers({
    store: service.store,
    collection: 'configuration_timers',
    permission: service.bus.permission,
    now: queues.now,
    fire: (timer) => (contexts.owns(timer) ? contexts.fire(timer) : fire(context, timer)),
    onError: (error, timer) => service.log.error({ err: error, timer: timer.id }, 'timer failed; retrying'),
  });
  return { context, contexts, stored, quotas, acceptances, bridge, timers };
}

const limitsOf = (settings: Values) => ({
  silentAfterMs: settings.silentAfter * 1000,
  joinMs: settings.joinSeconds * 1000,
  responseKeepSeconds: settings.responseKeep,
  outputBytes: settings.outputBytes,
  outputKeepMs: settings.outputKeep * 1000,
  runKeepMs: settings.runKeep * 1000,
  deploymentTimeoutMs: settings.deploymentTimeout * 1000,
  queueTimeoutMs: settings.queueTimeout * 1000,
  popLeaseSeconds: settings.popLease,
});

const contactsOf = (
  service: ServiceContext,
  settings: Values,
  { hosts }: Pick<ConfigurationCollections, 'hosts'>,
): Contacts =>
  new Contacts({
    hosts,
    refreshAfterMs: Math.max(0, settings.silentAfter * 1000 - latestReportMs),
    onError: (error) => service.log.warn({ err: error }, 'contacts of hosts not written; waiting for their next ones'),
  });

const queuesOf = (
  service: ServiceContext,
  settings: Values,
  parts: Pick<QueueContext, 'collections' | 'onFirst'> &
    Pick<QueueContext['limits'], 'admitQueue'> & { offer: (queue: HostQueue) => void },
): QueueContext => ({
  collections: parts.collections,
  secrets: service.secrets,
  serial: new Serial(),
  puts: createPuts(),
  cachedQueues: new Recent(queuesKept),
  now: () => service.now().getTime(),
  wake: async (...woken) => {
    for (const queue of woken) if (isHostQueue(queue)) parts.offer(queue);
    await wakeClients(service, woken);
  },
  onFirst: parts.onFirst,
  limits: {
    admitQueue: parts.admitQueue,
    messages: { most: settings.queueMessages, setting: configurationSettings.queueMessages.env },
    post: { most: settings.postBytes, setting: configurationSettings.postBytes.env },
    deadLetterSeconds: { most: settings.deadLetterSeconds, setting: configurationSettings.deadLetterSeconds.env },
    bytes: { most: settings.queueBytes, setting: configurationSettings.queueBytes.env },
  },
});

/** Wakes the HTTP clients that wait at queues, under each name that the queue of a host has. */
function wakeClients(service: ServiceContext, queues: readonly MessageQueue[]): Promise<void> {
  const filled = queues.map((queue) => {
    const { project, name } = queue;
    const data = { project, queue: name, ...(isHostQueue(queue) && { aliases: aliasesOf(queue) }) };
    return service.mint(queueFilled, { subject: name, project, data });
  });
  return service.bus.publish(filled);
}
