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
import { createIds } from '../new-id.ts';
import { openDataMarks } from './data-marks.ts';
import { createCopyData, type CopyData } from './copy-data.ts';
import { openDataFolder } from './data-folder.ts';
import { createDependencies } from './dependencies.ts';
import { armFromText } from '../fault.ts';
import { lockDataFolder } from './folder-lock.ts';
import { instrumentStore } from '../observe/service-metrics.ts';
import { serveHealth } from '../observe/health.ts';
import { instrumentBus, traceMint } from '../observe/instrument.ts';
import { Replica } from './replica.ts';
import { loadKeys } from '../secrets/keys.ts';
import { createLog } from '../observe/log.ts';
import { clockMetrics, openMachineClock, type MachineClock } from '../time/machine-clock.ts';
import { requireSealingKeys } from '../secrets/sealing-keys.ts';
import { createSecrets } from '../secrets/secrets.ts';
import type { RunningService, Service } from './service.ts';
import { readSettings, refuseUnknown, type SettingsOf } from './settings.ts';
import { movedSettings, sharedSettings } from './shared-settings.ts';
import { startFailure } from './start-failure.ts';
import { createStoreGate } from '../observe/store-gate.ts';
import { Teardown, withDeadline } from './teardown.ts';
import { startTracing } from '../observe/trace.ts';
import { releaseMemory } from '../work/release-memory.ts';

/** The variables of a process. */
export type ProcessEnvironment = Readonly<Record<string, string | undefined>>;

/** The services of this process. */
export interface RunningServices {
  readonly log: Logger;
  readonly healthUrl: string;
  readonly gatewayUrl: string;
  readonly dataDirectory: string;
  /** Copies the data while the services run. Absent with a broker or a database on a network. */
  readonly copyData: CopyData | undefined;
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
 * Starts the services. Waits for a database or a broker that is not available yet, until `signal` aborts.
 * @throws AnnealError InvalidRequest that names every wrong setting. A failure stops everything that was started before
 * it.
 */
export async function startServices(options: ServeOptions): Promise<RunningServices> {
  const { services, environment, log: givenLog, isLocked = false, signal } = options;
  refuseUnknownNames(services, environment);
  const settings = readSettings(sharedSettings, environment);
  const own = services.map((service) => ({ service, values: readSettings(service.settings, environment) }));
  if (settings.fault !== undefined) armFromText(settings.fault);

  const log = givenLog ?? logFor(settings);
  const dataDirectory = resolve(settings.dataDirectory);
  const teardown = new Teardown(log);
  const running: Partial<Record<ServiceName, RunningService>> = {};
  try {
    const foundation = await openFoundation({
      services,
      settings,
      dataDirectory,
      log,
      teardown,
      running,
      isLocked,
      signal,
    });
    const { health, copyData, replica, ...shared } = foundation;
    for (const { service, values } of own) {
      const { name } = service;
      const started = await service.start(
        {
          ...shared,
          name,
          log: log.child({ service: name }),
          mint: traceMint(createMint({ source: `anneal/${name}`, newId, now: shared.now })),
          newId,
          gatewayUrl: settings.gatewayUrl,
          dataDirectory,
          region: settings.region,
          evaluationLimits: { elements: settings.elements, memory: settings.memory, work: settings.work },
          stopping: teardown.stopping,
        },
        values,
      );
      running[name] = started;
      teardown.add(() => withDeadline({ work: started.stop(), seconds: settings.stopSeconds, name, log }));
    }
    replica.renew();
    log.info({ services: services.map(({ name }) => name), health: health.url }, 'started');
    return {
      log,
      healthUrl: health.url,
      gatewayUrl: settings.gatewayUrl,
      dataDirectory,
      copyData,
      stop: () => teardown.run(),
    };
  } catch (error) {
    await teardown.run();
    throw startFailure(error, dataDirectory);
  }
}

const newId = createIds(Date.now);

type SharedValues = SettingsOf<typeof sharedSettings>;

/** A process before its services: what to open, and where the parts note how they stop. */
interface FoundationOptions {
  readonly services: readonly Service[];
  readonly settings: SharedValues;
  readonly dataDirectory: string;
  readonly log: Logger;
  readonly teardown: Teardown;
  /** The services that have started, which the health checks ask. */
  readonly running: Readonly<Partial<Record<ServiceName, RunningService>>>;
  readonly isLocked: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Opens what all services of the process share. Health is served first, so that it reports what the start waits for. */
async function openFoundation(options: FoundationOptions) {
  const { services, settings, dataDirectory, log, teardown, signal } = options;
  const folder = await openFolder(options);
  const source = services.length === 1 ? services[0]?.name : undefined;
  if (settings.otlpEndpoint !== undefined) {
    const service = source === undefined ? 'anneal' : `anneal-${source}`;
    teardown.add(await startTracing({ endpoint: settings.otlpEndpoint, service }));
  }
  const endReleases = releaseMemory();
  teardown.add(() => Promise.resolve(endReleases()));
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics });
  const secrets = createSecrets(await loadKeys({ setting: settings.keys, dataDirectory }));
  const storeUrl = settings.storeUrl ?? `sqlite:${dataDirectory}/store.db`;
  const dependencies = createDependencies({
    storeUrl,
    busUrl: settings.busUrl ?? `sqlite:${dataDirectory}/bus.db`,
    log,
    signal,
  });
  const health = await serveHealth({
    host: settings.healthHost,
    port: settings.healthPort,
    metrics,
    checks: { ...dependencies.checks, ...serviceChecks(options) },
  });
  teardown.add(() => health.stop());

