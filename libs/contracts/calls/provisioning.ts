/** Questions to the provisioning service. Node states and terms are Ironic's. */
import { z } from 'zod';
import { call } from '../define.ts';
import { failureSchema } from '../errors.ts';
import { json, jsonObject, secretText, type Json } from '../json.ts';
import { occasionSchema } from '../origin.ts';
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
] as const;
export type NodeState = (typeof nodeStates)[number];
export const powerStates = ['power on', 'power off'] as const;

export const nodeViewSchema = z.object({
  id: z.string(),
  name: z.string(),
  driver: z.enum(['redfish']),
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
  instance_info: jsonObject,
  maintenance: z.boolean(),
  maintenance_reason: z.string().nullable(),
  fault: z
    .string()
    .nullable()
    .meta({ description: 'Set and cleared by the system: `power failure`, `clean failure`, `identity mismatch`.' }),
  reservation: z
    .string()
    .nullable()
    .meta({ description: 'The process that holds it, its action, and the time since when.' }),
  last_error: failureSchema.nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  provision_updated_at: z.iso.datetime().nullable(),
  version: z.number().int(),
  conditions: z.array(conditionSchema),
});
export type NodeView = z.infer<typeof nodeViewSchema>;

const node = z.object({ node: z.string() });
const answer = nodeViewSchema;

/** Whether a URL has a user or password before its host. Such a URL is shown and logged, so it must not be stored. */
export function holdsCredentials(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== '' || password !== '';
}

/** How to reach a node. */
export const driverInfoSchema = z.object({
  redfish_address: z
    .url({ protocol: /^https?$/, error: 'expected an address that begins with http:// or https://' })
    .refine(
      (text) => !holdsCredentials(text),
      'must not contain a user or password: put them into redfish_username and redfish_password',
    ),
  redfish_system_id: z
    .string()
    .min(1)
    .max(1024)
    .optional()
    .meta({ description: 'Path of the system, or its last part. When absent, the BMC must have exactly one system.' }),
  redfish_username: z.string().max(255).optional(),
  redfish_password: z.string().max(4096).optional(),
  redfish_verify_ca: z
    .union([z.boolean(), z.string().min(1).max(4096)])
    .optional()
    .meta({
      description:
        'How to check its TLS certificate: true, false, the path of a CA file, or `sha256:…`. Absent: the setting decides.',
    }),
});

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
  })
  .catchall(json)
  .refine((properties) => JSON.stringify(properties).length <= 65_536, 'expected at most 64 KiB');

/** A name that a terminal, an address and every store show as it was written. */
const isPlainName = (name: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(name);
const plainName = 'must not contain a control character or half of a character (a lone surrogate)';
export const nodeNameSchema = z.string().min(1).max(255).refine(isPlainName, plainName);
export const resourceClassSchema = z.string().min(1).max(80).refine(isPlainName, plainName);

export const nodeEnrol = call('node.enrol', 'Enrol a node. With `provide`, also make it available.', {
  question: z.object({
    id: z.string(),
    name: nodeNameSchema,
    driver: z.enum(['redfish']),
    driver_info: driverInfoSchema.extend({ redfish_password: secretText.optional() }),
    resource_class: resourceClassSchema.default('baremetal'),
    traits: traitsSchema.default([]),
    properties: nodePropertiesSchema.default({}),
    extra: nodeExtraSchema.default({}),
    provide: z
      .boolean()
      .default(false)
      .meta({ description: 'Continue through manage, inspect and clean to available.' }),
  }),
  answer,
});
export const nodeList = call('node.list', 'List all nodes.', {
  question: z.object({
    provision_state: z.enum(nodeStates).optional(),
    limit: z.number().int().positive().max(1000).optional(),
    marker: z.string().optional(),
  }),
  answer: z.object({ nodes: z.array(nodeViewSchema) }),
});
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
  'Change name, class, maintenance, access, traits, properties or extra of a node by a JSON Patch. Values of driver_info are sealed.',
  {
    question: node.extend({ patch: nodePatchSchema }),
    answer,
  },
);
/** The sender and its request. Absent: the sender does not say. */
const occasion = occasionSchema.optional();

export const nodePower = call('node.power', 'Change the power state of a node; answered when the change is accepted.', {
  question: node.extend({
    target: z.enum(['power on', 'power off', 'rebooting', 'soft power off', 'soft rebooting']),
    occasion,
  }),
  answer,
});
export const nodeProvision = call('node.provision', 'Apply an Ironic verb to a node.', {
  question: node.extend({ target: z.enum(['manage', 'inspect', 'provide', 'clean', 'abort', 'deleted']), occasion }),
  answer,
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
  purpose: z.enum(['deploy', 'clean']).meta({
    description: '`deploy`: install the seed and run the agent. `clean`: erase the disks, report it, power off.',
  }),
  node: z.string(),
});
export type BootDocument = z.infer<typeof bootDocumentSchema>;

/** Random text that a machine chooses once and keeps. Only with it the machine may repeat its exchange. */
export const bootKeySchema = z.string().min(16).max(256);

/** The seed that a machine gets in exchange for the secret in its boot address. Holds the credentials of the host. */
export const bootSeedSchema = z.object({
  format: z.literal(1),
  purpose: z.enum(['deploy', 'clean']),
  host_id: z.string(),
  hostname: z.string(),
  gateway_url: z.url(),
  project: z.string(),
  token: z.string().meta({ description: '`deploy`: the token of the host. `clean`: valid for one report only.' }),
  requests_queue: z.string(),
  responses_queue: z.string(),
  user_data: z.string(),
  metadata: jsonObject,
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

export const bootExchange = call('boot.exchange', 'Exchange the secret of a boot address for the seed; works once.', {
  question: z.object({ secret: z.string(), key: bootKeySchema }),
  answer: bootSeedSchema,
});

export const bootReport = call('boot.report', 'Report the result of cleaning, from the machine that booted for it.', {
  question: z.object({ token: z.string(), status: z.enum(['cleaned', 'failed']), message: z.string().max(4096) }),
  answer: z.object({}),
});
