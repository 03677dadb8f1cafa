/** Questions to the provisioning service. Node states and terms are Ironic's. */
import { z } from 'zod';
import { pageCounts, pageSchema } from '../page.ts';
import { bmcHealthSchema } from '../bmc-health.ts';
import { isPlainName, plainName } from '../plain-name.ts';
import { call } from '../define.ts';
import { driverInfoSchemas, driverNames, interfaceKinds } from '../drivers.ts';
import { failureSchema } from '../failure.ts';
import { json, jsonObject, secretText, type Json } from '../json.ts';
import { occasionSchema } from '../origin.ts';
import { bootDevices, provisionVerbs } from '../node-choices.ts';
import { conditionSchema } from './scheduling.ts';

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
export const nodeStepsSchema = z
  .array(nodeStepSchema)
  .min(1)
  .max(50)
  .refine((steps) => JSON.stringify(steps).length <= 65_536, 'expected at most 64 KiB');

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
});
export type NodeView = z.infer<typeof nodeViewSchema>;

const node = z.object({ node: z.string() });
const answer = nodeViewSchema;

/**
 * `metadata` overwrites the partition tables and the first and last MiB of every disk; `express` has the disk erase
 * itself where it can, else does the same; `full` has the disk erase itself, else overwrites all of it.
 */
export const eraseModes = ['metadata', 'express', 'full'] as const;

/** Names of the hints that choose a disk. */
export const rootDeviceHints = ['name', 'size', 'rotational', 'serial', 'wwn', 'model', 'vendor', 'hctl'] as const;

const capabilityValue = z.union([z.string().max(255), z.number(), z.boolean()]);
const interfaceSchema = z
  .object({
    mac_address: z
      .string()
      .regex(/^[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}$/, 'expected six pairs of digits, as 52:54:00:12:34:56'),
    network: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .meta({ description: 'The network that the interface is connected to, by the name that templates use.' }),
    addresses: z
      .array(z.union([z.ipv4(), z.ipv6()], { error: 'expected an IP address' }))
      .max(64)
      .optional(),
    prefix: z.number().int().min(1).max(128).optional().meta({
      description: 'Length of the network in bits: the host sets its addresses itself. Absent: it asks DHCP.',
    }),
    gateway: z
      .union([z.ipv4(), z.ipv6()], { error: 'expected an IP address' })
      .optional()
      .meta({ description: 'Its default route.' }),
    dns: z
      .array(z.union([z.ipv4(), z.ipv6()], { error: 'expected an IP address' }))
      .max(8)
      .optional(),
  })
  .catchall(json);
/** Ironic's names of traits. The order has no meaning, and a repeated name counts once. */
export const traitsSchema = z
  .array(z.string().regex(/^[A-Z][A-Z0-9_]{0,254}$/, 'expected a standard trait, or CUSTOM_ and A to Z, 0 to 9, _'))
  .max(50)
  .transform((traits) => [...new Set(traits)]);
/** Notes of an operator about a node. Anneal does not interpret them. */
export const nodeExtraSchema = jsonObject.refine(
  (extra) => JSON.stringify(extra).length <= 65_536,
  'expected at most 64 KiB',
);
const placeSchema = z.string().min(1).max(255).refine(isPlainName, plainName);
/** Properties of a machine that an operator declares; the inspection adds those that its BMC shows. */
export const nodePropertiesSchema = z
  .object({
    capabilities: z
      .union([z.string().max(4096), z.record(z.string().min(1).max(255), capabilityValue)])
      .optional()
      .meta({
        description: '`{"profile": "control"}`, or in Ironic\'s text form `profile:control,node:controller-0`.',
      }),
    interfaces: z.array(interfaceSchema).max(64).optional(),
    root_device: z
      .partialRecord(z.enum(rootDeviceHints), z.union([z.string().min(1).max(255), z.number(), z.boolean()]))
      .optional()
      .meta({ description: 'Hints that choose the disk for images: `{"serial": "S1"}`, with Ironic\'s operators.' }),
    erase: z.enum(eraseModes).optional().meta({ description: 'How to erase its disks.' }),
    availability_zone: placeSchema.optional().meta({ description: 'Its zone. Absent: `nova`.' }),
    rack: placeSchema.optional().meta({ description: 'Its rack. Absent: the node is a rack of its own.' }),
    power_domain: placeSchema
      .optional()
      .meta({ description: 'What fails together, such as a feed. Absent: the node is a power domain of its own.' }),
  })
  .catchall(json)
  .refine((properties) => JSON.stringify(properties).length <= 65_536, 'expected at most 64 KiB');

