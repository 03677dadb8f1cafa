/** Questions about nodes. States and terms are Ironic's. */
import { z } from 'zod';
import { bmcHealthSchema } from '../bmc-health.ts';
import { call } from '../define.ts';
import { driverInfoSchemas, driverNames } from '../drivers.ts';
import { failureSchema } from '../failure.ts';
import { json, type Json, jsonObject, secretText } from '../json.ts';
import { provisionVerbs } from '../node-choices.ts';
import { occasionSchema } from '../origin.ts';
import { pageCounts, pageSchema } from '../page.ts';
import {
  nodeDescriptionSchema,
  nodeExtraSchema,
  nodeInterfacesSchema,
  nodeNameSchema,
  nodePropertiesSchema,
  nodeTextSchema,
  resourceClassSchema,
  traitsSchema,
} from './node-fields.ts';
import { nodeProgressSchema } from '../node-progress.ts';
import { conditionSchema } from './stacks.ts';

/** The provision states of Ironic that a node may have. */
export const nodeStates = [
  'enroll',
  'verifying',
  'manageable',
  'inspecting',
  'inspect failed',
  'available',
  'deploying',
  'wait call-back',
  'deploy failed',
  'active',
  'deleting',
  'cleaning',
  'clean failed',
  'error',
  'adopting',
  'adopt failed',
  'rescuing',
  'rescue',
  'rescue failed',
  'unrescuing',
  'unrescue failed',
  'servicing',
  'service failed',
  'clean hold',
  'deploy hold',
  'service hold',
] as const;
export type NodeState = (typeof nodeStates)[number];

/** The power states that a BMC reports, in Ironic's words. */
export const powerStates = ['power on', 'power off'] as const;

/** One step of a cleaning, a deployment or a service, in Ironic's form. */
export const nodeStepSchema = z.strictObject({
  interface: z.enum(['power', 'management', 'deploy', 'bios', 'raid', 'firmware']),
  step: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/, 'expected a name in lower case, such as erase_devices')
    .meta({ description: 'A step that the node does not have is refused, with the list of those that it has.' }),
  args: jsonObject.default({}),
});
export type NodeStep = z.output<typeof nodeStepSchema>;

/** The steps of one cleaning, deployment or service. */
export const nodeStepsSchema = z
  .array(nodeStepSchema)
  .min(1)
  .max(50)
  .refine((steps) => JSON.stringify(steps).length <= 65_536, 'expected at most 64 KiB');

/** A node as readers see it. */
export const nodeViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  driver: z.enum(driverNames),
  driver_info: jsonObject.meta({ description: 'Address and user of the BMC; the password never leaves the service.' }),
  provision_state: z.enum(nodeStates),
  target_provision_state: z.enum(nodeStates).nullable(),
  power_state: z.enum(powerStates).nullable().meta({ description: 'Null while unknown.' }),
  target_power_state: z.enum(powerStates).nullable(),
  resource_class: z.string(),
  traits: z.array(z.string()),
  properties: jsonObject.meta({ description: 'Normalised inventory: memory_mb, cpus, cpu_arch, interfaces, …' }),
  extra: jsonObject.default({}).meta({ description: 'As the operator wrote it down.' }),
  instance_id: z.string().nullable().meta({ description: 'The server it belongs to.' }),
  instance_info: jsonObject.meta({ description: 'What its server has, and what clients keep beside it.' }),
  maintenance: z.boolean(),
  maintenance_reason: z.string().nullable(),
  fault: z
    .string()
    .nullable()
    .meta({ description: 'Set and cleared by the system: `power failure`, `clean failure`, `identity mismatch`.' }),
  reservation: z.string().nullable().meta({
    description: 'The process that holds it, its step, the time since when, and the time until which it may last.',
  }),
  last_error: failureSchema.nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  provision_updated_at: z.iso.datetime().nullable(),
  retired: z.boolean().default(false).meta({ description: 'Gets no server any more.' }),
  retired_reason: z.string().nullable().default(null),
  protected: z.boolean().default(false).meta({ description: 'Refuses to release or rebuild its server.' }),
  protected_reason: z.string().nullable().default(null),
  owner: z.string().nullable().default(null).meta({ description: 'Project that owns the machine. Information only.' }),
  lessee: z.string().nullable().default(null).meta({ description: 'The only project whose servers it may get.' }),
  description: z.string().nullable().default(null),
  step: z
    .object({ ...nodeStepSchema.shape, at: z.number().int(), of: z.number().int() })
    .nullable()
    .default(null)
    .meta({ description: 'The step in progress, of those that an operator, a runbook or a template asked for.' }),
  chassis_id: z.string().nullable().default(null),
  shard: z.string().nullable().default(null).meta({ description: 'The group of nodes that one program looks after.' }),
  interfaces: z
    .record(z.string(), z.string())
    .default({})
    .meta({ description: 'The interfaces of its driver that an operator chose, by kind.' }),
  allocation_id: z.string().nullable().default(null).meta({ description: 'The allocation that holds it.' }),
  target_raid: jsonObject
    .default({})
    .meta({ description: 'What `raid.create_configuration` without arguments creates.' }),
  console_enabled: z.boolean().nullable().default(null).meta({ description: 'Null: the BMC decides.' }),
  version: z.number().int(),
  conditions: z.array(conditionSchema),
  bmc: bmcHealthSchema.nullable().default(null).meta({ description: 'Null in answers of older versions.' }),
  progress: nodeProgressSchema
    .nullable()
    .default(null)
    .meta({ description: 'How far its machine is with its disk. Null when it does not report that.' }),
});
export type NodeView = z.infer<typeof nodeViewSchema>;

