/** Questions to the hardware of a node, which its BMC answers. */
import { z } from 'zod';
import { call } from '../define.ts';
import { jsonObject } from '../json.ts';
import { bootDevices } from '../node-choices.ts';
import { namedNode } from './nodes.ts';

/** The lights of a machine, in Ironic's words. Only the driver `fake-hardware` has them. */
export const nodeLightsSchema = z.object({
  indicators: z.record(z.string(), z.string()).meta({ description: 'The state of each light: `led@system`.' }),
});

export const nodeLights = call('node.lights', 'Read the lights of a node.', {
  question: namedNode,
  answer: nodeLightsSchema,
});

export const nodeLightsSet = call('node.lights.set', 'Change a light, or the console, of a node.', {
  question: namedNode.extend({
    indicator: z.object({ name: z.string(), state: z.string() }).optional(),
    console: z.boolean().optional(),
  }),
  answer: nodeLightsSchema,
});

/** The device that a machine boots from. */
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
  question: namedNode,
  answer: bootDeviceSchema,
});

export const nodeBootDeviceSet = call(
  'node.boot_device.set',
  'Set the device that a machine boots from. Refused during work, which sets the device of each boot itself.',
  {
    question: namedNode.extend({ device: z.enum(bootDevices), persistent: z.boolean() }),
    answer: z.object({}),
  },
);

export const nodeInterrupt = call(
  'node.interrupt',
  'Send a non-maskable interrupt (NMI) to a machine through its BMC; its system decides what follows.',
  { question: namedNode, answer: z.object({}) },
);

/** The kinds of sensors. */
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

/** The judgement of a BMC about a reading. */
export const sensorStates = ['ok', 'warning', 'critical', 'unknown'] as const;

/** A reading of one sensor. */
export const sensorSchema = z.object({
  name: z.string(),
  kind: z.enum(sensorKinds),
  reading: z.number().nullable(),
  unit: z.string().nullable(),
  state: z.enum(sensorStates),
});
export type Sensor = z.infer<typeof sensorSchema>;

export const nodeSensors = call('node.sensors', 'Read the sensors of a machine now, from its BMC.', {
  question: namedNode,
  answer: z.object({ sensors: z.array(sensorSchema) }),
});

/** A line of the serial console of a machine. */
export const consoleLineSchema = z.object({
  id: z.string().meta({ description: 'The name of the line at its BMC. A reader that follows the log compares it.' }),
  at: z.iso.datetime().nullable().meta({ description: 'Null where the BMC records no time.' }),
  text: z.string().meta({ description: 'At most 4,096 characters, without control sequences.' }),
});
export type ConsoleLine = z.infer<typeof consoleLineSchema>;

/** The latest lines of a serial console. */
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
  { question: namedNode.extend({ limit: z.number().int().min(1).max(mostConsoleLines) }), answer: consoleLogSchema },
);

/** The facts about one setting of a BIOS. */
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

/** The settings of a machine that its BMC reports. */
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
  { question: namedNode, answer: hardwareSettingsSchema },
);