export const nodeNameSchema = z.string().min(1, 'must not be empty').max(255).refine(isPlainName, plainName);
export const resourceClassSchema = z.string().min(1).max(80).refine(isPlainName, plainName);

/** The name of a project, or null. */
export const nodeTextSchema = z.string().min(1).max(255).refine(isPlainName, plainName).nullable();
export const nodeDescriptionSchema = z.string().max(4096).nullable();

/** The chosen interfaces of the driver, by kind. */
export const nodeInterfacesSchema = z.partialRecord(z.enum(interfaceKinds), z.string().min(1).max(255));

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
    properties: nodePropertiesSchema.default({}),
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
export const nodeShow = call('node.show', 'Read a node by id or name.', { question: node, answer });
export const nodeRemove = call('node.remove', 'Remove a node.', { question: node, answer: z.object({}) });
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
    question: node.extend({ patch: nodePatchSchema }),
    answer,
  },
);
/** The sender and its request. Absent: the sender does not say. */
const occasion = occasionSchema.optional();

/** How long a change of power may take, in seconds. */
export const powerTimeout = z.int().min(1).max(3600).meta({ description: 'Seconds until the change fails.' });
export const nodePower = call('node.power', 'Change the power state of a node; answered when the change is accepted.', {
  question: node.extend({
    target: z.enum(['power on', 'power off', 'rebooting', 'soft power off', 'soft rebooting']),
    timeout: powerTimeout.optional(),
    occasion,
  }),
  answer,
});
export const nodeProvision = call('node.provision', 'Apply an Ironic verb to a node.', {
  question: node.extend({
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

/** The lights of a machine, in Ironic's words. Only the driver `fake-hardware` has them. */
export const nodeLightsSchema = z.object({
  indicators: z.record(z.string(), z.string()).meta({ description: 'The state of each light: `led@system`.' }),
});
export const nodeLights = call('node.lights', 'Read the lights of a node.', {
  question: node,
  answer: nodeLightsSchema,
});
export const nodeLightsSet = call('node.lights.set', 'Change a light, or the console, of a node.', {
  question: node.extend({
    indicator: z.object({ name: z.string(), state: z.string() }).optional(),
    console: z.boolean().optional(),
  }),
  answer: nodeLightsSchema,
});

export const driverList = call('driver.list', 'List the drivers that nodes may have.', {
  question: z.object({}),
  answer: z.object({ drivers: z.array(z.enum(driverNames)) }),
});

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
  question: node,
  answer: z.object({ history: z.array(nodeHistoryEntrySchema) }),
});

export const bootDeviceSchema = z.object({
  device: z
    .enum(bootDevices)
    .nullable()
    .meta({ description: 'Null: the machine boots in its own order, or from another device.' }),
  persistent: z.boolean().nullable().meta({ description: 'For every boot, and not for the next one only.' }),
  supported: z.array(z.enum(bootDevices)),
});
export type BootDeviceView = z.infer<typeof bootDeviceSchema>;
export const nodeBootDevice = call('node.boot_device', 'Read the device that a machine boots from, from its BMC.', {
  question: node,
  answer: bootDeviceSchema,
});
export const nodeBootDeviceSet = call(
  'node.boot_device.set',
  'Set the device that a machine boots from. Refused during work, which sets the device of each boot itself.',
  {
    question: node.extend({ device: z.enum(bootDevices), persistent: z.boolean() }),
    answer: z.object({}),
  },
);

export const nodeInterrupt = call(
  'node.interrupt',
  'Send a non-maskable interrupt (NMI) to a machine through its BMC; its system decides what follows.',
  { question: node, answer: z.object({}) },
);

export const sensorKinds = [
  'temperature',
  'fan',
  'voltage',
  'current',
  'power',
  'energy',
  'humidity',
  'other',
] as const;
export const sensorStates = ['ok', 'warning', 'critical', 'unknown'] as const;
export const sensorSchema = z.object({
  name: z.string(),
  kind: z.enum(sensorKinds),
  reading: z.number().nullable(),
  unit: z.string().nullable(),
  state: z.enum(sensorStates),
});
export type Sensor = z.infer<typeof sensorSchema>;
export const nodeSensors = call('node.sensors', 'Read the sensors of a machine now, from its BMC.', {
  question: node,
  answer: z.object({ sensors: z.array(sensorSchema) }),
});

export const consoleLineSchema = z.object({
  id: z.string().meta({ description: 'The name of the line at its BMC. A reader that follows the log compares it.' }),
  at: z.iso.datetime().nullable().meta({ description: 'Null where the BMC records no time.' }),
  text: z.string().meta({ description: 'At most 4,096 characters, without control sequences.' }),
});
export type ConsoleLine = z.infer<typeof consoleLineSchema>;
export const consoleLogSchema = z.object({
  lines: z.array(consoleLineSchema).meta({ description: 'Oldest first.' }),
  total: z.number().int().meta({ description: 'The number of lines that the BMC keeps.' }),
});
export type ConsoleLog = z.infer<typeof consoleLogSchema>;
/** Most lines of one answer. */
export const mostConsoleLines = 1000;
export const nodeConsoleLog = call(
  'node.console_log',
  'Read the last lines of the serial console of a machine, from its BMC.',
  { question: node.extend({ limit: z.number().int().min(1).max(mostConsoleLines) }), answer: consoleLogSchema },
);

export const biosDetailsSchema = z.object({
  attribute_type: z.string().nullable(),
  allowable_values: z.array(z.string()).nullable(),
  lower_bound: z.number().nullable(),
  upper_bound: z.number().nullable(),
  min_length: z.number().nullable(),
  max_length: z.number().nullable(),
  read_only: z.boolean().nullable(),
  reset_required: z.boolean().nullable(),
  unique: z.boolean().nullable(),
});
export type BiosDetails = z.infer<typeof biosDetailsSchema>;
export const hardwareSettingsSchema = z.object({
  bios: jsonObject.meta({ description: 'The settings of the BIOS by name.' }),
  bios_details: z
    .record(z.string(), biosDetailsSchema)
    .optional()
    .meta({ description: 'What the registry of the BIOS says of its settings. Absent without a registry.' }),
  firmware: z.array(
    z.object({
      component: z.string().meta({ description: '`bios` or `bmc`.' }),
      initial_version: z.string(),
      current_version: z.string(),
      last_version_flashed: z.string().nullable(),
      created_at: z.string(),
      updated_at: z.string().nullable(),
    }),
  ),
  created_at: z.string().nullable(),
  read_at: z.string().nullable().meta({ description: 'Null before the first reading.' }),
});
export type HardwareSettings = z.infer<typeof hardwareSettingsSchema>;
export const nodeSettings = call(
  'node.settings',
  'Show the BIOS settings and the firmware of a machine, as its BMC showed them at the last verification, inspection or change.',
  { question: node, answer: hardwareSettingsSchema },
);

/** A trait of a node, as runbooks and templates name it. */
const traitSchema = z
  .string()
  .regex(/^[A-Z][A-Z0-9_]{0,254}$/, 'expected a standard trait, or CUSTOM_ and A to Z, 0 to 9, _');
const runbookKind = z.enum(['runbook', 'deploy template']);
export const runbookViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.enum(['runbook', 'deploy template']).meta({
    description:
      '`runbook`: an operator names it for a cleaning or a service. `deploy template`: a server that requires the trait of its name gets its steps.',
  }),
  steps: z.array(nodeStepSchema.extend({ priority: z.number().int().default(100) })),
  traits: z.array(z.string()).meta({ description: 'A runbook runs only on a node with one of these traits.' }),
  description: z.string().nullable(),
  extra: jsonObject,
  owner: z.string().nullable().default(null).meta({ description: 'The project that sees it, beside operators.' }),
  public: z.boolean().default(false).meta({ description: 'True: every project sees it.' }),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export type RunbookView = z.infer<typeof runbookViewSchema>;
export const runbookStepSchema = nodeStepSchema.extend({
  priority: z
    .number()
    .int()
    .min(0)
    .max(1_000)
    .default(100)
    .meta({ description: 'The highest is first, equal ones in their order. 0 leaves the step out.' }),
});
export const runbookFieldsSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9\-._~]{1,255}$/, 'expected letters, digits and -._~'),
  steps: z.array(runbookStepSchema).min(1).max(50),
  traits: z.array(traitSchema).max(50).default([]),
  description: z.string().max(4096).nullable().default(null),
  extra: nodeExtraSchema.default({}),
  owner: nodeTextSchema.default(null),
  public: z.boolean().default(false),
});
export const runbookSet = call('runbook.set', 'Create a runbook or deploy template, or replace the one with this id.', {
  question: runbookFieldsSchema.extend({ id: z.string(), kind: runbookKind }),
  answer: runbookViewSchema,
});
export const runbookList = call('runbook.list', 'List the runbooks or deploy templates by name.', {
  question: z.object({ kind: runbookKind }),
  answer: z.object({ runbooks: z.array(runbookViewSchema) }),
});
export const runbookShow = call('runbook.show', 'Read a runbook or deploy template by id or name.', {
  question: z.object({ kind: runbookKind, runbook: z.string() }),
  answer: runbookViewSchema,
});
export const runbookRemove = call('runbook.remove', 'Remove a runbook or deploy template.', {
  question: z.object({ kind: runbookKind, runbook: z.string() }),
  answer: z.object({}),
});
export const nodeMaintenance = call('node.maintenance', 'Set or clear maintenance.', {
  question: node.extend({ maintenance: z.boolean(), reason: z.string().optional() }),
  answer,
});