/** Names a node, by its id or name. */
export const namedNode = z.object({ node: z.string() });

const answer = nodeViewSchema;

export const nodeEnrol = call('node.enrol', 'Enrol a node. With `provide`, also make it available.', {
  question: z.object({
    id: z.string(),
    name: nodeNameSchema,
    driver: z.enum(driverNames),
    driver_info: z.union([
      driverInfoSchemas.redfish.extend({ redfish_password: secretText.optional() }),
      driverInfoSchemas.ipmi.extend({ ipmi_password: secretText.optional() }),
      driverInfoSchemas['fake-hardware'],
    ]),
    chassis_id: z.string().nullable().default(null),
    shard: nodeTextSchema.default(null),
    interfaces: nodeInterfacesSchema.default({}),
    resource_class: resourceClassSchema.default('baremetal'),
    traits: traitsSchema.default([]),
    properties: nodePropertiesSchema.prefault({}),
    extra: nodeExtraSchema.default({}),
    instance_info: nodeExtraSchema.default({}),
    owner: nodeTextSchema.default(null),
    lessee: nodeTextSchema.default(null),
    description: nodeDescriptionSchema.default(null),
    provide: z
      .boolean()
      .default(false)
      .meta({ description: 'Continue through manage, inspect and clean to available.' }),
    at_once: z
      .boolean()
      .default(false)
      .meta({ description: 'A node without a machine is available at once, as for clients before 1.11.' }),
  }),
  answer,
});

export const nodeList = call('node.list', 'List all nodes.', {
  question: z.object({
    provision_state: z.enum(nodeStates).optional(),
    instance_id: z.string().optional().meta({ description: 'Only the node of this server.' }),
    limit: z.number().int().positive().max(1000).optional(),
    marker: z.string().optional(),
    page: pageSchema.optional().meta({ description: 'A page of all nodes, instead of the conditions above.' }),
  }),
  answer: z.object({ nodes: z.array(nodeViewSchema), ...pageCounts }),
});

export const nodeOverview = call(
  'node.overview',
  'Count all nodes by provision state, and show those with a fault, in a failed state, or that could not be verified.',
  {
    question: z.object({ most: z.number().int().positive().max(100) }),
    answer: z.object({
      counts: z.record(z.string(), z.number().int()),
      failed: z.array(nodeViewSchema).meta({
        description: 'At most `most` with a fault, `most` in failed states, and `most` that could not be verified.',
      }),
      failed_count: z.number().int(),
    }),
  },
);

export const nodeShow = call('node.show', 'Read a node by id or name.', { question: namedNode, answer });

