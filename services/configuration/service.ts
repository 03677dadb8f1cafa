/** The configuration service: hosts, their queues, and the deployments on hosts. */
import { setImmediate } from 'node:timers/promises';
import type { HostDoor } from '@anneal/bus/hosts/door.ts';
import { answer, on, route } from '@anneal/bus/consume/route.ts';
import {
  contextList,
  contextShow,
  hostAuthenticate,
  hostBrokerGrant,
  hostBrokerRevoke,
  hostCollect,
  hostCreate,
  hostDelete,
  hostJoin,
  hostJoinExchange,
  hostKeys,
  hostList,
  hostOverview,
  hostMessageRefused,
  hostsPresent,
  hostRemove,
  hostShow,
  hostTokenRenew,
} from '@anneal/contracts/calls/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { hostEvent, queueFilled } from '@anneal/contracts/events.ts';
import type { Occasion } from '@anneal/contracts/origin.ts';
import {
  hostRequestsQueue,
  hostResponsesQueue,
  queuesOfService,
  resourcesQueue,
  responsesQueue,
} from '@anneal/contracts/queues.ts';
import { configurationTypes } from '@anneal/hot/types/configuration.ts';
import { contextType } from '@anneal/hot/types/context.ts';
import { announceTypes, providerRoutes } from '@anneal/provider/routes.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { sealText } from '@anneal/runtime/secrets/secrets.ts';
import { Recent } from '@anneal/runtime/work/recent.ts';
import { Serial } from '@anneal/runtime/work/serial.ts';
import { ProjectQuotas } from '@anneal/runtime/service/project-quotas.ts';
import { defineService, type ServiceContext } from '@anneal/runtime/service/service.ts';
import { createTimers, type Timers } from '@anneal/store/timers.ts';
import { HostBridge } from './broker/bridge.ts';
import { grantBroker, revokeBroker } from './hosts/grant.ts';
import { openBrokerOfHosts } from './broker/open.ts';
import { serveHostCounts } from './counts.ts';
import { openConfigurationCollections, type HostDocument } from './collections.ts';
import { checkOwnServer, collectMetadata, sealedSettings } from './collectors/collect.ts';
import { Contexts } from './contexts/contexts.ts';
import { openContexts, type ContextCollections } from './contexts/document.ts';
import { listContexts, showContext } from './contexts/view.ts';
import { deliverWaiting } from './deployments/answers/waiting.ts';
import { deploymentRoutes } from './deployment-calls.ts';
import { Acceptances } from './deployments/runs/acceptances.ts';
import { fire } from './deployments/runs/due.ts';
import {
  authenticateHost,
  createHost,
  deleteHost,
  findSilent,
  forgetHost,
  hearOf,
  hearOfPresent,
  livingHost,
  noteServer,
  openHostToken,
  renewToken,
  viewHost,
} from './hosts/host.ts';
import { noteEarlierSuspensions } from './hosts/earlier-suspensions.ts';
import { countedHosts, countHosts, findSilentHosts, suspensionRoutes, suspensionTypes } from './hosts/silence.ts';
import { exchangeJoinToken, issueJoinToken, refuseStackHost, returnHost, takeHost } from './hosts/join.ts';
import { Contacts } from './hosts/contacts.ts';
import { pageOfHosts } from './hosts/page.ts';
import { compileSelection } from './hosts/select.ts';
import { failNamed, handleRefused, type HostMessageContext } from './deployments/answers/message.ts';
import { handleCancel } from './cancel.ts';
import { handleRequest, type ProviderContext } from './provider.ts';
import type { QueueContext } from './queues/queue.ts';
import { createPuts } from './queues/waiting-puts.ts';
import { queueCallRoutes } from './queue-calls.ts';
import { limitFirst } from './deployments/runs/hand-out.ts';
import { findHost, type ResolvedQueue } from './queues/names.ts';
import { hostsWithRequests } from './queues/forgotten.ts';
import { keepSending } from '@anneal/runtime/work/outbox.ts';
import { sweepEvery } from '@anneal/runtime/work/sweeps.ts';
import { SharedOutbox } from '@anneal/runtime/work/shared-outbox.ts';
import { openOutputs, type StoredOutputContext } from './contents/stored-output.ts';
import { recover } from './recover.ts';
import { abandonRuns } from './deployments/runs/run.ts';
import type { SetAsideContext } from './deployments/runs/set-aside.ts';
import { configurationSettings } from './settings.ts';
import { handleSignal } from './deployments/answers/signal.ts';

