/** The only HTTP entry point: translates requests to calls on the bus, and authenticates callers. */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { contextEvent, eventKept, queueFilled } from '@anneal/contracts/events.ts';
import { requestsQueue, type ServiceName } from '@anneal/contracts/queues.ts';
import type { Bus, Consumer } from '@anneal/bus/port.ts';
import { shortOutageMs } from '@anneal/bus/connect/outage.ts';
import { on, routeMessages } from '@anneal/bus/consume/route.ts';
import type { FastifyInstance } from 'fastify';
import { openReplicas } from '@anneal/runtime/service/replica.ts';
import { openDirectoryReader } from '@anneal/directory/reader.ts';
import { openTokenReader } from '@anneal/directory/tokens.ts';
import { serveQueueMetrics } from '@anneal/runtime/observe/queue-metrics.ts';
import { defineService, type ServiceContext } from '@anneal/runtime/service/service.ts';
import { createAsk } from './ask.ts';
import { buildServer } from './server.ts';
import { createAuthenticate } from './identity/caller.ts';
import { KnownUsers } from './identity/known-users.ts';
import manifest from './package.json' with { type: 'json' };
import { forwardedRequests } from './forward.ts';
import { HeldHosts } from './held-hosts.ts';
import { ImageContents } from './images/contents.ts';
import { ImageUploads } from './images/uploads.ts';
import { withRepeatedIds } from './repeats/ids.ts';
import { Repeats } from './repeats/repeats.ts';
import { ReplicaWatch } from './replicas.ts';
import { promptContext } from './store-outage.ts';
import { gatewaySettings } from './settings.ts';
import { createWakeups, contextsKey, eventsKey, isStream, queueKey, type Wakeups } from './wakeups.ts';

/**
 * Clients compare the expiry of a token with their own clocks, so it follows the system clock even when that is set.
 */
const wallClock = (): Date => new Date();

const contextChanges = Object.values(contextEvent);

export const gatewayService = defineService({
  name: 'gateway',
  settings: gatewaySettings,
  async start(given, settings) {
    const { context, storeOutages } = promptContext(withRepeatedIds(given));
    const { bus, store, mint, log } = context;
    const now = (): number => context.now().getTime();
    const stopping = new AbortController();
    // Every waiting client adds a listener.
    setMaxListeners(0, stopping.signal);

    const lifetimeMs = settings.tokenHours * 3_600_000;
    const directory = await openDirectoryReader(store);
    const tokens = await openTokenReader({ store, secrets: context.secrets, directory, now: wallClock });
    const replicas = new ReplicaWatch({ documents: await openReplicas(store), elapsed: () => performance.now(), log });
    const asking = { bus, mint, secrets: context.secrets, ...aboutServices(replicas), storeOutages, ...settings };
    const ask = createAsk(asking);
    const askForHost = createAsk({ ...asking, waitsForBroker: true });
    const wakeups = createWakeups();
    const held = new HeldHosts({
      ask: askForHost,
      onError: (error) => log.debug({ err: error }, 'waiting hosts not reported; the next report follows'),
    });
    const stopWatching = replicas.watch();
    const stopMetrics = serveQueueMetrics({ bus, metrics: context.metrics, now: context.now });
    // Without a group, every replica wakes its own clients. A stopped replica has no clients to wake.
    const wake = await wakeClients({ bus, store, wakeups });

    const contents = new ImageContents({
      folder: settings.images ?? join(context.dataDirectory, 'images'),
      limit: { bytes: settings.imageLimit, setting: gatewaySettings.imageLimit.env },
      newId: context.newId,
      now,
      stopping: stopping.signal,
    });
    await contents.removeBroken();
    const repeats = await Repeats.open(context);
    const app = buildServer({
      context,
      repeats,
      images: new ImageUploads({ ask, contents }),
      settings,
      ask,
      askForHost,
      wakeups,
      held,
      stopping: stopping.signal,
      authenticate: createAuthenticate({
        users: new KnownUsers({ tokens, directory, now: wallClock, elapsed: () => performance.now() }),
        secrets: context.secrets,
        ask,
        askForHost,
        now,
      }),
      keystone: {
        ask,
        secrets: context.secrets,
        directory,
        newId: context.newId,
        now: wallClock,
        tokens,
        lifetimeMs,
        region: context.region,
        log,
      },
      version: manifest.version,
      replicas,
    });
    const unused = unusedConnections(app);
    const url = await app.listen({ host: settings.host, port: settings.port });
    const requests = await bus.consume(requestsQueue('gateway'), routeMessages(forwardedRequests(bus)));
    log.info({ url }, 'gateway is ready');

    return {
      url,
      async stop() {
        stopping.abort();
        held.stop();
        stopMetrics();
        stopWatching();
        wakeups.wakeAll();
        await wake.stop();
        await requests.stop();
        await repeats.stop();
        await closeServer(app, unused);
      },
    };
  },
});