/**
 * The document that the firmware loads from the address that the BMC received. It holds no secret, because a BMC may
 * fetch it and keep it as an image. The machine sends `POST <this address>/exchange` with its own key to get its seed.
 */
export const bootDocumentSchema = z.object({
  format: z.literal(2),
  purpose: z.enum(['deploy', 'clean', 'rescue']).meta({
    description:
      '`deploy`: install the seed and run the agent. `clean`: erase the disks, report it, power off. `rescue`: change no disk, set the rescue password, report `ready`, stay on.',
  }),
  node: z.string(),
});
export type BootDocument = z.infer<typeof bootDocumentSchema>;

/** `cleaned`: the disks are erased. `ready`: the rescue system runs. `written`: the image is on the disk, with the right checksum. */
export const bootReportStatuses = ['cleaned', 'ready', 'written', 'failed'] as const;

/** Why a machine could not write its image although it is not at fault. Codes of errors. */
export const bootReportCodes = ['ImageUnusable', 'DiskTooSmall'] as const;

/** Random text that a machine chooses once and keeps. Only with it the machine may repeat its exchange. */
export const bootKeySchema = z.string().min(16).max(256);

export const sha256Schema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits, as sha256sum prints them');

/** The seed that a machine gets in exchange for the secret in its boot address. Holds the credentials of the host. */
export const bootSeedSchema = z.object({
  format: z.literal(1),
  purpose: z.enum(['deploy', 'clean', 'rescue']),
  host_id: z.string(),
  hostname: z.string(),
  gateway_url: z.url(),
  project: z.string(),
  token: z
    .string()
    .meta({ description: '`deploy`: the token of the host. `clean` and `rescue`: valid for one report only.' }),
  requests_queue: z.string(),
  responses_queue: z.string(),
  client_id: z
    .string()
    .optional()
    .meta({ description: 'The id by which the agent claims its requests. Absent: the agent makes one.' }),
  user_data: z.string(),
  metadata: jsonObject,
  rescue_password: z.string().optional().meta({ description: 'Only for `rescue`.' }),
  report_token: z
    .string()
    .optional()
    .meta({ description: '`deploy`: valid for the report that the image is written.' }),
  image: z
    .object({
      name: z.string(),
      url: z.url(),
      sha256: sha256Schema,
      size: z.number().int().positive(),
      kept: z
        .boolean()
        .optional()
        .meta({ description: 'This server keeps the content. The fetch needs `report_token`.' }),
    })
    .optional()
    .meta({ description: 'The image to write to the disk. Absent when the registry has no image of this name.' }),
  image_name: z.string().optional(),
  network_data: jsonObject
    .optional()
    .meta({ description: '`deploy`: the interfaces that the node declares, in the form of OpenStack.' }),
  metadata_url: z
    .string()
    .optional()
    .meta({ description: '`deploy`: the address at which programs of the host read its metadata, as in a cloud.' }),
  root_device: jsonObject.optional().meta({ description: "Hints that choose the disk: the node's `root_device`." }),
  erase: z.enum(eraseModes).optional().meta({ description: '`clean`: how to erase the disks.' }),
});
export type BootSeed = z.infer<typeof bootSeedSchema>;

