/**
 * Questions to the provisioning service about assets: what operators declare beside nodes, in Ironic's terms. Chassis, ports,
 * port groups, volume connectors and targets are notes about the hardware; Anneal shows them and keeps them consistent.
 */
import { z } from 'zod';
import { call } from '../define.ts';
import { jsonObject } from '../json.ts';
import { occasionSchema } from '../origin.ts';
import { isPlainName, plainName } from '../plain-name.ts';
import { macSchema as mac, nodeExtraSchema } from './node-fields.ts';
import { nodePatchSchema } from './nodes.ts';

/** The kinds of parts around nodes that operators note, as in Ironic. */
export const assetKinds = ['chassis', 'port', 'port group', 'volume connector', 'volume target'] as const;
export type AssetKind = (typeof assetKinds)[number];

const name = z
  .string()
  .regex(/^[A-Za-z0-9._~-]{1,255}$/, 'expected letters, digits and ._~-')
  .nullable()
  .default(null);
const extra = nodeExtraSchema.default({});
const text = z.string().min(1).max(255).refine(isPlainName, plainName);
/** The openstack command sends `true` as text. */
const flag = (value: boolean) => z.union([z.boolean(), z.stringbool()]).default(value);
const node_uuid = z.guid('expected the UUID of a node');

/** The other end of the cable, in Neutron's names. */
const linkSchema = z.strictObject({
  switch_id: text.optional(),
  port_id: text.optional(),
  switch_info: text.optional(),
  network_type: z.enum(['managed', 'unmanaged']).optional(),
  hostname: text.optional(),
  ovn_host: text.optional(),
});

/** The fields of each kind, in Ironic's names. Without a default: required. */
export const assetSchemas = {
  chassis: z.strictObject({ description: z.string().max(255).nullable().default(null), extra }),
  port: z.strictObject({
    node_uuid,
    address: mac,
    extra,
    is_smartnic: flag(false),
    local_link_connection: linkSchema.default({}),
    physical_network: z.string().min(1).max(64).refine(isPlainName, plainName).nullable().default(null),
    portgroup_uuid: z.guid().nullable().default(null),
    pxe_enabled: flag(true),
    name,
  }),
  'port group': z.strictObject({
    node_uuid,
    name,
    address: mac.nullable().default(null),
    extra,
    mode: text.default('active-backup'),
    properties: jsonObject.default({}),
    standalone_ports_supported: flag(true),
  }),
  'volume connector': z.strictObject({ node_uuid, type: text, connector_id: text, extra }),
  'volume target': z.strictObject({
    node_uuid,
    volume_type: text,
    volume_id: text,
    boot_index: z.coerce.number().int().min(0).max(1_000),
    properties: jsonObject.default({}),
    extra,
  }),
} as const satisfies Readonly<Record<AssetKind, z.ZodObject>>;

/** A part that an operator notes, with the fields of its kind. */
export const assetViewSchema = z.object({
  id: z.string(),
  kind: z.enum(assetKinds),
  node_id: z.string().nullable().meta({ description: 'The node that it belongs to. Null: to none.' }),
  fields: jsonObject.meta({ description: 'In Ironic’s names, by kind.' }),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime().nullable().meta({ description: 'Null before the first change.' }),
  version: z.number().int(),
});
export type AssetView = z.infer<typeof assetViewSchema>;

const kind = z.enum(assetKinds);
const place = z.object({ kind, asset: z.string().meta({ description: 'Its id, or its name where it has one.' }) });
const occasion = occasionSchema.optional();
const fields = jsonObject;

export const assetCreate = call('asset.create', 'Declare an asset: a chassis, port, port group or volume.', {
  question: z.object({ id: z.string(), kind, fields, occasion }),
  answer: assetViewSchema,
});
export const assetList = call('asset.list', 'List the assets of a kind, oldest first.', {
  question: z.object({
    kind,
    node: z.string().optional().meta({ description: 'Only those of this node: its id or its name.' }),
    address: z.string().optional().meta({ description: 'Only the one with this MAC address.' }),
    marker: z.string().optional().meta({ description: 'Those after the one with this id.' }),
    limit: z.number().int().positive().max(1000).optional(),
  }),
  answer: z.object({ assets: z.array(assetViewSchema) }),
});
export const assetShow = call('asset.show', 'Read an asset by id or name.', {
  question: place,
  answer: assetViewSchema,
});
export const assetChange = call('asset.change', 'Change the fields of an asset by a JSON Patch.', {
  question: place.extend({ patch: nodePatchSchema, occasion }),
  answer: assetViewSchema,
});
export const assetRemove = call('asset.remove', 'Remove an asset that nothing else needs.', {
  question: place.extend({ occasion }),
  answer: z.object({}),
});
