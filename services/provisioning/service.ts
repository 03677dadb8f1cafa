/** The provisioning service: connects its parts, announces resource types and resumes unfinished work. */
import type { Death } from '@anneal/bus/port.ts';
import { answer, route } from '@anneal/bus/route.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  bootDocumentShow,
  bootExchange,
  bootReport,
  nodeEnrol,
  nodeList,
  nodeMaintenance,
  nodePower,
  nodeProvision,
  nodeRemove,
  nodeShow,
  nodeUpdate,
} from '@anneal/contracts/provisioning.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { provisioningTypes, withImages } from '@anneal/hot/types/provisioning.ts';
import { announceTypes, providerRoutes } from '@anneal/provider/routes.ts';
import { defineService } from '@anneal/runtime/service.ts';
import { createTimers, type Timers } from '@anneal/store/timers.ts';
import { Bmcs } from './nodes/bmcs.ts';
import { Boots } from './boot/boots.ts';
import { deployedServer } from './servers/deployed-server.ts';
import { ServerHosts } from './servers/hosts.ts';
import { NodeDriver } from './nodes/driver.ts';
import { NodeRecords } from './nodes/records.ts';
import { createSteps } from './nodes/steps.ts';
import { Nodes } from './nodes/nodes.ts';
import { novaServer } from './servers/nova-server.ts';
import { PowerPoll } from './nodes/power-poll.ts';
import { Servers, type ServerWork } from './servers/servers.ts';
import { settings } from './settings.ts';

const queue = requestsQueue('provisioning');

export const provisioningService = defineService({
  name: 'provisioning',
  settings,
  async start(context, values) {
    const budgets = {
      bmcMs: values.bmcSeconds * 1000,
      bootMs: values.bootSeconds * 1000,
      cleanMs: values.cleanSeconds * 1000,
      cleanOnProvide: values.cleanOnProvide,
    };
    const records = await NodeRecords.open(context, values.placeholderIds);
    const bmcs = new Bmcs({
      secrets: context.secrets,
      trust: values.verifyCa,
      placeholders: values.placeholderIds,
      now: () => context.now().getTime(),
    });
    const hosts = new ServerHosts(context);
    let opened: Timers | undefined;
    const timers = (): Timers => {
      if (!opened) throw new AnnealError('Unavailable', 'The provisioning service has not started yet.');
      return opened;
    };
    const steps = createSteps({ context, records, bmcs, hosts, bootRetryMs: values.bootRetrySeconds * 1000 });
    const driver = new NodeDriver({ context, records, bmcs, steps, timers, budgets });
    const families: Readonly<Record<string, Readonly<Record<string, ServerWork>>>> = {
      'OS::Nova::Server': novaServer({
        context,
        records,
        driver,
        bmcs,
        hosts,
        images: values.images,
        flavors: values.flavors,
        current: (id) => servers.get(id),
      }),
      'OS::Heat::DeployedServer': deployedServer({ context, hosts }),
    };
    const servers: Servers = await Servers.open({
      context,
      timers,
      work: (server, request) => {
        const work = families[server.type]?.[server.action];
        if (work) return work(server, request);
        const known = Object.keys(families).join(' and ');
        const why = families[server.type]
          ? `does not support the action ${server.action}`
          : `is not served by this provider; it serves ${known}`;
        return Promise.resolve({ kind: 'failed', error: new AnnealError('NotSupported', `${server.type} ${why}.`) });
      },
    });
    const nodes = new Nodes({
      context,
      records,
      driver,
      limit: { most: values.nodes, setting: settings.nodes.env },
    });
    const boots = new Boots({ context, records, driver });
    const waiting = (): void => {
      servers
        .kickWaiting()
        .catch((error: unknown) =>
          context.log.error({ err: error }, 'servers that wait for a node not woken; their timers retry'),
        );
    };
    records.onStateChange((after, before) => {
      if (before.instance_id !== null) servers.kick(before.instance_id);
      if (after.instance_id !== null) servers.kick(after.instance_id);
      if (after.state === 'available') waiting();
    });
    const poll = new PowerPoll({ context, records, bmcs, everyMs: values.pollSeconds * 1000, onHealed: waiting });

    opened = await createTimers({
      store: context.store,
      collection: 'provisioning_timers',
      now: () => context.now().getTime(),
      fire: ({ data }) => {
        const { node, server } = data as { node?: string; server?: string };
        if (node !== undefined) driver.kick(node);
        if (server !== undefined) servers.kick(server);
        return Promise.resolve();
      },
      onError: (error, timer) => context.log.error({ err: error, timer: timer.id }, 'timer failed; retrying'),
    });

    const { bus } = context;
    const onDeath = (death: Death): Promise<void> => boots.unheard(death);
    const up = await bus.subscribe(['host.up'], route([boots.hostUp()]), { group: 'provisioning', onDeath });
    const requests = await bus.consume(
      queue,
      route([
        ...providerRoutes({
          take: (action, message) => servers.take(action, message),
          signal: (message) => servers.take('signal', message),
        }),
        answer(context, nodeEnrol, ({ data }) => nodes.enrol(data)),
        answer(context, nodeList, ({ data }) => nodes.list(data)),
        answer(context, nodeShow, ({ data }) => nodes.show(data.node)),
        answer(context, nodeRemove, async ({ data }) => {
          await nodes.remove(data.node);
          return {};
        }),
        answer(context, nodePower, ({ data }) => nodes.power(data)),
        answer(context, nodeProvision, ({ data }) => nodes.provision(data)),
        answer(context, nodeUpdate, ({ data }) => nodes.update(data)),
        answer(context, nodeMaintenance, ({ data }) => nodes.maintenance(data)),
        answer(context, bootDocumentShow, ({ data }) => boots.document(data.secret)),
        answer(context, bootExchange, ({ data }) => boots.exchange(data)),
        answer(context, bootReport, async ({ data }) => {
          await boots.report(data.token, { status: data.status, message: data.message });
          return {};
        }),
      ]),
      { concurrency: 64, onDeath },
    );
    await announceTypes(context, {
      provider: 'anneal.provisioning',
      queue,
      types: withImages(provisioningTypes, values.images),
    });
    const publishing = await records.keepPublishing();
    await driver.resumeAll();
    await servers.resumeAll();
    await poll.start();

    return {
      async stop() {
        await Promise.all([up.stop(), requests.stop(), publishing.stop()]);
        await timers().stop();
        // An unresponsive controller must not delay the stop. Steps are interrupted and repeated at the next start.
        await Promise.all([servers.stop(), driver.stop(), poll.stop(), bmcs.close()]);
      },
    };
  },
});