export const bootDocumentShow = call(
  'boot.document.show',
  'Read the file that the firmware loads from a boot address.',
  {
    question: z.object({ secret: z.string() }),
    answer: bootDocumentSchema,
  },
);

export const bootLoad = call(
  'boot.load',
  'Report how far the firmware of a machine loaded its boot file. A firmware that loses the server while it loads gives up.',
  {
    question: z.object({
      secret: z.string(),
      sent: z.number().int().nonnegative(),
      size: z.number().int().positive(),
      done: z.boolean().meta({ description: 'The firmware has all that it asked for.' }),
    }),
    answer: z.object({}),
  },
);

export const bootFind = call(
  'boot.find',
  'Find the boot of a machine that boots by PXE, by the UUID that its firmware reports.',
  {
    question: z.object({ uuid: z.string() }),
    answer: z.object({ secret: z.string() }),
  },
);

export const bootExchange = call('boot.exchange', 'Exchange the secret of a boot address for the seed; works once.', {
  question: z.object({ secret: z.string(), key: bootKeySchema }),
  answer: bootSeedSchema,
});

export const bootReport = call(
  'boot.report',
  'Report the result of cleaning or of writing an image, from the machine that booted for it.',
  {
    question: z.object({
      token: z.string(),
      status: z.enum(bootReportStatuses),
      message: z.string().max(4096),
      code: z.enum(bootReportCodes).optional().meta({
        description:
          '`failed`: the image is at fault, or fits no disk of this machine. Absent: the machine may be at fault.',
      }),
    }),
    answer: z.object({
      settled: z.boolean().optional().meta({
        description: '`written`: false until the machine boots from its disk. It asks again, then reboots.',
      }),
    }),
  },
);

