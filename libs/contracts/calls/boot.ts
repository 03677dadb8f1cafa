/** Questions of booting machines, and about the machines of hosts. */
import { z } from 'zod';
import { call } from '../define.ts';
import { json, jsonObject } from '../json.ts';
import { heartbeatShape } from '../node-progress.ts';
import { sha256Schema } from '../readers/checksum.ts';
import { eraseModes } from './node-fields.ts';

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

/** The UUID that the firmware of a machine has, which its ramdisk reads. Absent: an older ramdisk, or a system without one. */
export const bootMachineSchema = z.string().max(64).optional();

/** Whether the machine powers off after its report `written`. Absent: it restarts itself, as an older script does. */
export const bootPowersOffSchema = z.boolean().optional();

/** Whether the image did not arrive, which another machine may fetch. Absent: it is not the reason of the failure. */
export const bootUnreachableSchema = z.boolean().optional();

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
  question: z.object({ secret: z.string(), key: bootKeySchema, machine: bootMachineSchema }),
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
      unreachable: bootUnreachableSchema,
      powers_off: bootPowersOffSchema,
    }),
    answer: z.object({
      settled: z.boolean().optional().meta({
        description:
          '`written`: false until the server has taken note. The machine asks again, then leaves the ramdisk.',
      }),
      power_off: z.boolean().optional().meta({
        description: '`written`: the machine powers off, and its BMC starts it. Absent: it restarts itself.',
      }),
    }),
  },
);

export const bootProgress = call(
  'boot.progress',
  'Report how far a machine is that writes its image or erases its disks. A lost one changes nothing.',
  { question: z.object({ token: z.string(), ...heartbeatShape }), answer: z.object({}) },
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