/** How late the written contact of a waiting host may be: its gateway's report, the time that it covers, and the write. */
const latestReportMs = 45_000;
const findSilentEveryMs = 1_000;
/** Most agents report the start of a config that runs longer than a second. */
const acceptedAfterMs = 1_000;
/** Each costs some hundred bytes of memory. */
const hostQueuesKept = 20_000;

type Context = HostMessageContext & ProviderContext & SetAsideContext & StoredOutputContext;

export const configurationService = defineService({
  name: 'configuration',
  settings: configurationSettings,
  async start(service, settings) {
    const [collections, stored, outputs] = await Promise.all([
      openConfigurationCollections(service.store),
      openContexts(service.store),
      openOutputs(service.store),
    ]);
    const quotas = await ProjectQuotas.open(service.store, 'configuration', {
      hosts: { most: settings.projectHosts, setting: configurationSettings.projectHosts.env },
      queues: { most: settings.projectQueues, setting: configurationSettings.projectQueues.env },
    });
    const queues: QueueContext = {
      collections,
      secrets: service.secrets,
      serial: new Serial(),
      puts: createPuts(),
      hostQueues: new Recent(hostQueuesKept),
      now: () => service.now().getTime(),
      wake: async (...woken) => {
        for (const queue of woken) bridge.offer(queue);
        await wake(service, woken);
      },
      onFirst: (queue, message) => limitFirst(context, queue, message),
      limits: {
        admitQueue: quotas.admissionsTo('queues'),
        messages: { most: settings.queueMessages, setting: configurationSettings.queueMessages.env },
        post: { most: settings.postBytes, setting: configurationSettings.postBytes.env },
        deadLetterSeconds: {
          most: settings.deadLetterSeconds,
          setting: configurationSettings.deadLetterSeconds.env,
        },
        bytes: { most: settings.queueBytes, setting: configurationSettings.queueBytes.env },
      },
    };
    let timers: Timers | undefined;
    const outbox = new SharedOutbox({ service, collection: collections.resources, emptyAfterMs: 1_000 });
    const contacts = new Contacts({
      hosts: collections.hosts,
      refreshAfterMs: Math.max(0, settings.silentAfter * 1000 - latestReportMs),
      onError: (error) =>
        service.log.warn({ err: error }, 'contacts of hosts not written; waiting for their next ones'),
    });
    const acceptances = new Acceptances({
      context: () => context,
      afterMs: acceptedAfterMs,
      onError: (error) =>
        service.log.warn({ err: error }, 'taken requests not recorded; recorded with their start or end'),
    });
    let door: HostDoor | undefined;
    const context: Context = {
      service,
      outbox,
      contacts,
      acceptances,
      collections,
      queues,
      timers: () => {
        if (!timers) throw new AnnealError('Unavailable', 'The configuration service is not ready yet.');
        return timers;
      },
      door: () => door,
      silentAfterMs: settings.silentAfter * 1000,
      startedAt: queues.now(),
      joinMs: settings.joinSeconds * 1000,
      responseKeepSeconds: settings.responseKeep,
      gatewayUrl: service.gatewayUrl,
      outputs,
      outputBytes: settings.outputBytes,
      outputKeepMs: settings.outputKeep * 1000,
      runKeepMs: settings.runKeep * 1000,
      deploymentTimeoutMs: settings.deploymentTimeout * 1000,
      queueTimeoutMs: settings.queueTimeout * 1000,
      processId: service.newId(),
      popLeaseSeconds: settings.popLease,
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
      now: queues.now,
      fire: (timer) => (contexts.owns(timer) ? contexts.fire(timer) : fire(context, timer)),
      onError: (error, timer) => service.log.error({ err: error, timer: timer.id }, 'timer failed; retrying'),
    });
    const running = timers;
    await recover(context);
    await contexts.recover();
    const hostChanges = [hostEvent.up, hostEvent.silent, hostEvent.factsChanged, hostEvent.deleted];
    const listener = await service.bus.subscribe(
      [...hostChanges.map(({ type }) => type), ...suspensionTypes],
      route([
        ...hostChanges.map((change) =>
          on(change, ({ data }) => contexts.hostChanged(data.host_id, change === hostEvent.deleted)),
        ),
        ...suspensionRoutes(() => context),
      ]),
      { group: 'configuration' },
    );
    const own = responsesQueue('configuration');
    const refused = await service.bus.consume(
      own,
      route([on(hostMessageRefused, ({ data }) => handleRefused(context, data))]),
      { onDeath: (death) => failNamed(context, death) },
    );
    const handler = route([
      ...providerRoutes({
        take: (action, message) =>
          message.data.resource.type === contextType.type
            ? contexts.take(action, message)
            : handleRequest(context, action, message),
        cancel: (message) => handleCancel(context, message),
        signal: (message) =>
          message.data.resource.type === contextType.type ? contexts.follow(message) : handleSignal(context, message),
      }),
      ...hostRoutes(context),
      ...queueCallRoutes(context),
      ...deploymentRoutes(context),
      ...contextRoutes(context, stored),
      ...quotas.routes(service, {
        hosts: (project) => collections.hosts.count({ project }),
        queues: (project) => collections.queues.count({ host_id: null, project }),
      }),
    ]);
    // An earlier version announced the queue of the questions, where requests may still wait.
    const consumers = await Promise.all(
      queuesOfService('configuration').map((queue) =>
        service.bus.consume(queue, handler, { concurrency: settings.concurrency }),
      ),
    );
    await announceTypes(service, {
      provider: 'anneal.configuration',
      queue: resourcesQueue('configuration'),
      types: configurationTypes,
    });
    outbox.keepSending();
    const stopCounts = serveHostCounts(service, collections);
    const searching = sweepEvery(findSilentEveryMs, {
      sweep: () => findSilent(context),
      onError: (error) => service.log.warn({ err: error }, 'silent hosts not searched; searching again in 1 s'),
    });
    const asking = noteEarlierSuspensions(context);
    const sending = [
      keepSending({ service, collection: collections.hosts }),
      keepSending({ service, collection: stored.contexts }),
    ];
    return {
      async stop() {
        stopCounts();
        await Promise.all([refused, listener, ...consumers, ...sending].map((each) => each.stop()));
        await Promise.all([searching.stop(), asking.stop()]);
        await door?.close();
        await bridge.idle();
        await running.stop();
        await contexts.stop();
        await acceptances.stop();
        await Promise.all([outbox.stop(), contacts.stop()]);
      },
    };
  },
});