export const bootImage = call('boot.image', 'Find the image that a machine writes, for its fetch of the content.', {
  question: z.object({ token: z.string() }),
  answer: z.object({ name: z.string(), sha256: sha256Schema }),
});

/** The description of a host for its metadata service. `user_data` and `metadata` are sealed where they hold secrets. */
export const instanceSchema = z.object({
  host_id: z.string(),
  hostname: z.string(),
  project: z.string(),
  user_data: json,
  metadata: json,
  image: z.string(),
  resource_class: z.string(),
  availability_zone: z.string(),
  architecture: z.string().nullable(),
  root_device: z.string().nullable().meta({ description: 'The name of its disk, when the node declares it.' }),
  interfaces: z.array(
    z.object({
      mac_address: z.string(),
      network: z.string().nullable(),
      addresses: z.array(z.string()),
      prefix: z.number().int().nullable(),
      gateway: z.string().nullable(),
    }),
  ),
  network_data: jsonObject.nullable(),
  since: z.iso.datetime(),
});
export type Instance = z.infer<typeof instanceSchema>;

export const instanceShow = call('instance.show', 'Describe the machine of a host, for its metadata service.', {
  question: z.union([
    z.strictObject({ host_id: z.string() }),
    z.strictObject({
      address: z.string().meta({
        description: 'The source address of a request. Only addresses that operators declared for one node are known.',
      }),
    }),
  ]),
  answer: instanceSchema,
});

