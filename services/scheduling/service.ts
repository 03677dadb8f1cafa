/** The scheduling service: runs stacks and their traversals, and contains a small provider of values and waits. */
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { timerFired } from '@anneal/contracts/scheduling.ts';
import { configurationTypes } from '@anneal/hot/types/configuration.ts';
import { nestedTypesIn, scalingTypes } from '@anneal/hot/types/nested.ts';
import { provisioningTypes } from '@anneal/hot/types/provisioning.ts';
import { schedulingTypes } from '@anneal/hot/types/scheduling.ts';
import { announceTypes, providerRoutes } from '@anneal/provider/routes.ts';
import { defineService } from '@anneal/runtime/service.ts';
import { createWorkerPool } from '@anneal/runtime/worker-pool.ts';
import { createTimers, type Timers } from '@anneal/store/timers.ts';
import { openSchedulingCollections } from './collections.ts';
import { createEvaluation } from './engine/evaluation.ts';
import { Heavy } from './engine/heavy.ts';
import { createAdjust } from './nested/adjust.ts';
import { createChildCompiler } from './nested/compile.ts';
import { createGarbage } from './garbage.ts';
import { createLimiter } from './limiter/limiter.ts';
import { createIntake } from './nested/intake.ts';
import { createContents } from './engine/contents.ts';
import { createPlans } from './engine/plans.ts';
import { createPreview } from './read/preview.ts';
import { createWaiting } from './provider/waiting.ts';
import { createWorker } from './provider/work.ts';
import { createProviders, type ProviderDirectory } from './shard/providers.ts';
import { createQuotas } from './engine/quota.ts';
import { createReading } from './read/reading.ts';
import { requestsHandler } from './requests.ts';
import { settings } from './settings.ts';
import { openShard, type OpenShard } from './shard/shard.ts';
import { openShards } from './shard/shards.ts';
import { createWhy } from './read/why.ts';

/** Documents that one step of a stack changes, so that it takes the event loop some ten milliseconds at most. */
const changesPerStep = 250;

