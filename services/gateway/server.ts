/**
 * The HTTP server: every family of routes under its prefix, one log line per request that never holds an address or a
 * body.
 */
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isLargeJson } from '@anneal/contracts/slices/json-slices.ts';
import { bmcEventsPrefix } from '@anneal/runtime/secrets/bmc-events.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { apiFamily, apiPrefix } from './api/family.ts';
import { createEventSockets } from './api/events/event-socket.ts';
import { eventSocketPath } from './api/events/event-endpoints.ts';
import { createOtherProjects } from './identity/other-projects.ts';
import { createStreams } from './http/event-stream.ts';
import { createStreamPlaces } from './http/stream-places.ts';
import { apiWording } from './api/wording.ts';
import type { Ask } from './ask.ts';
import { bmcEventsFamily } from './boot/bmc-events.ts';
import { bootFamily } from './boot/boot-routes.ts';
import { cfnFamily, cfnPrefix, withCfnPrefix } from './cfn/family.ts';
import { metadataPrefix, tempUrlPrefix } from '@anneal/runtime/secrets/host-keys.ts';
import { metadataFamily, plainMetadataFamily, plainMetadataPrefixes } from './metadata/family.ts';
import { tempUrlFamily } from './temp-url.ts';
import { httpMetrics } from '@anneal/runtime/observe/service-metrics.ts';
import { docsFiles, docsFilesPrefix } from './docs/docs-routes.ts';
import { asksForPage, consoleFiles, consoleFilesPrefix, sendPage } from './console/console-routes.ts';
import { heatFamily, heatPrefix } from './heat/family.ts';
import { withPlainArn } from './heat/stacks/find-stack.ts';
import type { Authenticate } from './identity/caller.ts';
import { requireToken } from './identity/caller.ts';
import { keystoneErrorSchema, keystoneRoutes, keystoneWording } from './identity/keystone.ts';
import { ec2Key } from './identity/routes/credential-routes.ts';
import type { KeystoneOptions } from './identity/routes/shape.ts';
import { glanceFamily, glancePrefix } from './glance/family.ts';
import { ironicAddress } from './ironic/address.ts';
import { ironicFamily } from './ironic/family.ts';
import { ironicPrefix } from './ironic/node-view.ts';
import { gatewaySettings } from './settings.ts';
import { agentFamily } from './shell/family.ts';
import { joinFamily, joinPrefix } from './shell/join-routes.ts';
import { agentPrefix } from './zaqar/claims/send-script.ts';
import type { HeldHosts } from './held-hosts.ts';
import type { Wakeups } from './wakeups.ts';
import { mistralFamily, mistralPrefix } from './mistral/family.ts';
import { SubscriberTrusts } from './identity/subscriber-trusts.ts';
import { dialects } from './zaqar/dialect.ts';
import { zaqarFamily, zaqarPrefix, zaqarVersionFamily } from './zaqar/family.ts';
import { auditLineOf } from './identity/audit.ts';
import { baseUrl } from './http/base-url.ts';
import { compressAnswers } from './http/compression.ts';
import { largeAnswer, type LargeAnswer } from './http/large-answer.ts';
import { readJsonBodies } from './http/body.ts';
import { serveDocument } from './http/document.ts';
import { refuseAddress, wordErrors, type FamilyWording } from './http/family.ts';
import { longestPart } from './http/problem.ts';
import { RequestRates } from './http/request-rates.ts';
import { RequestsInProgress } from './http/requests-in-progress.ts';
import { route } from './http/route.ts';
import { serveRoutes } from './http/serve-routes.ts';
import { traceRequests } from './http/request-traces.ts';
import { limitBodyTime } from './http/slow-body.ts';
import { answerUnreadable } from './http/unreadable.ts';
import { Upgrades } from './http/upgrades.ts';
import type { Repeats } from './repeats/repeats.ts';
import type { ReplicaWatch } from './replicas.ts';
import type { ImageUploads } from './images/uploads.ts';

export interface ServerOptions {
  context: ServiceContext;
  settings: SettingsOf<typeof gatewaySettings>;
  ask: Ask;
  /** The same for hosts and machines; see `createAsk`. */
  askForHost: Ask;
  authenticate: Authenticate;
  keystone: KeystoneOptions;
  wakeups: Wakeups;
  held: HeldHosts;
  images: ImageUploads;
  /** Aborted when long polls and streams must end. */
  stopping: AbortSignal;
  version: string;
  replicas: ReplicaWatch;
  repeats: Repeats;
}