/** The form of an image's name. */
const imageName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/, 'must be letters, digits and ._- and begin with a letter or digit');

/** An image that machines can write to their disks: the raw content of a whole disk. */
const imageDetailsSchema = z
  .object({
    properties: z
      .record(z.string().min(1).max(255), z.string().max(1024))
      .refine((properties) => Object.keys(properties).length <= 64, 'expected at most 64 properties')
      .optional(),
    tags: z.array(z.string().min(1).max(255)).max(64).optional(),
    min_disk: z.number().int().min(0).optional(),
    min_ram: z.number().int().min(0).optional(),
  })
  .meta({ description: "Facts that Glance's clients give and read. Anneal does not interpret them." });

export const imageSchema = z.object({
  id: z.string(),
  name: imageName,
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ description: 'Where machines fetch it. Absent: the server keeps the content, which was uploaded.' }),
  sha256: sha256Schema.meta({ description: 'Checksum of the content, which is compared on the disk before the boot.' }),
  size: z
    .number()
    .int()
    .positive()
    .max(2 ** 50)
    .meta({ description: 'Bytes.' }),
  details: imageDetailsSchema.optional(),
  created_at: z.string(),
});
export type ImageView = z.infer<typeof imageSchema>;

export const imageAdd = call('image.add', 'Add an image that servers can use.', {
  question: imageSchema.omit({ created_at: true }),
  answer: imageSchema,
});
export const imageList = call('image.list', 'List all images, by name.', {
  question: z.object({}),
  answer: z.object({ images: z.array(imageSchema) }),
});
export const imageShow = call('image.show', 'Show an image, by name or id.', {
  question: z.object({ image: z.string() }),
  answer: imageSchema,
});
export const imageRemove = call('image.remove', 'Remove an image. Machines that write it now may fail.', {
  question: z.object({ image: z.string() }),
  answer: z.object({}),
});

/** The formats in which content may be uploaded. The server keeps the raw content. */
export const uploadFormats = ['raw', 'qcow2'] as const;

/** A name and a format that wait for their content, as Glance's clients create images. */
export const imageDraftSchema = z.object({
  id: z.string(),
  name: imageName,
  format: z.enum(uploadFormats),
  details: imageDetailsSchema.optional(),
  created_at: z.string(),
});
export type ImageDraft = z.infer<typeof imageDraftSchema>;

export const imageDraftAdd = call('image.draft.add', 'Reserve an id for an image whose content follows.', {
  question: imageDraftSchema.omit({ created_at: true }),
  answer: imageDraftSchema,
});
export const imageDraftShow = call('image.draft.show', 'Show an image that waits for its content.', {
  question: z.object({ id: z.string() }),
  answer: imageDraftSchema,
});
