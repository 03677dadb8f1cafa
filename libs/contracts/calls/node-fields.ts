/** The fields of a node that a client sets. */
import { z } from 'zod';
import { interfaceKinds } from '../drivers.ts';
import { json, jsonObject } from '../json.ts';
import { isPlainName, plainName } from '../plain-name.ts';
import { isIpAddress } from '../readers/ip.ts';
import { macProblem, readMac } from '../readers/mac.ts';

/**
 * `metadata` overwrites the partition tables and the first and last MiB of every disk; `express` has the disk erase
 * itself where it can, else does the same; `full` has the disk erase itself, else overwrites all of it.
 */
export const eraseModes = ['metadata', 'express', 'full'] as const;

/** Names of the hints that choose a disk. */
export const rootDeviceHints = ['name', 'size', 'rotational', 'serial', 'wwn', 'model', 'vendor', 'hctl'] as const;

const capabilityValue = z.union([z.string().max(255), z.number(), z.boolean()]);

const ipSchema = z.string().refine(isIpAddress, 'expected an IP address');

/** The address of a network interface, in its one form. */
export const macSchema = z
  .string()
  .refine((text) => macProblem(text) === undefined, { error: ({ input }) => macProblem(String(input)) })
  .transform((text) => readMac(text) ?? text);

const interfaceSchema = z
  .object({
    mac_address: macSchema,
    network: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .meta({ description: 'The network that the interface is connected to, by the name that templates use.' }),
    addresses: z.array(ipSchema).max(64).optional(),
    prefix: z.number().int().min(1).max(128).optional().meta({
      description: 'Length of the network in bits: the host sets its addresses itself. Absent: it asks DHCP.',
    }),
    gateway: ipSchema.optional().meta({ description: 'Its default route.' }),
    dns: z.array(ipSchema).max(8).optional(),
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
    power_domain: placeSchema.optional().meta({
      description: 'What fails together, such as a feed. Absent: the node is a power domain of its own.',
    }),
  })
  .catchall(json)
  .refine((properties) => JSON.stringify(properties).length <= 65_536, 'expected at most 64 KiB');

/** The name of a node. */
export const nodeNameSchema = z.string().min(1, 'must not be empty').max(255).refine(isPlainName, plainName);

/** The resource class of a node. */
export const resourceClassSchema = z.string().min(1).max(80).refine(isPlainName, plainName);

/** The name of a project, or null. */
export const nodeTextSchema = z.string().min(1).max(255).refine(isPlainName, plainName).nullable();

/** A text of the operator about a node, or null. */
export const nodeDescriptionSchema = z.string().max(4096).nullable();

/** The chosen interfaces of the driver, by kind. */
export const nodeInterfacesSchema = z.partialRecord(z.enum(interfaceKinds), z.string().min(1).max(255));