/** Wakes the HTTP clients that wait at queues, under each name that the queue of a host has. */
function wake(service: ServiceContext, queues: readonly ResolvedQueue[]): Promise<void> {
  const filled = queues.map(({ project, name: queue, host, role }) => {
    const aliases = host && role ? [`${host.name}.${role}`, ...(role === 'requests' ? [host.name, host.id] : [])] : [];
    const data = { project, queue, ...(aliases.length > 0 && { aliases }) };
    return service.mint(queueFilled, { subject: queue, project, data });
  });
  return service.bus.publish(filled);
}

function hostRoutes(context: Context) {
  const { service, collections } = context;
  /** @throws AnnealError NotFound */
  const existing = async (question: { project?: string | undefined; host: string }) => {
    const host = await findHost(collections, question);
    if (host) return host;
    throw new AnnealError('NotFound', `There is no host ${question.host}.`);
  };
  const remove = async (id: string, occasion?: Occasion): Promise<void> => {
    const host = await deleteHost(context, id);
    if (!host) return;
    await abandonRuns(context, host);
    await forgetHost(context, host, occasion);
  };
  return [
    answer(service, hostCreate, async ({ data }) => {
      const taken = data.take_joined === true || data.take !== undefined ? await takeHost(context, data) : undefined;
      const { host, token } = taken
        ? { host: taken, token: openHostToken(context, taken) }
        : await createHost(context, data);
      const noted = data.collector || data.place ? await noteServer(context, host, data) : host;
      await deliverWaiting(context, noted);
      return { host: await viewHost(context, noted), token, os_collect_config: sealedSettings(context, noted) };
    }),
    answer(service, hostKeys, async ({ data }) => {
      const host = await livingHost(context, data.host_id);
      return { project: host.project, token: sealText(service.secrets, openHostToken(context, host)) };
    }),
    answer(service, hostCollect, async ({ id, data }) => {
      const host = await livingHost(context, data.host_id);
      if (data.as) checkOwnServer(host, data.as);
      await hearOf(context, host);
      const metadata = await collectMetadata(context, host, derivedId(`collect:${id}`, 'a'));
      return { metadata, collector: host.collector ?? null, project: host.project };
    }),
    answer(service, hostTokenRenew, async ({ data }) => {
      const { host, token } = await renewToken(context, await existing(data));
      return { host: await viewHost(context, host), token };
    }),
    answer(service, hostBrokerGrant, async ({ data }) => {
      const { host, access } = await grantBroker(context, await existing(data));
      return { host: await viewHost(context, host), access };
    }),
    answer(service, hostBrokerRevoke, async ({ data }) => ({
      host: await viewHost(context, await revokeBroker(context, await existing(data))),
    })),
    answer(service, hostDelete, async ({ data }) => {
      const returned = await returnHost(context, data.id);
      if (returned) await abandonRuns(context, returned);
      else await remove(data.id, data.occasion);
      return {};
    }),
    answer(service, hostRemove, async ({ data }) => {
      const host = await existing(data);
      refuseStackHost(host);
      await remove(host.id);
      return {};
    }),
    answer(service, hostJoin, async ({ data }) => {
      const { host, ...issued } = await issueJoinToken(context, data);
      await deliverWaiting(context, host);
      return { host: await viewHost(context, host), ...issued };
    }),
    answer(service, hostJoinExchange, async ({ data }) => {
      const { host, token } = await exchangeJoinToken(context, data);
      return { ...accessOf(host), token };
    }),
    answer(service, hostList, async ({ data }) => {
      if (data.page) {
        const { documents, ...counts } = await pageOfHosts(collections.hosts, data, data.page);
        return { hosts: await Promise.all(documents.map((host) => viewHost(context, host))), ...counts };
      }
      const hosts = await collections.hosts.find(
        data.project === undefined
          ? { where: { status: { in: ['expected', 'up', 'silent', 'deleting'] } } }
          : { where: { project: data.project }, orderBy: ['name', 'created_at'] },
      );
      const isWanted = data.where === undefined ? () => true : compileSelection(data.where);
      const wanted = [];
      for (const [index, host] of hosts.entries()) {
        if (isWanted(host)) wanted.push(host);
        // Let other work run, because a project may have 100,000 hosts.
        if (data.where !== undefined && index % 100 === 99) await setImmediate();
      }
      return { hosts: await Promise.all(wanted.map((host) => viewHost(context, host))) };
    }),
    answer(service, hostOverview, async ({ data: { project, ...which } }) => {
      const counted = await Promise.all(
        countedHosts.map(async (group) => [group, await countHosts(collections.hosts, group, { project })] as const),
      );
      const silent = await findSilentHosts(collections.hosts, { project, ...which });
      return {
        counts: Object.fromEntries(counted.filter(([, count]) => count > 0)),
        silent: await Promise.all(silent.map((host) => viewHost(context, host))),
      };
    }),
    answer(service, hostShow, async ({ data }) => viewHost(context, await existing(data))),
    answer(service, hostsPresent, async ({ data, time }) => {
      context.contacts.noteDelay(time, service.now().getTime());
      await hearOfPresent(context, data.host_ids, new Date(service.now().getTime() - data.within_ms));
      if (data.look_in === undefined) return {};
      return { waiting: await hostsWithRequests(context.queues, { project: data.look_in, ids: data.host_ids }) };
    }),
    answer(service, hostAuthenticate, async ({ data }) => {
      const host = await authenticateHost(context, data.token);
      return accessOf(host);
    }),
  ];
}

const contextRoutes = ({ service }: Context, stored: ContextCollections) => [
  answer(service, contextList, async ({ data }) => ({ contexts: await listContexts(stored, data) })),
  answer(service, contextShow, ({ data }) => showContext(stored, data)),
];

const accessOf = ({ id, name, project }: HostDocument) => ({
  host_id: id,
  name,
  project,
  requests_queue: hostRequestsQueue(id),
  responses_queue: hostResponsesQueue(id),
});