const identityPrefix = '/identity';
const bodyMs = 60_000;

type Report = (error: unknown, request: FastifyRequest) => void;

/** The server with every family of routes. It does not listen yet. */
export function buildServer(options: ServerOptions): FastifyInstance {
  const { settings, context } = options;
  const { newId, log } = context;
  const upgrades = new Upgrades([`${apiPrefix}${eventSocketPath}`]);
  const app = Fastify({
    logger: false,
    http: { shouldUpgradeCallback: upgrades.wants },
    bodyLimit: settings.bodyLimit,
    trustProxy: settings.trustedProxies ?? false,
    exposeHeadRoutes: false,
    rewriteUrl: ({ url = '/', method }) => ironicAddress(withPlainArn(withCfnPrefix(url, method))),
    genReqId: () => `req-${newId()}`,
    routerOptions: { maxParamLength: longestPart, ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => {
      void reply.header('x-openstack-request-id', request.id);
      refuseAddress(error, { request, reply }, app.wordings);
    },
    clientErrorHandler: (error, socket) => {
      log.debug({ code: error.code }, 'connection ended: its bytes are not readable as HTTP');
      answerUnreadable(error, socket);
    },
    // `limitBodyTime` ends slow requests; Node itself ends slow headers.
    requestTimeout: 0,
    keepAliveTimeout: 75_000,
    return503OnClosing: true,
  });
  app.decorateRequest('caller', null);
  app.decorateRequest('repeat', null);
  app.decorateReply('pieces', null);
  app.decorate('wordings', new Map());
  upgrades.route(app);
  traceRequests(app);
  limitBodyTime(app, bodyMs);
  addHooks(app, context, settings);
  const report: Report = (error, request) => {
    log.error(
      { err: error, request: request.id, method: request.method, route: request.routeOptions.url },
      'unhandled error; replied 500',
    );
  };
  for (const [prefix, build] of familiesOf({ ...options, upgrades }, report)) {
    app.register(
      (scope, _options, done) => {
        build(scope);
        if (compressedPrefixes.has(prefix)) compressAnswers(scope);
        done();
      },
      { prefix },
    );
  }
  // Requests outside every family.
  wordErrors(app, outsideWording(settings.console), report);
  serveRoutes(app, [
    route({
      method: 'GET',
      path: '/',
      summary: 'Show the console to a browser, and the address of our API to a program.',
      answer: z.object({ name: z.string(), info: z.url() }),
      handle: ({ request, reply }) => {
        if (asksForPage(request)) return sendPage(reply, settings.console);
        void reply.header('vary', 'Accept');
        return { name: 'anneal', info: `${baseUrl(request)}${apiPrefix}/info` };
      },
    }),
  ]);
  return app;
}

/** Every address outside the APIs is a page of the console for a browser, and unknown for a program. */
const outsideWording = (folder: string | undefined): FamilyWording => ({
  ...apiWording,
  notFound: (request, reply) => (asksForPage(request) ? sendPage(reply, folder) : apiWording.notFound(request, reply)),
});

/** The APIs that users call. A refused call of a stranger to any other one is that of a host. */
const userPrefixes = [identityPrefix, heatPrefix, ironicPrefix, glancePrefix, mistralPrefix, apiPrefix];

/** Not the APIs of logins, of hosts and of booting machines: their answers contain secrets. */
const compressedPrefixes: ReadonlySet<string> = new Set(userPrefixes.filter((prefix) => prefix !== identityPrefix));

function addHooks(
  app: FastifyInstance,
  { log, metrics }: Pick<ServiceContext, 'log' | 'metrics'>,
  {
    audit: level,
    userRequests,
    userConcurrency,
  }: Pick<ServerOptions['settings'], 'audit' | 'userRequests' | 'userConcurrency'>,
): void {
  const observe = httpMetrics(metrics);
  app.addHook('onRequest', async (request, reply) => {
    void reply.headers({ 'x-openstack-request-id': request.id, 'x-content-type-options': 'nosniff' });
  });
  if (userRequests > 0) limitRates(app, userRequests);
  if (userConcurrency > 0) limitConcurrency(app, userConcurrency);
  // A list of 10,000 resources has 7 MB. Requests that share an answer share its bytes.
  const written = new WeakMap<object, Promise<LargeAnswer>>();
  app.addHook('preSerialization', async (_request, reply, payload) => {
    if (!isLargeJson(payload)) return payload;
    const answer = written.get(payload as object) ?? largeAnswer(payload);
    written.set(payload as object, answer);
    const { bytes, pieces, stream } = await answer;
    reply.pieces = pieces;
    // Fastify sends a stream that a serializer returns, but its types name only text.
    void reply.header('content-length', bytes).serializer(stream as unknown as () => string);
    return payload;
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions } = request;
    observe({ route: routeOptions.url, method, status: reply.statusCode, ms: reply.elapsedTime });
    // Log the route pattern and not the address, because addresses contain boot secrets and names.
    log.debug(
      {
        request: request.id,
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'answered',
    );
    const isForUsers = userPrefixes.some((prefix) => routeOptions.url?.startsWith(`${prefix}/`) === true);
    const audit = auditLineOf(request, { status: reply.statusCode, level, isForUsers });
    if (audit) log.info({ audit }, 'audit');
  });
}

function limitRates(app: FastifyInstance, perSecond: number): void {
  const setting = gatewaySettings.userRequests.env;
  const rates = new RequestRates({ perSecond, setting, elapsed: () => performance.now() });
  // The caller is known here, and the body is not read yet.
  app.addHook('preParsing', async ({ caller }, _reply, payload) => {
    if (caller?.kind === 'user') rates.count({ user: caller.access.user, project: caller.project });
    return payload;
  });
}

function limitConcurrency(app: FastifyInstance, most: number): void {
  const requests = new RequestsInProgress({ most, setting: gatewaySettings.userConcurrency.env });
  app.addHook('preParsing', async ({ caller }, reply, payload) => {
    if (caller?.kind !== 'user') return payload;
    const { raw } = reply;
    const end = requests.begin({ user: caller.access.user, project: caller.project });
    // A client that left while its token was read has already closed the connection.
    if (raw.destroyed || raw.socket?.destroyed === true) end();
    else raw.once('close', end);
    return payload;
  });
}

/** The hosts that one gateway serves over open connections. */
const mostHosts = 20_000;

/** Every family of routes by its prefix. */
function familiesOf(options: ServerOptions & { upgrades: Upgrades }, report: Report): Family[] {
  const { context, settings, ask, askForHost, authenticate, keystone, wakeups, images, stopping } = options;
  const { upgrades, version } = options;
  const { bus, store, secrets, newId, gatewayUrl } = context;
  const now = (): number => context.now().getTime();
  const wording = apiWording;
  const places = createStreamPlaces(settings.maxStreams);
  const zaqar = zaqarOptions(options, report);
  const userKey = (accessKey: string) => ec2Key(keystone, accessKey);
  const configLimit = { bytes: settings.configLimit, setting: gatewaySettings.configLimit.env };
  const shared = { ask, bus, secrets, authenticate, configLimit, version, report };
  const { replicas, repeats } = options;
  const heat = { ...shared, blobs: store.blobs, now: context.now, hiddenTags: settings.hiddenTags, replicas, repeats };
  const api = {
    ...shared,
    newId,
    now,
    wakeups,
    streams: createStreams({ places, stopping }),
    images,
    sockets: createEventSockets({ places, stopping, upgrades, now, heartbeatMs: settings.heartbeatMs }),
    heartbeatMs: settings.heartbeatMs,
    maxWaitSeconds: settings.maxWaitSeconds,
    stopping,
    gatewayUrl,
    allowedOrigins: settings.allowedOrigins,
    otherProjects: createOtherProjects(keystone.directory),
    directory: keystone.directory,
    replicas,
    repeats,
  };
  // Not the streams of users: each host keeps one open.
  const streams = createStreams({ places: createStreamPlaces(mostHosts), stopping });
  const { heartbeatMs } = settings;
  const machines = { ask: askForHost, images, now, wording, report };
  const agents = {
    ...zaqar,
    ask: askForHost,
    blobs: store.blobs,
    wording,
    agents: settings.agents,
    streams,
    heartbeatMs,
  };
  return [
    [identityPrefix, (scope) => identityFamily(scope, options, report)],
    [heatPrefix, (scope) => heatFamily(scope, heat)],
    [zaqarPrefix, (scope) => zaqarFamily(scope, zaqar)],
    ...dialects.map(
      (dialect) => [dialect.path, (scope: FastifyInstance) => zaqarVersionFamily(scope, zaqar, dialect)] as const,
    ),
    [ironicPrefix, (scope) => ironicFamily(scope, { ask, secrets, newId, version, authenticate, report })],
    [glancePrefix, (scope) => glanceFamily(scope, { ask, images, newId, version, authenticate, report })],
    [mistralPrefix, (scope) => mistralFamily(scope, { ask, newId, version, authenticate, report })],
    [cfnPrefix, (scope) => cfnFamily(scope, { ask: askForHost, secrets, wording, report, userKey, now: Date.now })],
    [tempUrlPrefix, (scope) => tempUrlFamily(scope, { ask: askForHost, secrets, wording, report, now })],
    [agentPrefix, (scope) => agentFamily(scope, agents)],
    ...metadataFamilies(options, report),
    [joinPrefix, (scope) => joinFamily(scope, { ask: askForHost, now, wording, report })],
    [docsFilesPrefix, (scope) => docsFiles(scope)],
    [consoleFilesPrefix, (scope) => consoleFiles(scope, settings.console)],
    ['/boot/v1', (scope) => bootFamily(scope, { ...machines, ramdisk: settings.ramdisk, gatewayUrl })],
    [bmcEventsPrefix, (scope) => bmcEventsFamily(scope, { context, now, wording, report })],
    [apiPrefix, (scope) => apiFamily(scope, api)],
  ];
}

/** The queues as Zaqar serves them. */
function zaqarOptions(options: ServerOptions, report: Report) {
  const { context, settings, ask, authenticate, keystone, wakeups, held, stopping, version } = options;
  return {
    ask,
    gatewayUrl: context.gatewayUrl,
    trusts: new SubscriberTrusts(keystone),
    newId: context.newId,
    secrets: context.secrets,
    now: Date.now,
    wakeups,
    held,
    stopping,
    maxWaitSeconds: settings.maxWaitSeconds,
    hostWaitSeconds: settings.hostWaitSeconds,
    version,
    limits: zaqarLimits(settings),
    bodyLimit: settings.bodyLimit,
    authenticate,
    report,
  };
}

type Family = readonly [prefix: string, build: (scope: FastifyInstance) => void];

function metadataFamilies({ askForHost, context, settings }: ServerOptions, report: Report): Family[] {
  const { secrets, region, now } = context;
  const { metadataNetworks: networks, metadataTokens } = settings;
  const metadata = {
    ask: askForHost,
    secrets,
    wording: apiWording,
    report,
    now: () => now().getTime(),
    region,
    needsSession: metadataTokens === 'required',
  };
  return [
    [metadataPrefix, (scope) => metadataFamily(scope, metadata)],
    ...(networks ? plainMetadataPrefixes : []).map((prefix): Family => [
      prefix,
      (scope) => plainMetadataFamily(scope, { ...metadata, networks: networks ?? [] }),
    ]),
  ];
}

function identityFamily(
  scope: FastifyInstance,
  { authenticate, keystone, version }: ServerOptions,
  report: Report,
): void {
  readJsonBodies(scope);
  wordErrors(scope, keystoneWording, report);
  requireToken(scope, authenticate, { unscoped: true });
  serveDocument(scope, {
    title: 'Identity',
    description: 'Compatible with Keystone v3: tokens, users, projects, roles and the catalog.',
    version,
    error: keystoneErrorSchema,
  });
  serveRoutes(scope, keystoneRoutes(keystone), { hasHead: true });
}

/** The limits of the queues, each with the setting that changes it. */
const zaqarLimits = (settings: ServerOptions['settings']) => ({
  page: { most: settings.queuePage, setting: gatewaySettings.queuePage.env },
  pop: { most: settings.queuePop, setting: gatewaySettings.queuePop.env },
  messageTtl: { most: settings.messageSeconds, setting: gatewaySettings.messageSeconds.env },
  claimTtl: { most: settings.claimSeconds, setting: gatewaySettings.claimSeconds.env },
});
