/**
 * All services in one process, for the bench of nodes. The parent gets a message for each change of power and of fault,
 * and asks for what the process has used. It ends when the parent ends.
 */
import { mkdir } from 'node:fs/promises';
import { configurationService } from '@anneal/configuration/service.ts';
import { nodeEvent, type NodeEventData } from '@anneal/contracts/events.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { identityService } from '@anneal/identity/service.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { startServices } from '@anneal/runtime/service/serve.ts';
import type { Service } from '@anneal/runtime/service/service.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';
import { countedBus, countedStore, noCounts, type Counts } from '../counted.ts';
import { liveMemory } from '../live-memory.ts';

export interface NodeServerQuestion {
  readonly kind: 'use' | 'memory';
}
export type NodeServerAnswer =
  | { readonly kind: 'ready' }
  | ({ readonly kind: 'use'; readonly cpuMicros: number; readonly rss: number } & Counts)
  | { readonly kind: 'memory'; readonly bytes: number }
  | { readonly kind: 'noticed'; readonly node: string; readonly what: string; readonly at: number };

const tell = (answer: NodeServerAnswer): void => void process.send?.(answer);

const counts = noCounts();

/** Counts what the service does, and tells the parent of each published change of a node. */
const watched = (service: Service): Service => ({
  ...service,
  start: (context, settings) => {
    const bus = countedBus(context.bus, counts, ({ type, data }) => {
      const { name, power_state: power, fault } = data as NodeEventData;
      if (type === nodeEvent.powerChanged.type)
        tell({ kind: 'noticed', node: name, what: String(power), at: Date.now() });
      if (type === nodeEvent.faultChanged.type)
        tell({ kind: 'noticed', node: name, what: fault ?? 'no fault', at: Date.now() });
    });
    return service.start({ ...context, bus, store: countedStore(context.store, counts) }, settings);
  },
});

await mkdir(process.env['ANNEAL_DATA'] ?? '', { recursive: true });
const running = await startServices({
  services: [
    identityService,
    templatingService,
    schedulingService,
    provisioningService,
    configurationService,
    notificationService,
    gatewayService,
  ].map((service) => watched(service as Service)),
  environment: process.env,
});

process.once('disconnect', () => void running.stop().finally(() => process.exit()));
process.on('message', (question: NodeServerQuestion) => {
  if (question.kind === 'memory') return tell({ kind: 'memory', bytes: liveMemory() });
  const { user, system } = process.cpuUsage();
  tell({ kind: 'use', ...counts, cpuMicros: user + system, rss: process.memoryUsage.rss() });
});
tell({ kind: 'ready' });
