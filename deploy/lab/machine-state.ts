/**
 * The state of a machine that survives a loss of power. Each machine has its own file, and each change replaces the
 * whole file, so that a killed lab leaves either the old or the new state.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

export const bootTargets = ['None', 'Pxe', 'Cd', 'Hdd', 'UefiHttp', 'BiosSetup'] as const;
export const bootEnabled = ['Disabled', 'Once', 'Continuous'] as const;
export const bootModes = ['UEFI', 'Legacy'] as const;

/** The settings of the firmware that the lab knows, with the values that each may have. */
export const biosSettings = {
  BootMode: ['Uefi', 'Legacy'],
  ProcVirtualization: ['Enabled', 'Disabled'],
  ProcHyperthreading: ['Enabled', 'Disabled'],
  WorkloadProfile: ['General', 'Performance', 'PowerSaving'],
} as const;
export type BiosAttributes = Readonly<Record<string, string>>;
export const factoryBios: BiosAttributes = Object.fromEntries(
  Object.entries(biosSettings).map(([name, [first]]) => [name, first]),
);

export const volumeSchema = z.object({
  id: z.string(),
  name: z.string(),
  raidType: z.string(),
  bytes: z.number(),
  drives: z.array(z.string()),
});
export type LabVolume = z.infer<typeof volumeSchema>;

/** The version of each firmware. */
const factoryFirmware = { BIOS: '1.0.0', BMC: '1.0.0' } as const;

/** The light at the front of the machine. */
export const indicators = ['Lit', 'Blinking', 'Off'] as const;
export type Indicator = (typeof indicators)[number];

export const bootOverrideSchema = z.object({
  target: z.enum(bootTargets),
  enabled: z.enum(bootEnabled),
  mode: z.enum(bootModes),
  httpBootUri: z.string().nullable(),
});
export type BootOverride = z.infer<typeof bootOverrideSchema>;

export const machineStateSchema = z.object({
  name: z.string(),
  uuid: z.string(),
  serial: z.string(),
  address: z.string(),
  macs: z.array(z.string()),
  cpus: z.number().int(),
  memoryGib: z.number().int(),
  diskGib: z.number().int(),
  power: z.enum(['On', 'Off']),
  boot: bootOverrideSchema,
  /** Address of the image in the virtual drive. */
  media: z.string().nullable(),
  assetTag: z.string(),
  indicator: z.enum(indicators).default('Off'),
  bios: z.record(z.string(), z.string()).default(factoryBios),
  /** Written, and taken over at the next power-on. */
  pendingBios: z.record(z.string(), z.string()).nullable().default(null),
  secureBoot: z.object({ enabled: z.boolean(), current: z.boolean() }).default({ enabled: false, current: false }),
  volumes: z.array(volumeSchema).default([]),
  firmware: z.record(z.string(), z.string()).default(factoryFirmware),
  /** A version that starts to run at the next power-on. */
  pendingFirmware: z.record(z.string(), z.string()).default({}),
  /** The key of the last exchange, at its boot address. Each boot has a new one, as that of a ramdisk has. */
  bootKey: z.object({ url: z.string(), key: z.string() }).nullable().default(null),
  /** False for older firmware, which has no HTTP boot and offers the virtual drive only under the manager. */
  httpBoot: z.boolean().default(true),
});
export type MachineState = z.infer<typeof machineStateSchema>;

export const noOverride: BootOverride = { target: 'None', enabled: 'Disabled', mode: 'UEFI', httpBootUri: null };

export function inventMachine({
  name,
  address,
  index,
}: {
  name: string;
  address: string;
  index: number;
}): MachineState {
  const mac = (): string =>
    `52:54:00:${[...randomBytes(3)].map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`;
  return {
    name,
    uuid: randomUUID(),
    serial: `LAB${randomBytes(4).toString('hex').toUpperCase()}`,
    address,
    macs: [mac(), mac()],
    cpus: [4, 8, 16][index % 3] ?? 4,
    memoryGib: [16, 32, 64][index % 3] ?? 16,
    diskGib: 480,
    power: 'Off',
    boot: noOverride,
    media: null,
    assetTag: '',
    indicator: 'Off',
    bios: factoryBios,
    pendingBios: null,
    secureBoot: { enabled: false, current: false },
    volumes: [],
    firmware: factoryFirmware,
    pendingFirmware: {},
    bootKey: null,
    httpBoot: index % 4 !== 3,
  };
}

const fileOf = (directory: string): string => join(directory, 'machine.json');

/** @throws Error naming the file when it cannot be understood; undefined when the machine is new. */
export function loadMachine(directory: string): MachineState | undefined {
  let text: string;
  try {
    text = readFileSync(fileOf(directory), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return machineStateSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new Error(`${fileOf(directory)} is not the state of a machine. Remove the folder to get a new one.`, {
      cause: error,
    });
  }
}

export function saveMachine(directory: string, state: MachineState): void {
  writeWhole(fileOf(directory), JSON.stringify(state, null, 2));
}

/** Readers see the old content or the new one, never a part. */
export function writeWhole(file: string, content: string): void {
  mkdirSync(join(file, '..'), { recursive: true });
  const beside = `${file}.${process.pid}.new`;
  writeFileSync(beside, content, { mode: 0o600 });
  renameSync(beside, file);
}
