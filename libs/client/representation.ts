/**
 * The answers of the gateway's APIs, as far as this client reads them. Fields of Heat and Ironic that the client does
 * not need pass through unread, so that a newer gateway never breaks an older client.
 */
import { bmcHealthSchema } from '@anneal/contracts/bmc-health.ts';
import { nodeProgressSchema } from '@anneal/contracts/node-progress.ts';
import { failureSchema, mistakeSchema } from '@anneal/contracts/failure.ts';
import { json, jsonObject } from '@anneal/contracts/json.ts';
import { driftSchema } from '@anneal/contracts/drift.ts';
import { z } from 'zod';

const failure = z.object({
  code: z.string(),
  message: z.string(),
  remedy: z.string().optional(),
  mistakes: z.array(mistakeSchema).optional(),
  details: z.record(z.string(), z.unknown()).optional(),
});
const condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  message: z.string(),
  since: z.string(),
});
const time = z.string().nullable().default(null);

/** A stack in a list. */
export const stackRowSchema = z.looseObject({
  id: z.string(),
  stack_name: z.string(),
  stack_status: z.string(),
  stack_status_reason: z.string().nullable().default(''),
  creation_time: time,
  updated_time: time,
  /** When the last action ended. Null while one runs, and from older gateways. */
  finished_at: time,
  cancelled: z.boolean().default(false),
  tags: z.array(z.string()).nullable().default(null),
  /** The id of its project, in a list over all projects. */
  project: z.string().optional(),
});
/** A stack in a list. */
export type StackRow = z.infer<typeof stackRowSchema>;

/** An output of a stack. */
export const outputSchema = z.looseObject({
  output_key: z.string(),
  description: z.string().nullable().default(''),
  output_value: json.optional(),
  output_error: z.string().optional(),
});
/** An output of a stack. Its value is null until its resources are complete. */
export type OutputRepresentation = z.infer<typeof outputSchema>;

/** One stack with all its fields. */
export const stackSchema = stackRowSchema.extend({
  description: z.string().nullable().default(''),
  parameters: jsonObject.default({}),
  outputs: z.array(outputSchema).optional(),
  timeout_mins: z.number().nullable().default(null),
  on_failure: z.string().default('keep'),
  failures: z.array(z.object({ resource: z.string(), type: z.string(), failure })).default([]),
  conditions: z.array(condition).default([]),
});
/** A stack with its parameters and outputs. */
export type Stack = z.infer<typeof stackSchema>;

/** A resource of a stack. */
export const resourceSchema = z.looseObject({
  resource_name: z.string(),
  resource_type: z.string(),
  resource_status: z.string(),
  resource_status_reason: z.string().nullable().default(''),
  physical_resource_id: z.string().nullable().default(''),
  creation_time: time,
  updated_time: time,
  required_by: z.array(z.string()).default([]),
  started_at: time,
  finished_at: time,
  attributes: jsonObject.optional(),
  failure: failure.nullish(),
  hook: z.object({ name: z.string(), since: z.string(), kind: z.string(), deadline: z.string().nullable() }).optional(),
  drift: z.array(driftSchema).optional(),
  parent_resource: z.string().optional(),
  links: z.array(z.object({ href: z.string(), rel: z.string() })).default([]),
  conditions: z.array(condition).optional(),
});
/** A resource of a stack. */
export type Resource = z.infer<typeof resourceSchema>;

/** An event of a stack in a list. */
export const stackEventRowSchema = z.looseObject({
  id: z.string(),
  event_time: z.string(),
  resource_name: z.string(),
  resource_status: z.string(),
  resource_status_reason: z.string().nullable().default(''),
  physical_resource_id: z.string().nullable().default(null),
  links: z.array(z.object({ rel: z.string(), href: z.string() })).default([]),
});
/** An event of a stack in Heat's form. */
export type StackEventRow = z.infer<typeof stackEventRowSchema>;

const nodeConsoleSchema = z.object({
  kind: z.enum(['serial', 'graphical', 'shell']),
  protocol: z.string(),
  url: z.string(),
  command: z.array(z.string()).nullable(),
  enter: z.string().nullable(),
  leave: z.string().nullable(),
});
/** A console of a node, and how to reach it. */
export type NodeConsole = z.infer<typeof nodeConsoleSchema>;

/** A node. Absent fields are null. */
export const nodeSchema = z.looseObject({
  uuid: z.string(),
  name: z.string().nullable().default(null),
  provision_state: z.string().nullable().default(null),
  target_provision_state: z.string().nullable().default(null),
  power_state: z.string().nullable().default(null),
  target_power_state: z.string().nullable().default(null),
  instance_uuid: z.string().nullable().default(null),
  /** The server that the node has: `name`, `project`. Empty without one. */
  instance_info: z.looseObject({ name: z.string().optional() }).nullable().default(null),
  resource_class: z.string().nullable().default(null),
  maintenance: z.boolean().default(false),
  maintenance_reason: z.string().nullable().default(null),
  fault: z.string().nullable().default(null),
  last_error: z.unknown(),
  consoles: z.array(nodeConsoleSchema).nullable().default(null),
  bmc: bmcHealthSchema.nullable().default(null),
  progress: nodeProgressSchema.nullable().default(null),
});
/** A node in Ironic's form. */
export type NodeRepresentation = z.infer<typeof nodeSchema>;

