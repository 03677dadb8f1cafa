/**
 * A process that runs one or more services: opens bus and store once, starts the services, serves their health, and
 * stops them in two stages. The services of one process share the connection, but still communicate by messages only.
 */
import { join, resolve } from 'node:path';
import { createMint } from '@anneal/contracts/envelope.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { serviceNames, type ServiceName } from '@anneal/contracts/queues.ts';
import { registry } from '@anneal/contracts/registry.ts';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { v7 } from 'uuid';
import { openDataFolder } from './data-folder.ts';
import { createDependencies } from './dependencies.ts';
import { armFromText } from './fault.ts';
import { lockDataFolder } from './folder-lock.ts';
import { serveHealth } from './health.ts';
import { instrumentBus, traceMint } from './instrument.ts';
import { loadKeys } from './keys.ts';
import { createLog } from './log.ts';
import { clockMetrics, openMachineClock } from './machine-clock.ts';
import { requireSealingKeys } from './sealing-keys.ts';
import { createSecrets } from './secrets.ts';
import type { RunningService, Service } from './service.ts';
import { readSettings, refuseUnknown } from './settings.ts';
import { sharedSettings } from './shared-settings.ts';
import { startFailure } from './start-failure.ts';
import { createStoreGate } from './store-gate.ts';
import { startTracing } from './trace.ts';

/** The variables of a process. */
export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** The services of this process. */
export interface RunningServices {
  readonly log: Logger;
  readonly healthUrl: string;
  readonly gatewayUrl: string;
  readonly dataDirectory: string;
  /** Finishes the work in progress, then closes bus and store. Later calls wait for the first. */
  stop(): Promise<void>;
}

/** The services to start, and the dependencies to start them with. */
export interface ServeOptions {
  services: readonly Service[];
  environment: ProcessEnvironment;
  /** Created from the settings when absent. */
  log?: Logger;
  /** True when the caller already holds the lock of the data folder. */
  isLocked?: boolean;
  /** Ends the wait for a database or a broker that is not available yet. */
  signal?: AbortSignal;
}

/**
 * @throws AnnealError InvalidRequest that names every wrong setting. A failure stops everything that was started before
 * it.
 */