  const store = await dependencies.openStore();
  teardown.add(() => store.close());
  const keySource = settings.keys === undefined ? join(dataDirectory, 'keys') : 'ANNEAL_KEYS';
  await requireSealingKeys({ store, secrets, source: keySource });
  const clock = await openMachineClock({ store, log: log.child({ service: 'clock' }) });
  teardown.add(() => clock.stop());
  metrics.registerMetric(skewGauge(clock));
  const { now } = clock;
  const presence = await dependencies.openPresence();
  teardown.add(() => presence?.close() ?? Promise.resolve());
  const gate = createStoreGate({ store, log });
  teardown.stopping.addEventListener('abort', () => gate.close());
  const bus = await dependencies.openBus({
    source: source === undefined ? 'anneal' : `anneal.${source}`,
    store: { ...store, blobs: gate.blobs },
    presence,
    registry,
    newId,
    now,
    log: log.child({ service: 'bus' }),
    claimCheckMs: settings.claimCheckSeconds * 1000,
    sealing: secrets,
  });
  teardown.add(() => bus.close());
  if (bus.marks && storeUrl.startsWith('sqlite:')) {
    const marks = await openDataMarks({ store, marks: bus.marks, permission: bus.permission, now, log });
    teardown.add(() => marks.stop());
  }
  const replica = await Replica.open({
    store,
    id: newId(),
    services: services.map(({ name }) => name),
    now,
    problems: () => health.problems(),
    isAlone: isEmbedded(settings),
    log: log.child({ service: 'runtime' }),
  });
  teardown.add(() => replica.stop());
  await folder.opened();
  return {
    bus: instrumentBus(bus, { metrics, gate, onActive: (queue, active) => replica.owns(queue, active) }),
    replica,
    store: instrumentStore(store, metrics),
    secrets,
    metrics,
    now,
    health,
    copyData: createCopyData({ bus, storeUrl, dataDirectory }),
  };
}

const isEmbedded = ({ busUrl = 'sqlite:' }: SharedValues): boolean => busUrl.startsWith('sqlite:');

/** Locks the data folder when the broker is embedded, because only one process may use it. */
async function openFolder({ settings, dataDirectory, teardown, isLocked }: FoundationOptions) {
  if (isEmbedded(settings) && !isLocked) {
    const lock = await lockDataFolder({ folder: dataDirectory });
    teardown.add(() => lock.release());
  }
  return openDataFolder({
    folder: dataDirectory,
    store: settings.storeUrl === undefined ? join(dataDirectory, 'store.db') : undefined,
    bus: settings.busUrl === undefined ? join(dataDirectory, 'bus.db') : undefined,
    keys: settings.keys === undefined,
  });
}

const logFor = ({ logFormat, logLevel }: SharedValues): Logger => {
  const pretty = logFormat === 'pretty' || (logFormat === 'auto' && process.stderr.isTTY);
  return createLog({ level: logLevel, format: pretty ? 'pretty' : 'json' });
};

const serviceChecks = ({ services, running }: FoundationOptions): Readonly<Record<string, () => Promise<void>>> =>
  Object.fromEntries(
    services.map(({ name }) => [
      name,
      async () => {
        const service = running[name];
        if (!service) throw new AnnealError('Unavailable', `${name} has not started yet`);
        await service.check?.();
      },
    ]),
  );

const skewGauge = (clock: MachineClock): Gauge =>
  new Gauge({
    ...clockMetrics.skew,
    registers: [],
    collect() {
      this.set(clock.skewMs() / 1000);
    },
  });

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
      ([name]) =>
        known.includes(name) || !(movedSettings.includes(name) || foreign.some((prefix) => name.startsWith(prefix))),
    ),
  );
  refuseUnknown(known, concerning);
}
