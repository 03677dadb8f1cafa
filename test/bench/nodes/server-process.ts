/**
 * All services in one process, for the bench of nodes. The parent gets a message for each change of power and of fault,
 * and asks for what the process has used. It ends when the parent ends.
 */
import { mkdir } from 'node:fs/promises';
import { configurationService } from '@anneal/configuration/service.ts';
import { nodeEvent, type NodeEventData } from '@anneal/contracts/events.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { startServices } from '@anneal/runtime/service/serve.ts';
import type { Service } from '@anneal/runtime/service/service.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';
import { countedBus, noCounts } from '../counted.ts';

export interface NodeServerQuestion {
  readonly kind: 'use';
}
export type NodeServerAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'use'; readonly cpuMicros: number; readonly rss: number }
  | { readonly kind: 'noticed'; readonly node: string; readonly what: string; readonly at: number };

const tell = (answer: NodeServerAnswer): void => void process.send?.(answer);

/** Tells the parent of each published change of a node. */
const watched = (service: Service): Service => ({
  ...service,
  start: (context, settings) => {
    const bus = countedBus(context.bus, noCounts(), ({ type, data }) => {
      const { name, power_state: power, fault } = data as NodeEventData;
      if (type === nodeEvent.powerChanged.type)
        tell({ kind: 'noticed', node: name, what: String(power), at: Date.now() });
      if (type === nodeEvent.faultChanged.type)
        tell({ kind: 'noticed', node: name, what: fault ?? 'no fault', at: Date.now() });
    });
    return service.start({ ...context, bus }, settings);
  },
});

await mkdir(process.env['ANNEAL_DATA'] ?? '', { recursive: true });
const running = await startServices({
  services: [
    templatingService,
    schedulingService,
    watched(provisioningService),
    configurationService,
    notificationService,
    gatewayService,
  ],
  environment: process.env,
});

process.once('disconnect', () => void running.stop().finally(() => process.exit()));
process.on('message', (_question: NodeServerQuestion) => {
  const { user, system } = process.cpuUsage();
  tell({ kind: 'use', cpuMicros: user + system, rss: process.memoryUsage.rss() });
});
tell({ kind: 'ready' });
