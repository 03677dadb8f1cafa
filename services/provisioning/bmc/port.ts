/** The port between nodes and their management controllers. Each driver (`redfish/`, `ipmi/`) implements it. */
import type { BiosDetails, BootDeviceView, ConsoleLog, Sensor } from '@anneal/contracts/calls/node-hardware.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { BootMethod, NodeDocument, Power } from '../documents/node.ts';
import type { StepProgress } from '../documents/progress.ts';
import type { Identity } from '../documents/identity.ts';

export type Change = Power | 'soft power off';

export interface BootProgress {
  readonly power: Power | null;
  /** Changes whenever the machine makes progress. Empty when the BMC reports nothing. */
  readonly seen: string;
  /** True while the firmware tests and initialises the hardware. With much memory this state lasts many minutes. */
  readonly inPost: boolean;
}

/**
 * The machine of one turn at a BMC. Each call compares the machine that answers with the expected one first, and throws
 * IdentityMismatch before it changes another one.
 */
export interface BmcMachine {
  /** The path of the system at its BMC, after it was found. */
  readonly path: string | undefined;
  /** Power and identity of a machine that can be driven. @throws AnnealError that lists the missing features. */
  verify(): Promise<{ power: Power; identity: Identity }>;
  inventory(): Promise<{ inventory: JsonObject; identity: Identity }>;
  power(): Promise<Power | null>;
  bootProgress(): Promise<BootProgress>;
  /** True when the BMC can make this change only by a push of the power button, which a repeat would undo. */
  toggles(change: Change): Promise<boolean>;
  /** Requests a change without waiting for it. An accepted reset does not prove the new state. */
  reset(change: Change): Promise<{ task: string | undefined }>;
  /**
   * Waits until a reading shows the wanted power, or `proven` returns true. False when neither happens within
   * `withinMs`. @throws AnnealError when the task of the reset has failed.
   */
  awaitPower(
    wanted: Power,
    withinMs: number,
    options?: { proven?: (() => Promise<boolean>) | undefined; task?: string | undefined },
  ): Promise<boolean>;
  /** Sets the machine to boot once from this boot address, in the form that its firmware boots. */
  bootFrom(url: string): Promise<BootMethod>;
  bootFromDisk(): Promise<void>;
  bootDevice(): Promise<BootDeviceView>;
  /** @throws AnnealError NotSupported for a device that the BMC does not offer. */
  setBootDevice(wanted: WantedDevice): Promise<void>;
  /** Sends a non-maskable interrupt. @throws AnnealError NotSupported where the BMC does not offer it. */
  interrupt(): Promise<void>;
  /** Leaves out what the BMC does not show. */
  sensors(): Promise<Sensor[]>;
  /** The last lines of the serial console. @throws AnnealError NotSupported where the BMC keeps no log of it. */
  consoleLog(limit: number): Promise<ConsoleLog>;
  /** The settings of the BIOS, and the versions of firmware by component. Leaves out what the BMC does not show. */
  settings(): Promise<ShownSettings>;
  /** Lets the next start end in the firmware's setup, so that no system on a disk starts. */
  stopInSetup(): Promise<void>;
  /** @throws AnnealError ResourceFailed when the protocol of the driver has none of it. */
  readonly hardware: Hardware;
}

export interface ShownSettings {
  readonly bios: JsonObject;
  /** Absent where the BMC shows no registry of them. */
  readonly biosDetails?: Readonly<Record<string, BiosDetails>>;
  readonly firmware: Readonly<Record<string, string>>;
}

/** Changes of the hardware's settings. Each may run again from its beginning, with the memo of its last round. */
export interface Hardware {
  setBootMode(mode: 'UEFI' | 'Legacy'): Promise<void>;
  applySecureBoot(wanted: { enabled: boolean; memo: JsonObject }): Promise<StepProgress>;
  applyBios(wanted: { wanted: Readonly<Record<string, Json>>; memo: JsonObject }): Promise<StepProgress>;
  resetBios(memo: JsonObject): Promise<StepProgress>;
  createVolumes(wanted: { disks: readonly WantedVolume[]; memo: JsonObject }): Promise<StepProgress>;
  deleteVolumes(memo: JsonObject): Promise<StepProgress>;
  applyFirmware(wanted: { settings: readonly FirmwareWish[]; memo: JsonObject }): Promise<StepProgress>;
}

export interface WantedDevice {
  readonly device: BootDeviceView['supported'][number];
  /** For every boot, else for the next one only. */
  readonly persistent: boolean;
}

export interface WantedVolume {
  readonly size_gb: number | 'MAX';
  readonly raid_level: string;
  readonly volume_name?: string | undefined;
}

export interface FirmwareWish {
  readonly component: string;
  readonly url: string;
}

/** The reason of an abort when no node has the address of the BMC any more. */
export const nodeGone = new Error('no node has the address of this BMC');

/** The calls of a reader of a stream of events. */
export interface EventReader {
  readonly onOpen: () => void;
  readonly onData: (data: string) => void;
}

/** How to reach the BMC of a node. */
export interface BmcAccess {
  readonly node: NodeDocument;
  readonly password: string | null;
}

export interface BmcTurn extends BmcAccess {
  /** Ends every call. */
  readonly signal: AbortSignal;
  /** The path at which the system was found earlier. */
  readonly path: string | undefined;
  readonly tries: number | undefined;
}

export interface BmcDriver {
  machine(turn: BmcTurn): BmcMachine;
  /**
   * Follows the stream of the BMC, or else lets it send its events to `destination`. Resolves to false when the BMC sends no
   * events, to true when the stream or the subscription has ended.
   */
  followEvents(
    access: BmcAccess,
    options: { signal: AbortSignal; destination: string } & EventReader,
  ): Promise<boolean>;
  close(): Promise<void>;
}
