/**
 * All services in one process, for the bench of hosts. The parent asks it over IPC for hosts and for what it has used.
 * It ends when the parent ends.
 */
import { mkdir } from 'node:fs/promises';
import { configurationService } from '@anneal/configuration/service.ts';
import { hostCreate } from '@anneal/contracts/calls/hosts.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { deploymentEvent } from '@anneal/contracts/events.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { identityService } from '@anneal/identity/service.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { startServices } from '@anneal/runtime/service/serve.ts';
import type { Service, ServiceContext } from '@anneal/runtime/service/service.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';
import { countedBus, countedStore, noCounts, type Counts } from '../counted.ts';
import { liveMemory } from '../live-memory.ts';

export interface BenchHost {
  readonly id: string;
  readonly token: string;
}

export interface ServerUse extends Counts {
  /** Processor time of this process since its start. */
  readonly cpuMicros: number;
  readonly rss: number;
  /** Milliseconds from the queueing of a deployment to its end, of those that completed since the last `use`. */
  readonly latencies: readonly number[];
}

export type ServerQuestion =
  | { readonly kind: 'hosts'; readonly project: string; readonly from: number; readonly count: number }
  /** Answered when so many deployments have completed since the last `use`. */
  | { readonly kind: 'await'; readonly completed: number }
  | { readonly kind: 'use' }
  /** Collects the garbage. */
  | { readonly kind: 'memory' };
export type ServerAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'hosts'; readonly hosts: readonly BenchHost[] }
  | { readonly kind: 'reached' }
  | ({ readonly kind: 'use' } & ServerUse)
  | { readonly kind: 'memory'; readonly bytes: number };

/** Hosts that are created at the same time. */
const atOnce = 50;

const counts = noCounts();
let context: ServiceContext | undefined;

const queuedAt = new Map<string, number>();
let latencies: number[] = [];
let onCompleted = (): void => undefined;

function note({ type, subject = '', time }: Envelope): void {
  if (type === deploymentEvent.queued.type) queuedAt.set(subject, Date.parse(time));
  if (type !== deploymentEvent.completed.type) return;
  const since = queuedAt.get(subject);
  // An event may be published twice.
  if (since === undefined) return;
  latencies.push(Date.now() - since);
  queuedAt.delete(subject);
  onCompleted();
}

function awaitCompleted(count: number): void {
  onCompleted = () => {
    if (latencies.length < count) return;
    onCompleted = () => undefined;
    tell({ kind: 'reached' });
  };
  onCompleted();
}

const counting = (service: Service): Service => ({
  ...service,
  start: (given, settings) => {
    const counted = { ...given, bus: countedBus(given.bus, counts, note), store: countedStore(given.store, counts) };
    context = counted;
    return service.start(counted, settings);
  },
});

async function createHosts({ project, from, count }: { project: string; from: number; count: number }) {
  const hosts: BenchHost[] = [];
  for (let first = from; first < from + count; first += atOnce) {
    const numbers = Array.from({ length: Math.min(atOnce, from + count - first) }, (_, index) => first + index);
    hosts.push(...(await Promise.all(numbers.map((number) => createOne(project, number)))));
  }
  return hosts;
}

async function createOne(project: string, number: number): Promise<BenchHost> {
  if (!context) throw new Error('No service has started.');
  const { bus, mint, newId } = context;
  const { host, token } = await bus.request({
    queue: requestsQueue('configuration'),
    call: hostCreate,
    message: mint(hostCreate, { project, data: { id: newId(), name: `host${number}`, project } }),
  });
  return { id: host.id, token };
}

function use(): ServerUse {
  const { user, system } = process.cpuUsage();
  const taken = latencies;
  latencies = [];
  return { ...counts, cpuMicros: user + system, rss: process.memoryUsage.rss(), latencies: taken };
}

const tell = (answer: ServerAnswer): void => void process.send?.(answer);

const data = process.env['ANNEAL_DATA'] ?? '';
await mkdir(data, { recursive: true });
const running = await startServices({
  services: [
    identityService,
    templatingService,
    schedulingService,
    provisioningService,
    configurationService,
    notificationService,
    gatewayService,
  ].map((service) => counting(service as Service)),
  environment: process.env,
});

process.once('disconnect', () => void running.stop().finally(() => process.exit()));
process.on('message', (question: ServerQuestion) => {
  if (question.kind === 'use') tell({ kind: 'use', ...use() });
  else if (question.kind === 'memory') tell({ kind: 'memory', bytes: liveMemory() });
  else if (question.kind === 'await') awaitCompleted(question.completed);
  else void createHosts(question).then((hosts) => tell({ kind: 'hosts', hosts }));
});
tell({ kind: 'ready' });