export const nodeRemove = call('node.remove', 'Remove a node.', {
  question: namedNode.extend({
    force: z.boolean().optional().meta({
      description: 'In every state, also with a server, when it is in maintenance and its machine is proven to be off.',
    }),
  }),
  answer: z.object({}),
});

/** RFC 6902, limited to the operations that make sense for fields. */
export const nodePatchSchema = z
  .array(
    z.object({ op: z.enum(['add', 'replace', 'remove', 'test']), path: z.string().max(1024), value: json.optional() }),
  )
  .max(100);
export type NodePatch = z.infer<typeof nodePatchSchema>;

/** The patch with each value of driver_info converted. One may be the password, or hold it, so all are sealed on the bus. */
export const convertDriverInfo = (patch: NodePatch, convert: (value: Json) => Json): NodePatch =>
  patch.map((operation) =>
    operation.path.startsWith('/driver_info') && operation.value !== undefined
      ? { ...operation, value: convert(operation.value) }
      : operation,
  );

export const nodeUpdate = call(
  'node.update',
  'Change name, class, maintenance, access, traits, properties, extra or instance_info of a node by a JSON Patch. Values of driver_info are sealed.',
  {
    question: namedNode.extend({ patch: nodePatchSchema }),
    answer,
  },
);

/** The sender and its request. Absent: the sender does not say. */
const occasion = occasionSchema.optional();

/** How long a change of power may take, in seconds. */
export const powerTimeout = z.int().min(1).max(3600).meta({ description: 'Seconds until the change fails.' });

export const nodePower = call('node.power', 'Change the power state of a node; answered when the change is accepted.', {
  question: namedNode.extend({
    target: z.enum(['power on', 'power off', 'rebooting', 'soft power off', 'soft rebooting']),
    timeout: powerTimeout.optional(),
    occasion,
  }),
  answer,
});

export const nodeProvision = call('node.provision', 'Apply an Ironic verb to a node.', {
  question: namedNode.extend({
    target: z.enum(provisionVerbs),
    steps: nodeStepsSchema
      .optional()
      .meta({ description: 'For clean, rebuild and service: the steps to run, in this order.' }),
    runbook: z.string().min(1).max(255).optional().meta({ description: 'For clean and service: its steps.' }),
    rescue_password: secretText.optional().meta({ description: 'For rescue: the password of the rescue user.' }),
    occasion,
  }),
  answer,
});

/** Why a person states something about a machine. */
export const statedReasonSchema = z.string().trim().min(1).max(1024);

/** The sign that a machine runs which a person takes for off. */
export const offWarningSchema = z.string().nullable().meta({
  description: 'What speaks against it: its host asked for work after its BMC was last heard. Null: nothing.',
});

export const nodeConfirmOff = call(
  'node.off.confirm',
  'State that a machine is off, which its BMC cannot prove. What waits for the proof goes on.',
  {
    question: namedNode.extend({ reason: statedReasonSchema, occasion }),
    answer: z.object({ node: nodeViewSchema, warning: offWarningSchema }),
  },
);

export const nodeClearSuspect = call(
  'node.suspect.clear',
  'Forget the losses of the machine of a node, which placement takes like any other then.',
  { question: namedNode.extend({ occasion }), answer },
);

export const driverList = call('driver.list', 'List the drivers that nodes may have.', {
  question: z.object({}),
  answer: z.object({ drivers: z.array(z.enum(driverNames)) }),
});

/** A change of the state of a node. */
export const nodeHistoryEntrySchema = z.object({
  id: z.string(),
  at: z.iso.datetime(),
  from: z.enum(nodeStates),
  to: z.enum(nodeStates),
  reason: z.string(),
  failed: z.boolean(),
  actor: z.string(),
  cause: z.string(),
});
export type NodeHistoryEntry = z.infer<typeof nodeHistoryEntrySchema>;

export const nodeHistory = call('node.history', 'Read the last changes of the state of a node, newest first.', {
  question: namedNode,
  answer: z.object({ history: z.array(nodeHistoryEntrySchema) }),
});

export const nodeMaintenance = call('node.maintenance', 'Set or clear maintenance.', {
  question: namedNode.extend({ maintenance: z.boolean(), reason: z.string().optional() }),
  answer,
});