export const schedulingService = defineService({
  name: 'scheduling',
  settings,
  async start(context, given) {
    const { batch, cachedStacks, graceSeconds, routeSeconds, stackRequests } = given;
    const { bus, log, mint, store } = context;
    const collections = await openSchedulingCollections(store);
    const shards = await openShards({
      collection: collections.shards,
      journal: collections.journal,
      wanted: given.shards,
      log,
    });
    const plans = createPlans({ store });
    const contents = createContents({ store });
    const providers = await createProviders(collections.providers, [
      ...schedulingTypes,
      ...nestedTypesIn(context.region),
      ...scalingTypes,
      ...provisioningTypes,
      ...configurationTypes,
    ]);
    const quotas = createQuotas({
      collections,
      limits: {
        stacks: { most: given.projectStacks, setting: settings.projectStacks.env },
        resources: { most: given.projectResources, setting: settings.projectResources.env },
        bytes: { most: given.projectBytes, setting: settings.projectBytes.env },
      },
    });
    const sizes = {
      value: { bytes: given.valueBytes, setting: settings.valueBytes.env },
      resource: { bytes: given.resourceBytes, setting: settings.resourceBytes.env },
      stack: { bytes: given.stackBytes, setting: settings.stackBytes.env },
    };
    const typeOf: ProviderDirectory['typeOf'] = (type) => providers.typeOf(type);
    const pool = createWorkerPool({
      entry: new URL('./engine/evaluation-worker.ts', import.meta.url),
      data: { keys: context.secrets.keys },
      workers: 1,
      memory: { most: given.workerMemory, setting: settings.workerMemory.env },
      seconds: { most: given.evaluateSeconds, setting: settings.evaluateSeconds.env },
      waiting: { most: given.waiting, setting: settings.waiting.env },
      serve: async () => null,
    });
    const heavy = new Heavy(pool);
    const evaluation = createEvaluation({ secrets: context.secrets, typeOf, sizes, heavy });
    const reading = createReading({ context, collections, plans, providers, evaluation, heavy });
    const gate = createLimiter({
      context,
      held: collections.held,
      providers,
      limits: { project: given.projectRequests, provider: given.providerRequests },
      shards,
    });
    const waiting = createWaiting({ ...collections, gatewayUrl: context.gatewayUrl });
    const why = createWhy({ context, collections, providers, reading, gate, waiting, shards });

    const now = (): number => context.now().getTime();
    const onError = (error: unknown, timer: { id: string }): void => {
      log.warn({ err: error, timer: timer.id }, 'timer failed; retrying');
    };
    const timers = await createTimers({
      store,
      collection: 'scheduling_timers',
      now,
      onError,
      fire: async ({ id, dueAt, data }) => {
        const fired = data as { stack_id: string; timer: string; traversal: string };
        const message = mint(timerFired, { id: `${id}:${dueAt}`, subject: fired.stack_id, data: fired });
        await bus.send({ queue: shards.queueOf(fired.stack_id), messages: [message] });
      },
    });
    let waits: Timers | undefined;
    const worker = createWorker({
      context,
      work: collections.work,
      stacks: collections.stacks,
      timers: () => waits as Timers,
      limit: sizes.value,
    });
    waits = await createTimers({
      store,
      collection: 'scheduling_waits',
      now,
      onError,
      fire: (timer) => worker.wake(timer),
    });

    const announcement = {
      provider: 'anneal.scheduling',
      queue: requestsQueue('scheduling'),
      types: [...schedulingTypes, ...nestedTypesIn(context.region), ...scalingTypes],
    };
    await providers.announce(announcement);
    const shared = { context, collections, providers, timers, plans, contents, quotas, evaluation, gate, shards };
    const compile = createChildCompiler({ context, collections, evaluation });
    const intake = createIntake({ context, collections, plans, contents, compile, quotas });
    const adjust = createAdjust({ context, plans, compile });
    const find = (which: { project: string; stack: string }) => reading.find(which);
    const preview = createPreview({ context, collections, plans, evaluation, compile, find });
    const opened: OpenShard[] = [];
    const openUpTo = async (count: number): Promise<void> => {
      const missing = Array.from({ length: count - opened.length }, (_, index) => opened.length + index);
      const open = (shard: number): Promise<OpenShard> =>
        openShard({
          ...shared,
          heavy,
          intake,
          adjust,
          shard,
          batch,
          cachedStacks,
          routeMs: routeSeconds * 1000,
          toolsAt: (moment) =>
            evaluation.toolsAt({
              ...moment,
              graceMs: graceSeconds * 1000,
              limit: stackRequests,
              most: changesPerStep,
            }),
        });
      opened.push(...(await Promise.all(missing.map(open))));
    };
    await openUpTo(shards.count);
    let growing = Promise.resolve();
    shards.watch(() => {
      for (const shard of opened) shard.enterAgain();
      growing = growing
        .then(() => openUpTo(shards.count))
        .catch((error: unknown) => log.error({ err: error }, 'new shards not opened; restart this replica'));
    });
    // Our own provider, reached by messages like any other.
    const ownProvider = providerRoutes({
      take: (action, message) => worker.take(action, message),
      signal: (message) => worker.take('signal', message),
    });
    const requests = await bus.consume(
      requestsQueue('scheduling'),
      requestsHandler({ context, shards, reading, preview, why, providers, ownProvider }),
      { concurrency: 256 },
    );
    await announceTypes(context, announcement);
    const garbage = createGarbage({ context, collections, graceMs: given.garbageSeconds * 1000 });
    log.info({ shards: shards.count }, 'scheduling is ready');

    return {
      async stop() {
        shards.stop();
        await growing;
        await Promise.all([
          timers.stop(),
          waits?.stop(),
          requests.stop(),
          garbage.stop(),
          ...opened.map((shard) => shard.stop()),
        ]);
        gate.stop();
        await pool.close();
      },
    };
  },
});
