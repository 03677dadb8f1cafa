/** The configuration service: hosts, their queues, and the deployments on hosts. */
import { on, routeMessages } from '@anneal/bus/consume/route.ts';
import type { Consumer } from '@anneal/bus/port.ts';
import { hostMessageRefused } from '@anneal/contracts/calls/host-messages.ts';
import { hostEvent } from '@anneal/contracts/events.ts';
import { queuesOfService, resourcesQueue, responsesQueue } from '@anneal/contracts/queues.ts';
import { configurationTypes } from '@anneal/hot/types/configuration.ts';
import { contextType } from '@anneal/hot/types/context.ts';
import { announceTypes, providerRoutes } from '@anneal/provider/routes.ts';
import { defineService } from '@anneal/runtime/service/service.ts';
import { keepSending } from '@anneal/runtime/work/outbox.ts';
import { sweepEvery } from '@anneal/runtime/work/sweeps.ts';
import { handleCancel, handleWithdrawal } from './cancel.ts';
import { serveHostCounts } from './counts.ts';
import { deploymentRoutes } from './deployment-calls.ts';
import { failNamed, handleRefused } from './deployments/answers/refused.ts';
import { handleSignal } from './deployments/answers/signal.ts';
import { contextRoutes, hostRoutes } from './host-calls.ts';
import { noteEarlierSuspensions } from './hosts/earlier-suspensions.ts';
import { findSilent } from './hosts/host.ts';
import { suspensionRoutes, suspensionTypes } from './hosts/silence.ts';
import { openConfigurationParts, type ConfigurationParts } from './parts.ts';
import { handleRequest } from './provider.ts';
import { queueCallRoutes } from './queue-calls.ts';
import { recover } from './recover.ts';
import { configurationSettings } from './settings.ts';

const findSilentEveryMs = 1_000;

export const configurationService = defineService({
  name: 'configuration',
  settings: configurationSettings,
  async start(service, settings) {
    const parts = await openConfigurationParts(service, settings);
    const { context, contexts, stored, acceptances, bridge, timers } = parts;
    const { collections, outbox } = context;
    await recover(context);
    await contexts.recover();
    const listener = await listen(parts);
    const refused = await service.bus.consume(
      responsesQueue('configuration'),
      routeMessages([on(hostMessageRefused, ({ data }) => handleRefused(context, data))]),
      { onDeath: (death) => failNamed(context, death) },
    );
    // An earlier version announced the queue of the questions, where requests may still wait.
    const routes = routeMessages(routesOf(parts));
    const consumers = await Promise.all(
      queuesOfService('configuration').map((queue) =>
        service.bus.consume(queue, routes, { concurrency: settings.concurrency }),
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
      permission: service.bus.permission,
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
        await context.door()?.close();
        await bridge.idle();
        await timers.stop();
        await contexts.stop();
        await acceptances.stop();
        await Promise.all([outbox.stop(), context.contacts.stop()]);
      },
    };
  },
});

/** Follows the events that change contexts, and the suspensions of servers. */
function listen({ context, contexts }: ConfigurationParts): Promise<Consumer> {
  const hostChanges = [hostEvent.up, hostEvent.silent, hostEvent.factsChanged, hostEvent.deleted];
  return context.service.bus.subscribe(
    [...hostChanges.map(({ type }) => type), ...suspensionTypes],
    routeMessages([
      ...hostChanges.map((change) =>
        on(change, ({ data }) => contexts.hostChanged(data.host_id, change === hostEvent.deleted)),
      ),
      ...suspensionRoutes(() => context),
    ]),
    { group: 'configuration' },
  );
}

/** Everything that the service is asked and requested. */
function routesOf({ context, contexts, stored, quotas }: ConfigurationParts) {
  const { collections, service } = context;
  return [
    ...providerRoutes({
      take: (action, message) =>
        message.data.resource.type === contextType.type
          ? contexts.take(action, message)
          : handleRequest(context, action, message),
      cancel: (message) => handleCancel(context, message),
      withdraw: (message, delivery) => handleWithdrawal(context, message, delivery),
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
  ];
}
