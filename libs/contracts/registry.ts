/** Every message on the wire, by its type. */
import * as alarms from './calls/alarms.ts';
import * as allocations from './calls/allocations.ts';
import * as assets from './calls/assets.ts';
import * as credentials from './calls/credentials.ts';
import * as quotas from './calls/quotas.ts';
import * as identity from './calls/identity.ts';
import type { Definition } from './define.ts';
import * as events from './events.ts';
import * as groupEvents from './group-events.ts';
import * as inspectionRules from './calls/inspection-rules.ts';
import * as measuring from './calls/measuring.ts';
import * as hosts from './calls/hosts.ts';
import * as queues from './calls/queues.ts';
import * as hostMessages from './calls/host-messages.ts';
import * as configs from './calls/configs.ts';
import * as deployments from './calls/deployments.ts';
import * as context from './calls/context.ts';
import * as output from './output.ts';
import * as subscriptions from './calls/subscriptions.ts';
import * as queueSubscriptions from './calls/queue-subscriptions.ts';
import * as deliveries from './calls/deliveries.ts';
import * as eventLog from './calls/event-log.ts';
import * as mail from './calls/mail.ts';
import * as nodes from './calls/nodes.ts';
import * as nodeHardware from './calls/node-hardware.ts';
import * as runbooks from './calls/runbooks.ts';
import * as boot from './calls/boot.ts';
import * as images from './calls/images.ts';
import * as stacks from './calls/stacks.ts';
import * as resources from './calls/resources.ts';
import * as stackHistory from './calls/stack-history.ts';
import * as previews from './calls/previews.ts';
import * as stackProgress from './calls/stack-progress.ts';
import * as resource from './resource.ts';
import * as scaling from './calls/scaling.ts';
import * as templating from './calls/templating.ts';
import * as workflow from './calls/workflow.ts';

const isDefinition = (value: unknown): value is Definition =>
  typeof value === 'object' &&
  value !== null &&
  'kind' in value &&
  'type' in value &&
  'data' in value &&
  'description' in value;

/** A file exports definitions singly or in a record of a family. */
const within = (file: object): Definition[] =>
  Object.values(file).flatMap((value: unknown) =>
    isDefinition(value)
      ? [value]
      : typeof value === 'object' && value !== null
        ? Object.values(value).filter(isDefinition)
        : [],
  );

const files = {
  configuration: { ...hosts, ...queues, ...hostMessages, ...configs, ...deployments, ...context, ...output },
  events: { ...events, ...groupEvents },
  notification: {
    ...subscriptions,
    ...queueSubscriptions,
    ...deliveries,
    ...eventLog,
    ...mail,
    ...measuring,
    ...alarms,
    ...credentials,
  },
  identity,
  provisioning: {
    ...nodes,
    ...nodeHardware,
    ...runbooks,
    ...boot,
    ...images,
    ...assets,
    ...allocations,
    ...inspectionRules,
  },
  quotas,
  resource,
  scaling,
  scheduling: { ...stacks, ...resources, ...stackHistory, ...previews, ...stackProgress },
  templating,
  workflow,
};

/** Definitions by the file that declares them. */
export const definitionsByFile: Record<string, Definition[]> = Object.fromEntries(
  Object.entries(files).map(([name, file]) => [name, within(file)]),
);

/** Every kind of message, by its type. */
export const registry: ReadonlyMap<string, Definition> = new Map(
  Object.values(definitionsByFile)
    .flat()
    .map((definition) => [definition.type, definition]),
);
