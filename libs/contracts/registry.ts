/** Every message on the wire, by its type. */
import * as alarms from './calls/alarms.ts';
import * as allocations from './calls/allocations.ts';
import * as assets from './calls/assets.ts';
import * as credentials from './calls/credentials.ts';
import * as quotas from './calls/quotas.ts';
import * as configuration from './calls/configuration.ts';
import * as identity from './calls/identity.ts';
import type { Definition } from './define.ts';
import * as events from './events.ts';
import * as groupEvents from './group-events.ts';
import * as inspectionRules from './calls/inspection-rules.ts';
import * as measuring from './calls/measuring.ts';
import * as notification from './calls/notification.ts';
import * as provisioning from './calls/provisioning.ts';
import * as resource from './resource.ts';
import * as scaling from './calls/scaling.ts';
import * as scheduling from './calls/scheduling.ts';
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
  configuration,
  events: { ...events, ...groupEvents },
  notification: { ...notification, ...measuring, ...alarms, ...credentials },
  identity,
  provisioning: { ...provisioning, ...assets, ...allocations, ...inspectionRules },
  quotas,
  resource,
  scaling,
  scheduling,
  templating,
  workflow,
};

/** Definitions by the file that declares them. */
export const definitionsByFile: Record<string, Definition[]> = Object.fromEntries(
  Object.entries(files).map(([name, file]) => [name, within(file)]),
);

export const registry: ReadonlyMap<string, Definition> = new Map(
  Object.values(definitionsByFile)
    .flat()
    .map((definition) => [definition.type, definition]),
);