/** An inspection rule in Ironic's form. A list, and a sensitive rule, have no conditions and actions. */
export const inspectionRuleSchema = z.looseObject({
  uuid: z.string(),
  description: z.string().nullable().default(null),
  priority: z.number(),
  sensitive: z.boolean().default(false),
  conditions: z.array(z.unknown()).nullable().default(null),
  actions: z.array(z.unknown()).nullable().default(null),
  created_at: z.string().nullable().default(null),
});
/** A rule that changes nodes after their inspection. */
export type InspectionRuleRepresentation = z.infer<typeof inspectionRuleSchema>;

/** A change of the state of a node in Ironic's form. */
export const nodeHistoryRowSchema = z.looseObject({
  uuid: z.string(),
  created_at: z.string(),
  severity: z.string(),
  event: z.string(),
  user: z.string().nullable().default(null),
});
/** A change of the state of a node. */
export type NodeHistoryRow = z.infer<typeof nodeHistoryRowSchema>;

/** The boot device of a node in Ironic's form. */
export const bootDeviceStateSchema = z.looseObject({
  boot_device: z.string().nullable(),
  persistent: z.boolean().nullable(),
});
/** The device that a machine boots from. Null: it boots in its own order. */
export type BootDeviceState = z.infer<typeof bootDeviceStateSchema>;

/** A sensor of a machine. */
export const sensorRowSchema = z.looseObject({
  name: z.string(),
  kind: z.string(),
  reading: z.number().nullable(),
  unit: z.string().nullable(),
  state: z.string(),
});
/** The serial console of a machine, as its BMC keeps it. */
export const consoleLogRowsSchema = z.looseObject({
  lines: z.array(z.looseObject({ id: z.string(), at: z.string().nullable(), text: z.string() })),
  total: z.number(),
});
/** The last lines of the serial console of a machine, oldest first, and how many its BMC keeps. */
export type ConsoleLogRows = z.infer<typeof consoleLogRowsSchema>;
/** A sensor of a machine. */
export type SensorRow = z.infer<typeof sensorRowSchema>;

/** The answer to the statement that a machine is off: what speaks against it. */
export const offConfirmationSchema = z.looseObject({ warning: z.string().nullable() });

/** A queue in a list, with its measures. */
export const queueRowSchema = z.looseObject({
  name: z.string(),
  kind: z.string(),
  depth: z.number(),
  in_flight: z.number(),
  consumers: z.number().nullable(),
  oldest_age_ms: z.number().nullable(),
  host_id: z.string().nullish(),
  received: z.number().nullish(),
});
/** A queue and its numbers. */
export type QueueRow = z.infer<typeof queueRowSchema>;

/** A dead letter as the gateway shows it: all fields from the bus, and certainly these. */
export const deadLetterSchema = z.looseObject({ id: z.string() });
/** The end of a dead letter that was sent again. Earlier gateways do not report it. */
export const replayedSchema = z.looseObject({
  outcome: z.enum(['sent', 'handled', 'died']).default('sent'),
  dead_letter: z.string().optional(),
  failure: failureSchema.optional(),
});
/** A replayed dead letter: `sent` when it had no end within the wait. */
export type ReplayedLetter = z.infer<typeof replayedSchema>;

/** A dead letter in a list. */
export type DeadLetterRow = z.infer<typeof deadLetterSchema>;

/** A message of a queue as a peek shows it: an envelope from a service queue, a Zaqar message from any other. */
export const peekedSchema = z.looseObject({ id: z.string() });
/** A message that stays in its queue. */
export type Peeked = z.infer<typeof peekedSchema>;

/** The name and version of the gateway. */
export const infoSchema = z.looseObject({
  name: z.string().optional(),
  version: z.string().optional(),
  /** Absent in answers of older servers. */
  limits: z.looseObject({ body_bytes: z.number() }).optional(),
});
/** The name, the version and the limits of the gateway. */
export type Info = z.infer<typeof infoSchema>;

/** A replica of a service: one process, as its latest sign of life reports it. */
export const replicaRowSchema = z.looseObject({
  id: z.string(),
  machine: z.string(),
  pid: z.number(),
  version: z.string(),
  status: z.string(),
  /** Why it is not ready; empty when it is. */
  reason: z.string(),
  started_at: z.string(),
  heard_at: z.string(),
  shards: z.array(z.number()),
});
/** A replica of a service. */
export type ReplicaRow = z.infer<typeof replicaRowSchema>;

/** A service in a list. Earlier servers do not name its replicas. */
export const serviceRowSchema = z.looseObject({
  name: z.string(),
  status: z.string(),
  depth: z.number().nullish(),
  in_flight: z.number().nullish(),
  oldest_age_ms: z.number().nullish(),
  replicas: z.array(replicaRowSchema).default([]),
  /** How many consumers of its requests show no sign of life. */
  unreported: z.number().default(0),
});
/** A service, its numbers and its replicas. */
export type ServiceRow = z.infer<typeof serviceRowSchema>;
