/** The scheduling service: runs stacks and their traversals, and contains a small provider of values and waits. */
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { timerFired } from '@anneal/contracts/calls/stacks.ts';
import { configurationTypes } from '@anneal/hot/types/configuration.ts';
import { nestedTypesIn, scalingTypes } from '@anneal/hot/nested/nested-types.ts';
import { workflowTypes } from '@anneal/hot/types/openstack/mistral.ts';
import { provisioningTypes } from '@anneal/hot/types/provisioning.ts';
import { schedulingTypes } from '@anneal/hot/types/scheduling.ts';
import { announceTypes, providerRoutes } from '@anneal/provider/routes.ts';
import { ProjectQuotas } from '@anneal/runtime/service/project-quotas.ts';
import { defineService, type ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { createWorkerPool } from '@anneal/runtime/work/worker-pool.ts';
import { createTimers, type Timers } from '@anneal/store/timers.ts';
import { openSchedulingCollections } from './collections.ts';
import { stackTimers } from './documents/stack-timers.ts';
import { waitTimers } from './documents/wait-timers.ts';
import { createEvaluation, type Evaluation } from './engine/evaluation.ts';
import { Heavy } from './engine/heavy.ts';
import { createSourceReader } from './plans/sources.ts';
import { createAdjust } from './nested/adjust.ts';
import { createChildCompiler } from './nested/compile.ts';
import { createGarbage } from './garbage.ts';
import { createLostHosts } from './lost/lost-hosts.ts';
import { LostServers } from './lost/lost-servers.ts';
import { Limiter } from './limiter/limiter.ts';
import { TreePlaces } from './events/places.ts';
import { NestedIntake } from './nested/intake.ts';
import { createContents } from './plans/contents.ts';
import { createPlans } from './plans/plans.ts';
import { StackPreview } from './nested/preview.ts';
import { createWaiting } from './provider/waiting.ts';
import { createWorker } from './provider/work.ts';
import { createProviders } from './providers.ts';
import { createQuotas } from './plans/quota.ts';
import { createGroupReading } from './read/groups.ts';
import { StackReading } from './read/reading.ts';
import { requestsHandler } from './requests.ts';
import { settings } from './settings.ts';
import { openShard } from './shards/shard.ts';
import type { StackStepOptions } from './stacks/steps.ts';
import { OpenShards } from './shards/open-shards.ts';
import { openShards } from './shard-map/shards.ts';
import { serveStackCounts } from './read/counts.ts';
import { createOverview } from './read/overview.ts';
import { createWhy } from './read/why.ts';
import { createActions } from './workflows/actions/actions.ts';
import { WorkflowDefinitions } from './workflows/definitions.ts';
import { WorkflowResources } from './workflows/resources.ts';
import { createRetention } from './workflows/retention.ts';
import { CronTriggers } from './workflows/triggers/cron-triggers.ts';
import { EventTriggers } from './workflows/triggers/event-triggers.ts';
import { workflowRoutes } from './workflows/routes.ts';

/** Documents that one step of a stack changes, so that it takes the event loop some ten milliseconds at most. */
const changesPerStep = 250;

export const schedulingService = defineService({
  name: 'scheduling',
  settings,
  async start(context, given) {
    const { bus, log } = context;
    const engine = await openEngine(context, given);
    const { collections, evaluation, gate, heavy, plans, providers, shards } = engine;
    const timed = await openStackTimers(context, engine);
    const definitions = new WorkflowDefinitions({ ...collections, store: context.store, now: context.now });
    const own = await openOwnProvider(context, { engine, definitions, network: { allowPrivate: given.allowPrivate } });
    const announcement = {
      provider: 'anneal.scheduling',
      queue: requestsQueue('scheduling'),
      types: [...schedulingTypes, ...nestedTypesIn(context.region), ...scalingTypes, ...workflowTypes],
    };
    await providers.announce(announcement);

    const reading = new StackReading({ context, collections, plans, providers, evaluation, heavy });
    const waiting = createWaiting({ ...collections, gatewayUrl: context.gatewayUrl, secrets: context.secrets });
    const why = createWhy({ context, collections, providers, reading, gate, waiting, shards, definitions, ...timed });
    const compile = createChildCompiler({ context, collections, evaluation });
    const find: StackReading['find'] = (which) => reading.find(which);
    const places = new TreePlaces(collections.stacks, () => context.now().getTime());
    const groups = createGroupReading({ collections, secrets: context.secrets, find, places });
    const preview = new StackPreview({ ...engine, context, compile, find });

    const stacks = {
      ...engine,
      context,
      places,
      definitions,
      executionLimit: { most: given.projectExecutions, setting: settings.projectExecutions.env },
      ...timed,
      intake: new NestedIntake({ ...engine, context, compile }),
      adjust: createAdjust({ ...engine, context, compile }),
      revisionsKept: given.revisions,
      batch: given.batch,
      cachedStacks: given.cachedStacks,
      routeMs: given.routeSeconds * 1000,
      toolsAt: toolsAt(evaluation, given),
    };
    const opened = new OpenShards((shard) => openShard({ ...stacks, shard }));
    await opened.follow(shards, log);

    const requests = await bus.consume(
      requestsQueue('scheduling'),
      requestsHandler({
        context,
        shards,
        reading,
        groups,
        preview,
        why,
        overview: createOverview({ collections, why }),
        providers,
        ownProvider: [
          ...own.routes,
          ...workflowRoutes({ context, collections, crons: own.crons, definitions, shards }),
        ],
      }),
      { concurrency: 256 },
    );
    const lost = createLostHosts({ context, collections, shards, ...timed });
    const hosts = await bus.subscribe([...lost.types], ({ message }) => lost.take(message), { group: 'scheduling' });
    await announceTypes(context, announcement);
    const garbage = createGarbage({ context, collections, graceMs: given.garbageSeconds * 1000 });
    const retention = createRetention({ context, collections, shards, keepMs: given.keepExecutionsSeconds * 1000 });
    log.info({ shards: shards.count }, 'scheduling is ready');

    return {
      async stop() {
        shards.stop();
        await opened.settled();
        await Promise.all([
          timed.timers.stop(),
          own.stop(),
          requests.stop(),
          hosts.stop(),
          garbage.stop(),
          retention.stop(),
          opened.stop(),
        ]);
        gate.stop();
        await engine.close();
      },
    };
  },
});

type Given = SettingsOf<typeof settings>;

/** Opens what the stacks of all shards share. */
async function openEngine(context: ServiceContext, given: Given) {
  const { log, secrets, store } = context;
  const collections = await openSchedulingCollections(store);
  const { journal, held } = collections;
  const shards = await openShards({ collection: collections.shards, journal, wanted: given.shards, log });
  const providers = await createProviders(collections.providers, [
    ...schedulingTypes,
    ...nestedTypesIn(context.region),
    ...scalingTypes,
    ...workflowTypes,
    ...provisioningTypes,
    ...configurationTypes,
  ]);
  const pool = createWorkerPool({
    entry: new URL('./engine/evaluation-worker.ts', import.meta.url),
    data: { keys: secrets.keys, limits: context.evaluationLimits },
    workers: 1,
    memory: { most: given.workerMemory, setting: settings.workerMemory.env },
    seconds: { most: given.evaluateSeconds, setting: settings.evaluateSeconds.env },
    waiting: { most: given.waiting, setting: settings.waiting.env },
    serve: async () => null,
  });
  const heavy = new Heavy(pool);
  const sizes = {
    value: { bytes: given.valueBytes, setting: settings.valueBytes.env },
    resource: { bytes: given.resourceBytes, setting: settings.resourceBytes.env },
    stack: { bytes: given.stackBytes, setting: settings.stackBytes.env },
  };
  const evaluation = createEvaluation({
    secrets,
    typeOf: (type) => providers.typeOf(type),
    sizes,
    limits: context.evaluationLimits,
    heavy,
  });
  const projectQuotas = await ProjectQuotas.open(store, 'scheduling', {
    stacks: { most: given.projectStacks, setting: settings.projectStacks.env },
    resources: { most: given.projectResources, setting: settings.projectResources.env },
    stack_bytes: { most: given.projectBytes, setting: settings.projectBytes.env },
  });
  const quotas = createQuotas({
    collections,
    limitOf: (name, project) => projectQuotas.limitOf(name, project),
    admit: projectQuotas.admissionsTo('stacks'),
  });
  const quotaRoutes = projectQuotas.routes(context, quotas.used, (project) => quotas.changed(project));
  const limits = { project: given.projectRequests, provider: given.providerRequests };
  const gate = new Limiter({ context, held, providers, limits, shards });
  const contents = createContents(store);
  const plans = createPlans(store, contents);
  const stopCounts = serveStackCounts(context, collections);
  const close = (): Promise<void> => {
    stopCounts();
    return pool.close();
  };
  const sourceReader = createSourceReader({ store });
  const read = { contents, plans, sourceReader };
  return { close, collections, evaluation, gate, heavy, providers, quotas, quotaRoutes, shards, ...read };
}

/** The tools of the core for one step. */
const toolsAt =
  (evaluation: Evaluation, { graceSeconds, stackRequests }: Given): StackStepOptions['toolsAt'] =>
  (moment) =>
    evaluation.toolsAt({ moment, graceMs: graceSeconds * 1000, limit: stackRequests, most: changesPerStep });

/**
 * The timers of stacks: deadlines, waits of requests, and lost servers. One that fires is a message to the shard of its
 * stack, or replaces the server.
 */
async function openStackTimers(
  context: ServiceContext,
  engine: Awaited<ReturnType<typeof openEngine>>,
): Promise<{ timers: Timers; servers: LostServers }> {
  const { bus, mint, store } = context;
  const { shards } = engine;
  const servers = new LostServers({ context, ...engine, timers: () => timers });
  const timers: Timers = await createTimers({
    store,
    collection: 'scheduling_timers',
    ...retrying(context),
    fire: async (stored) => {
      const { id, dueAt } = stored;
      const timer = stackTimers.read(stored);
      switch (timer.kind) {
        case 'lost':
          return servers.fire(timer.lost, dueAt);
        case 'stack': {
          const { kind: _, ...data } = timer;
          const message = mint(timerFired, { id: `${id}:${dueAt}`, subject: data.stack_id, data });
          return bus.send({ queue: shards.queueOf(data.stack_id), messages: [message] });
        }
      }
    },
  });
  return { timers, servers };
}

/** Our own provider, reached by messages like any other. */
async function openOwnProvider(
  context: ServiceContext,
  parts: {
    engine: Awaited<ReturnType<typeof openEngine>>;
    definitions: WorkflowDefinitions;
    network: { allowPrivate: boolean };
  },
) {
  const { engine, definitions, network } = parts;
  const { collections, shards } = engine;
  const limit = engine.evaluation.sizes.value;
  const { stacks, work } = collections;
  let waits: Timers | undefined;
  const actions = createActions({ context, network });
  const triggers = new EventTriggers({ context, triggers: collections.triggers, shards });
  const crons = new CronTriggers({ ...collections, context, definitions, shards, timers: () => waits as Timers });
  const workflows = new WorkflowResources({ context, collections, definitions, triggers, crons });
  const worker = createWorker({ context, work, stacks, timers: () => waits as Timers, limit, actions, workflows });
  waits = await createTimers({
    store: context.store,
    collection: 'scheduling_waits',
    ...retrying(context),
    fire: (stored) => {
      const timer = waitTimers.read(stored);
      switch (timer.kind) {
        case 'cron':
          return crons.fire(timer.cron, stored.dueAt);
        case 'schedule':
          return worker.schedules.fire(timer, stored.dueAt);
        case 'work':
          return worker.wake(timer.resource);
      }
    },
  });
  const routes = providerRoutes({
    take: (action, message) => worker.take(action, message),
    signal: (message) => worker.take('signal', message),
    withdraw: (message, delivery) => worker.withdraw(message, delivery),
  });
  await triggers.open();
  return {
    routes: [...routes, ...engine.quotaRoutes],
    crons,
    async stop() {
      await triggers.stop();
      await waits.stop();
    },
  };
}

const retrying = ({ bus, log, now }: ServiceContext) => ({
  permission: bus.permission,
  now: (): number => now().getTime(),
  onError(error: unknown, timer: { id: string }): void {
    log.warn({ err: error, timer: timer.id }, 'timer failed; retrying');
  },
});