/** The facts that a question needs about the service that it goes to. */
const aboutServices = (replicas: ReplicaWatch) => ({
  silence: (service: ServiceName): string | undefined => replicas.silenceOf(service),
  readsSealed: (service: ServiceName): boolean => replicas.allRead(service, 'sealed questions'),
});

/** Wakes the waiting clients of this gateway by events and in outages. */
async function wakeClients(parts: Pick<ServiceContext, 'bus' | 'store'> & { wakeups: Wakeups }) {
  const { bus, store, wakeups } = parts;
  const consumer = await wakeByEvents(bus, wakeups);
  const looking = wakeInOutages([bus, store], wakeups);
  return {
    async stop(): Promise<void> {
      clearInterval(looking);
      await consumer.stop();
    },
  };
}

/** Wakes the waiting clients of this gateway when an event says that there is something for them. */
const wakeByEvents = (bus: Bus, wakeups: Wakeups): Promise<Consumer> =>
  bus.subscribe(
    [queueFilled.type, eventKept.type, ...contextChanges.map(({ type }) => type)],
    routeMessages([
      ...contextChanges.map((change) => on(change, async ({ project }) => wakeups.wake(contextsKey(project ?? '')))),
      on(queueFilled, async ({ data: { project, queue, aliases = [] } }) => {
        for (const name of [queue, ...aliases]) wakeups.wake(queueKey(project, name));
      }),
      on(eventKept, async ({ data: { project } }) => wakeups.wake(eventsKey(project))),
    ]),
    { onGap: () => wakeups.wakeInTurn() },
  );

const lookMs = 250;

/** Wakes idle streams once in each long outage: their next read fails, so that they report it at once. */
function wakeInOutages(sources: readonly Pick<Bus, 'outage'>[], wakeups: Wakeups): NodeJS.Timeout {
  let isAway = false;
  return setInterval(() => {
    const wasAway = isAway;
    isAway = sources.some((source) => (source.outage?.()?.forMs ?? 0) > shortOutageMs);
    if (isAway && !wasAway) wakeups.wakeInTurn(isStream);
  }, lookMs).unref();
}

/** How long a client may take to read the end of its answer. */
const lastReadMs = 1_200;

/** Closes idle connections too, because a connection whose stream or long poll just ended would delay the stop. */
async function closeServer(app: FastifyInstance, unused: ReadonlySet<Socket>): Promise<void> {
  for (const socket of unused) socket.destroy();
  const idle = setInterval(() => app.server.closeIdleConnections(), 20);
  const deadline = setTimeout(() => app.server.closeAllConnections(), lastReadMs);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(deadline);
  }
}

/** Connections without a request so far: clients open them in advance, and Node does not count them as idle. */
function unusedConnections(app: FastifyInstance): ReadonlySet<Socket> {
  const unused = new Set<Socket>();
  app.server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  for (const used of ['request', 'upgrade']) {
    app.server.on(used, ({ socket }: IncomingMessage) => unused.delete(socket));
  }
  return unused;
}
