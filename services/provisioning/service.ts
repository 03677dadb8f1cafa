/** The provisioning service: connects its parts, announces resource types and resumes unfinished work. */
import type { Death } from '@anneal/bus/port.ts';
import { routeMessages } from '@anneal/bus/consume/route.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { queuesOfService, resourcesQueue } from '@anneal/contracts/queues.ts';
import { provisioningTypes, withImages } from '@anneal/hot/types/provisioning.ts';
import { announceTypes } from '@anneal/provider/routes.ts';
import { serveAllCounts, serviceMetrics } from '@anneal/runtime/observe/service-metrics.ts';
import { defineService, type ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { createTimers, type Timers } from '@anneal/store/timers.ts';
import { Bmcs } from './bmcs.ts';
import { Allocations } from './allocations/allocations.ts';
import { Assets } from './assets/assets.ts';
import { PortClaims } from './assets/port-claims.ts';
import { Boots } from './boot/boots.ts';
import { adoptedServer } from './servers/adopted-server.ts';
import { Candidates } from './servers/candidates.ts';
import { ServerGroups } from './servers/groups.ts';
import { deployedServer } from './servers/deployed-server.ts';
import { ServerHosts } from './nodes/states/hosts.ts';
import { Lights } from './fake/lights.ts';
import { InspectionRules } from './inspection/rules.ts';
import { Images } from './images/images.ts';
import { Instances } from './servers/instances.ts';
import { Fencing } from './nodes/fencing.ts';
import { ironicPort } from './servers/ironic-port.ts';
import { NodeDriver } from './nodes/states/driver.ts';
import { HardwareRecords } from './nodes/hardware-settings.ts';
import { NodeRecords } from './documents/records.ts';
import { provisioningTimers } from './documents/timers.ts';
import { createSteps } from './nodes/states/steps.ts';
import { Nodes } from './nodes/nodes.ts';
import { Statements } from './nodes/statements.ts';
import { Runbooks } from './nodes/plan/runbooks.ts';
import { novaServer } from './servers/nova-server.ts';
import { Slots, type SlotsOptions } from './nodes/slots/slots.ts';
import { PowerPoll } from './nodes/power-poll.ts';
import { Servers, type ServerWork } from './servers/servers.ts';
import { provisioningHandler } from './requests.ts';
import { settings } from './settings.ts';

/** Messages of each queue that one process handles at the same time. */
const concurrency = 64;

export const provisioningService = defineService({
  name: 'provisioning',
  settings,
  async start(context, values) {
    const records = await NodeRecords.open(context, recordRulesOf(values));
    const bmcs = bmcsOf(context, records, values);
    const announce = async (names: readonly string[]): Promise<void> =>
      announceTypes(context, {
        provider: 'anneal.provisioning',
        queue: resourcesQueue('provisioning'),
        types: withImages(provisioningTypes, names),
      });
    const images = await Images.open({ context, accepted: values.images, announce });
    const hosts = new ServerHosts(context);
    const [timers, setTimers] = setLater<Timers>();
    const [slots, setSlots] = setLater<Slots>();
    const fencing = new Fencing({ bmcs, program: values.fenceProgram });
    const hardware = await HardwareRecords.open({ context, bmcs });
    const rules = await InspectionRules.open(context);
    const claims = await PortClaims.open(context, records);
    const steps = createSteps({
      rules,
      claims,
      context,
      records,
      bmcs,
      hosts,
      slots,
      fencing,
      hardware,
      bootRetryMs: values.bootRetrySeconds * 1000,
      bootLoadMs: values.bootLoadSeconds * 1000,
    });
    const driver = new NodeDriver({ context, records, bmcs, steps, timers, budgets: budgetsOf(values) });
    setSlots(await openSlots({ context, records, images, driver }, values));
    const runbooks = await Runbooks.open(context);
    const candidates = new Candidates(() => records.all());
    const groups = await ServerGroups.open(context);
    const { deployAttempts: attempts, bmcSeconds, testDriver: hasTestDriver, bmcEvents: events } = values;
    const another = { records, driver, fencing, now: context.now, attempts, fenceMs: bmcSeconds * 1000 };
    const shared = { context, records, candidates, groups, bmcs, hosts, driver, runbooks, slots, another, claims };
    const servers = await openServers(shared, { timers, images, flavors: values.flavors });
    const limit = { most: values.nodes, setting: settings.nodes.env };
    const readings = { bmcs, pollMs: values.pollSeconds * 1000 };
    const assets = await Assets.open(context, records, claims);
    const allocations = await Allocations.open(context, records);
    const lights = new Lights(records);
    const nodeParts = { context, records, driver, runbooks, slots: slots(), assets, claims, hardware, hasTestDriver };
    const nodes = new Nodes({ ...nodeParts, limit, readings });
    const wakeWaiting = wakeServers(context, records, servers);
    const statements = statementsOf(shared, { nodes, servers, wakeWaiting });
    const boots = new Boots({ context, records, driver, images, erase: values.erase });
    const polled = { context, records, bmcs, events, everyMs: readings.pollMs, sensorsMs: values.sensorSeconds * 1000 };
    const poll = new PowerPoll({ ...polled, onHealed: wakeWaiting });

    setTimers(await openTimers(context, { driver, servers }));

    const { bus } = context;
    const onDeath = (death: Death): Promise<void> => boots.unheard(death);
    const ofHosts = routeMessages([boots.hostUp(), boots.hostSilent()]);
    const up = await bus.subscribe(['host.up', 'host.silent'], ofHosts, { group: 'provisioning', onDeath });
    const instances = new Instances({ records, now: () => performance.now() });
    const asked = { nodes, statements, boots, runbooks, images, instances };
    const parts = { ...asked, servers, assets, allocations, lights, rules };
    const handler = provisioningHandler(context, parts);
    // An earlier version announced the queue of the questions, where requests may still wait.
    const requests = await Promise.all(
      queuesOfService('provisioning').map((queue) => bus.consume(queue, handler, { concurrency, onDeath })),
    );
    await images.announce();
    const publishing = await Promise.all([records, assets, allocations].map((each) => each.keepPublishing()));
    await driver.resumeAll();
    await allocations.resumeAll();
    await servers.resumeAll();
    await poll.start();
    const stopCounts = serveNodeCounts(context, records);

    return {
      async stop() {
        stopCounts();
        await Promise.all([up, allocations, ...requests, ...publishing].map((each) => each.stop()));
        slots().stop();
        await timers().stop();
        // An unresponsive controller must not delay the stop. Steps are interrupted and repeated at the next start.
        await Promise.all([servers.stop(), driver.stop(), poll.stop(), bmcs.close()]);
      },
    };
  },
});

type Given = SettingsOf<typeof settings>;

const recordRulesOf = ({ placeholderIds: placeholders, lossesADay }: Given) => ({ placeholders, lossesADay });

const bmcsOf = ({ secrets, now, gatewayUrl }: ServiceContext, records: NodeRecords, given: Given): Bmcs =>
  new Bmcs({
    records,
    secrets,
    trust: given.verifyCa,
    placeholders: given.placeholderIds,
    now: () => now().getTime(),
    gatewayUrl,
  });

type ServerParts = Omit<Parameters<typeof novaServer>[0], 'images' | 'imageOf' | 'flavors' | 'current'>;

/** The servers, by the type of their resource. */
async function openServers(
  shared: ServerParts & { readonly claims: PortClaims },
  { timers, images, flavors }: { timers: () => Timers; images: Images; flavors: Given['flavors'] },
): Promise<Servers> {
  const { context, records, groups, hosts, claims } = shared;
  const servers: Servers = await Servers.open({
    context,
    timers,
    work: workOf(
      {
        'OS::Nova::Server': novaServer({
          ...shared,
          images: () => images.names(),
          imageOf: (name) => images.find(name),
          flavors,
          current: (id) => servers.get(id),
        }),
        'OS::Heat::DeployedServer': deployedServer({ context, hosts }),
        'OS::Nova::ServerGroup': groups.work,
        'OS::Ironic::Port': ironicPort({ context, records, claims }),
      },
      adoptedServer({ context, hosts }),
    ),
  });
  return servers;
}

const statementsOf = (
  { context, records, driver, bmcs, hosts }: ServerParts,
  { nodes, servers, wakeWaiting }: { nodes: Nodes; servers: Servers; wakeWaiting: () => void },
): Statements =>
  new Statements({
    context,
    records,
    driver,
    bmcs,
    hosts,
    wakeWaiting,
    wake: (server) => servers.kick(server),
    view: (node) => nodes.view(node),
  });

const serveNodeCounts = (context: ServiceContext, records: NodeRecords): (() => void) =>
  serveAllCounts(context, [
    { definition: serviceMetrics.nodes, count: () => records.countByState() },
    { definition: serviceMetrics.faultyNodes, count: () => records.countByFault() },
  ]);

/** A part that needs parts which need it: read after the start, set once during it. */
function setLater<T>(): [get: () => T, set: (value: T) => void] {
  let held: { readonly value: T } | undefined;
  const get = (): T => {
    if (!held) throw new AnnealError('Unavailable', 'The provisioning service has not started yet.');
    return held.value;
  };
  return [get, (value) => void (held = { value })];
}

const openTimers = (
  { bus, store, now, log }: ServiceContext,
  { driver, servers }: { driver: NodeDriver; servers: Servers },
): Promise<Timers> =>
  createTimers({
    store,
    collection: 'provisioning_timers',
    permission: bus.permission,
    now: () => now().getTime(),
    fire: async (stored) => {
      const timer = provisioningTimers.read(stored);
      switch (timer.kind) {
        case 'node':
          driver.kick(timer.node);
          return;
        case 'server':
          servers.kick(timer.server);
      }
    },
    onError: (error, timer) => log.error({ err: error, timer: timer.id }, 'timer failed; retrying'),
  });

const budgetsOf = (values: Given) => ({
  bmcMs: values.bmcSeconds * 1000,
  bootMs: values.bootSeconds * 1000,
  cleanMs: values.cleanSeconds * 1000,
  stepsMs: values.stepsSeconds * 1000,
  stallMs: values.stallSeconds * 1000,
  totalMs: values.totalSeconds * 1000,
  cleanOnProvide: values.cleanOnProvide,
});

const openSlots = (
  {
    context,
    records,
    images,
    driver,
  }: Pick<SlotsOptions, 'context' | 'records'> & { images: Images; driver: NodeDriver },
  values: Given,
): Promise<Slots> =>
  Slots.open({
    context,
    records,
    limits: limitsOf(values),
    imageServer: (image) => images.origin(image),
    wake: (id) => driver.kick(id),
  });

const limitsOf = (values: Given) => ({
  deploy: values.deploys,
  clean: values.cleans,
  erase: values.erases,
});

/** The work of a type of server, by action. */
type Family = Readonly<Partial<Record<string, ServerWork>>>;

/** The work for a server by its type and action. A server that no family serves fails. */
const workOf =
  (families: Readonly<Record<string, Family>>, adopted: Family): ServerWork =>
  (server, request) => {
    const isAdopted = server.adopted_host !== undefined;
    const work = (isAdopted ? adopted : families[server.type])?.[server.action];
    if (work) return work(server, request);
    const known = Object.keys(families).join(' and ');
    const why = families[server.type]
      ? `does not support the action ${server.action}`
      : `is not served by this provider; it serves ${known}`;
    return Promise.resolve({ kind: 'failed', error: new AnnealError('NotSupported', `${server.type} ${why}.`) });
  };

/** Wakes servers when their node changes. Returns the function that wakes those that wait for a node. */
function wakeServers({ log }: ServiceContext, records: NodeRecords, servers: Servers): () => void {
  const wakeWaiting = (): void => {
    servers
      .kickWaiting()
      .catch((error: unknown) =>
        log.error({ err: error }, 'servers that wait for a node not woken; their timers retry'),
      );
  };
  records.onStateChange((after, before) => {
    if (before.instance_id !== null) servers.kick(before.instance_id);
    if (after.instance_id !== null) servers.kick(after.instance_id);
    if (after.state === 'available') wakeWaiting();
  });
  return wakeWaiting;
}