export async function startServices(options: ServeOptions): Promise<RunningServices> {
  const { services, environment, log: givenLog, isLocked = false, signal } = options;
  refuseUnknownNames(services, environment);
  const settings = readSettings(sharedSettings, environment);
  const own = services.map((service) => ({ service, values: readSettings(service.settings, environment) }));
  if (settings.fault !== undefined) armFromText(settings.fault);

  const pretty = settings.logFormat === 'pretty' || (settings.logFormat === 'auto' && process.stderr.isTTY);
  const log = givenLog ?? createLog({ level: settings.logLevel, format: pretty ? 'pretty' : 'json' });
  const dataDirectory = resolve(settings.dataDirectory);
  const undo: (() => Promise<void>)[] = [];
  const stopping = new AbortController();
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= stopAll());

  async function stopAll(): Promise<void> {
    stopping.abort();
    for (const step of undo.toReversed()) {
      await step().catch((error: unknown) =>
        log.error({ err: error }, 'step of the stop failed; continuing with the next step'),
      );
    }
  }

  try {
    const isEmbedded = (settings.busUrl ?? 'sqlite:').startsWith('sqlite:');
    if (isEmbedded && !isLocked) {
      const lock = await lockDataFolder({ folder: dataDirectory });
      undo.push(() => lock.release());
    }
    const folder = await openDataFolder({
      folder: dataDirectory,
      store: settings.storeUrl === undefined ? join(dataDirectory, 'store.db') : undefined,
      bus: settings.busUrl === undefined ? join(dataDirectory, 'bus.db') : undefined,
      keys: settings.keys === undefined,
    });
    if (settings.otlpEndpoint !== undefined) {
      const name = services.length === 1 ? `anneal-${services[0]?.name}` : 'anneal';
      undo.push(await startTracing({ endpoint: settings.otlpEndpoint, service: name }));
    }
    const metrics = new Registry();
    collectDefaultMetrics({ register: metrics });
    const secrets = createSecrets(await loadKeys({ setting: settings.keys, dataDirectory }));
    const newId = (): string => v7();

    const dependencies = createDependencies({
      storeUrl: settings.storeUrl ?? `sqlite:${dataDirectory}/store.db`,
      busUrl: settings.busUrl ?? `sqlite:${dataDirectory}/bus.db`,
      log,
      signal,
    });
    const running: Partial<Record<ServiceName, RunningService>> = {};
    const health = await serveHealth({
      host: settings.healthHost,
      port: settings.healthPort,
      metrics,
      checks: {
        ...dependencies.checks,
        ...Object.fromEntries(
          services.map(({ name }) => [
            name,
            async () => {
              const service = running[name];
              if (!service) throw new AnnealError('Unavailable', `${name} has not started yet`);
              await service.check?.();
            },
          ]),
        ),
      },
    });
    undo.push(() => health.stop());

    const store = await dependencies.openStore();
    undo.push(() => store.close());
    const source = settings.keys === undefined ? join(dataDirectory, 'keys') : 'ANNEAL_KEYS';
    await requireSealingKeys({ store, secrets, source });
    const clock = await openMachineClock({ store, log: log.child({ service: 'clock' }) });
    undo.push(() => clock.stop());
    const { now } = clock;
    metrics.registerMetric(
      new Gauge({
        ...clockMetrics.skew,
        registers: [],
        collect() {
          this.set(clock.skewMs() / 1000);
        },
      }),
    );
    const presence = await dependencies.openPresence();
    undo.push(() => presence?.close() ?? Promise.resolve());
    const gate = createStoreGate({ store, log });
    stopping.signal.addEventListener('abort', () => gate.close());
    const openedBus = await dependencies.openBus({
      source: services.length === 1 ? `anneal.${services[0]?.name}` : 'anneal',
      store: { ...store, blobs: gate.blobs },
      presence,
      registry,
      newId,
      now,
      log: log.child({ service: 'bus' }),
      claimCheckMs: settings.claimCheckSeconds * 1000,
    });
    undo.push(() => openedBus.close());
    await folder.opened();
    const bus = instrumentBus(openedBus, metrics, gate);

    for (const { service, values } of own) {
      const started = await service.start(
        {
          name: service.name,
          bus,
          store,
          log: log.child({ service: service.name }),
          metrics,
          mint: traceMint(createMint({ source: `anneal/${service.name}`, newId, now })),
          newId,
          now,
          secrets,
          gatewayUrl: settings.gatewayUrl,
          region: settings.region,
          stopping: stopping.signal,
        },
        values,
      );
      running[service.name] = started;
      undo.push(() => withDeadline({ work: started.stop(), seconds: settings.stopSeconds, name: service.name, log }));
    }
    log.info({ services: services.map(({ name }) => name), health: health.url }, 'started');
    return { log, healthUrl: health.url, gatewayUrl: settings.gatewayUrl, dataDirectory, stop };
  } catch (error) {
    await stop();
    throw startFailure(error, dataDirectory);
  }
}

/** Names under another service's prefix are ignored, because processes often share one environment file. */
function refuseUnknownNames(services: readonly Service[], environment: ProcessEnvironment): void {
  const known = [
    ...Object.values(sharedSettings),
    ...services.flatMap((service) => Object.values(service.settings)),
  ].map(({ env }) => env);
  const foreign = serviceNames
    .filter((name) => !services.some((service) => service.name === name))
    .map((name) => `ANNEAL_${name.toUpperCase()}_`);
  const concerning = Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => known.includes(name) || !foreign.some((prefix) => name.startsWith(prefix)),
    ),
  );
  refuseUnknown(known, concerning);
}

async function withDeadline(options: {
  work: Promise<void>;
  seconds: number;
  name: string;
  log: Logger;
}): Promise<void> {
  const { work, seconds, name, log } = options;
  const { promise, resolve: giveUp } = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => giveUp('late'), seconds * 1000);
  const outcome = await Promise.race([work, promise]).finally(() => clearTimeout(timer));
  if (outcome === 'late') {
    log.warn(
      { service: name, seconds },
      'work in progress not finished in time; released, to be done again at the next start',
    );
  }
}
