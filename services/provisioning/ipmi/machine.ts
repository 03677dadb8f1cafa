/**
 * Drives one machine through IPMI.
 *
 * I1 The system GUID of the BMC is the identity. Where a BMC has none, the serial number of its first unit (FRU) is.
 *    It is read in every call before the machine is read or changed.
 * I2 Each change of the boot device is read back.
 * I3 IPMI has no virtual media and no HTTP boot, so the machine boots from the network (PXE).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BootDeviceView, ConsoleLog, Sensor } from '@anneal/contracts/calls/node-hardware.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { anotherMachine, noConsoleLog } from '../documents/faults.ts';
import { contradiction, identityIn, type Identity } from '../documents/identity.ts';
import type { BmcMachine, BootProgress, Change, Hardware, ShownSettings, WantedDevice } from '../bmc/port.ts';
import type { BootMethod, Power } from '../documents/node.ts';
import { bootFlagsIn, bytesIn, firmwareIn, powerInStatus, sensorsIn, solIsOn, unitIn, uuidIn } from './answers.ts';
import type { IpmiAccess, IpmiCommand } from './failure.ts';
import type { IpmiTool } from './tool.ts';

const raw = (what: string, ...bytes: readonly number[]): IpmiCommand => ({
  what,
  words: ['raw', ...bytes.map((byte) => `0x${byte.toString(16).padStart(2, '0')}`)],
});
const readGuid = raw('read its system GUID', 0x06, 0x37);
const readPower = raw('read its power', 0x00, 0x01);
const readDevice = raw('read its version', 0x06, 0x01);
const readSol = raw('read its serial console', 0x0c, 0x22, 0x01, 0x01, 0x00, 0x00);
const readBoot = raw('read its boot device', 0x00, 0x09, 0x05, 0x00, 0x00);
/** Else a BMC drops the boot device when the machine does not start within 60 s. */
const keepBoot = raw('keep its boot device', 0x00, 0x08, 0x03, 0x08);
const readSensors: IpmiCommand = { what: 'read its sensors', words: ['-c', 'sdr', 'list', 'full'] };
const readUnit: IpmiCommand = { what: 'read its unit (FRU)', words: ['fru', 'print', '0'] };
const changes: Readonly<Record<Change, IpmiCommand>> = {
  'power on': { what: 'turn it on', words: ['chassis', 'power', 'on'] },
  'power off': { what: 'turn it off', words: ['chassis', 'power', 'off'] },
  'soft power off': { what: 'shut it down', words: ['chassis', 'power', 'soft'] },
};
const interrupts: IpmiCommand = { what: 'send it an NMI', words: ['chassis', 'power', 'diag'] };
/** Numbers of the standard. */
const bootNumbers = { pxe: 1, disk: 2, cdrom: 5, bios: 6 } as const;
type Device = keyof typeof bootNumbers;
const devices = Object.keys(bootNumbers) as readonly Device[];
const longestPauseMs = 4_000;

export interface IpmiMachineOptions {
  readonly access: IpmiAccess;
  readonly signal: AbortSignal;
  /** The firmware boots in UEFI mode, else in the mode of a PC BIOS. */
  readonly isUefi: boolean;
  /** The machine that must answer. A different machine is never read, powered or booted. */
  readonly expected: Identity | null;
  readonly placeholders: ReadonlySet<string>;
  readonly tries?: number | undefined;
}

export class IpmiMachine implements BmcMachine {
  readonly #tool: IpmiTool;
  readonly #options: IpmiMachineOptions;
  /** A BMC that speaks IPMI has one system. */
  readonly path = undefined;

  constructor(tool: IpmiTool, options: IpmiMachineOptions) {
    this.#tool = tool;
    this.#options = options;
  }

  async verify(): Promise<{ power: Power; identity: Identity }> {
    const identity = await this.#identity({ whole: true });
    return { power: await this.#readPower(), identity };
  }

  async inventory(): Promise<{ inventory: JsonObject; identity: Identity }> {
    const identity = await this.#identity({ whole: true });
    const consoles = solIsOn((await this.#bytesIfAny(readSol)) ?? [])
      ? [
          {
            kind: 'serial',
            protocol: 'ipmi',
            port: Number(new URL(this.#options.access.address).port),
            enter: null,
            leave: '~.',
          },
        ]
      : [];
    const inventory = {
      manufacturer: identity.manufacturer,
      model: identity.model,
      serial_number: identity.serial,
      system_uuid: identity.uuid,
      bmc_firmware: firmwareIn(await this.#bytes(readDevice)),
      consoles,
    };
    return { inventory, identity };
  }

  async power(): Promise<Power> {
    await this.#identity();
    return this.#readPower();
  }

  async bootProgress(): Promise<BootProgress> {
    return { power: await this.power(), seen: '', inPost: false };
  }

  toggles = (): Promise<boolean> => Promise.resolve(false);

  async reset(change: Change): Promise<{ task: undefined }> {
    await this.#identity();
    await this.#run(changes[change]);
    return { task: undefined };
  }

  async awaitPower(
    wanted: Power,
    withinMs: number,
    { proven }: { proven?: (() => Promise<boolean>) | undefined } = {},
  ): Promise<boolean> {
    const end = Date.now() + withinMs;
    for (let pause = 250; ; pause = Math.min(longestPauseMs, pause * 2)) {
      if ((await this.power()) === wanted || (await proven?.())) return true;
      if (Date.now() + pause > end) return false;
      await sleep(pause, undefined, { signal: this.#options.signal });
    }
  }

  /** I3 */
  async bootFrom(): Promise<BootMethod> {
    await this.#setBoot('pxe', []);
    return 'pxe';
  }

  async bootDevice(): Promise<BootDeviceView> {
    await this.#identity();
    const flags = bootFlagsIn((await this.#bytesIfAny(readBoot)) ?? []);
    const device = devices.find((each) => bootNumbers[each] === flags?.device) ?? null;
    return { device, persistent: device === null ? null : (flags?.persistent ?? null), supported: [...devices] };
  }

  async setBootDevice({ device, persistent }: WantedDevice): Promise<void> {
    const known = devices.find((each) => each === device);
    if (known !== undefined) return this.#setBoot(known, persistent ? ['persistent'] : []);
    const { node, address } = this.#options.access;
    throw new AnnealError(
      'NotSupported',
      `The BMC of node ${node} at ${address} does not offer the boot device ${device}. IPMI offers ${devices.join(', ')}.`,
    );
  }

  async interrupt(): Promise<void> {
    await this.#identity();
    try {
      await this.#run(interrupts);
    } catch (error) {
      if (!hasCode(error, 'BmcRefused') || !/Invalid (?:command|data field)/i.test(error.message)) throw error;
      throw new AnnealError('NotSupported', `${error.message}. It does not offer NMI.`, { cause: error });
    }
  }

  async sensors(): Promise<Sensor[]> {
    await this.#identity();
    return sensorsIn((await this.#unlessRefused(readSensors)) ?? '');
  }

  /** IPMI shows no settings of the BIOS. */
  async settings(): Promise<ShownSettings> {
    await this.#identity();
    const bmc = firmwareIn((await this.#bytesIfAny(readDevice)) ?? []);
    return { bios: {}, firmware: bmc === null ? {} : { bmc } };
  }

  consoleLog(): Promise<ConsoleLog> {
    const { node } = this.#options.access;
    const why = `Node ${node} has no log of its console: a BMC that speaks IPMI shows the console, and keeps nothing of it.`;
    return Promise.reject(noConsoleLog(why, node));
  }

  bootFromDisk = (): Promise<void> => this.#setBoot('disk', ['persistent']);
  stopInSetup = (): Promise<void> => this.#setBoot('bios', []);

  get hardware(): Hardware {
    const { node, address } = this.#options.access;
    throw new AnnealError(
      'ResourceFailed',
      `The BMC of node ${node} at ${address}: IPMI has no settings of firmware, no volumes and no updates.`,
      { details: { node, url: address } },
    );
  }

  /** I2 */
  async #setBoot(device: Device, flags: readonly string[]): Promise<void> {
    await this.#identity();
    await this.#unlessRefused(keepBoot);
    const options = [...flags, ...(this.#options.isUefi ? ['efiboot'] : [])];
    const words = ['chassis', 'bootdev', device, ...(options.length === 0 ? [] : [`options=${options.join(',')}`])];
    const command = { what: `set its boot device to ${device}`, words };
    await this.#run(command);
    const found = bootFlagsIn(await this.#bytes(readBoot))?.device;
    if (found === bootNumbers[device]) return;
    throw this.#refused(command, `it accepted the command but reports the boot device ${found ?? 'none'}`);
  }

  /** I1. @param whole also reads the maker, the model and the serial number, which takes seconds on a real BMC. */
  async #identity({ whole = false } = {}): Promise<Identity> {
    const { expected, placeholders, access } = this.#options;
    const UUID = uuidIn((await this.#bytesIfAny(readGuid)) ?? []);
    const bare = identityIn({ UUID }, null, placeholders);
    const needsUnit = whole || (bare.uuid === null && expected !== null && expected.serial !== null);
    const found = needsUnit
      ? identityIn({ UUID, ...unitIn((await this.#unlessRefused(readUnit)) ?? '') }, null, placeholders)
      : bare;
    const contrary = expected ? contradiction(expected, found) : undefined;
    if (expected && contrary !== undefined) throw anotherMachine(access, { contrary, found, expected });
    return found;
  }

  async #readPower(): Promise<Power> {
    const power = powerInStatus(await this.#bytes(readPower));
    if (power === null) throw this.#refused(readPower, 'its answer is empty');
    return power;
  }

  async #bytes(command: IpmiCommand): Promise<readonly number[]> {
    const bytes = bytesIn(await this.#run(command));
    if (!bytes) throw this.#refused(command, 'its answer is not a list of bytes');
    return bytes;
  }

  async #bytesIfAny(command: IpmiCommand): Promise<readonly number[] | undefined> {
    const text = await this.#unlessRefused(command);
    return text === undefined ? undefined : bytesIn(text);
  }

  /** Undefined for what a BMC does not offer. */
  async #unlessRefused(command: IpmiCommand): Promise<string | undefined> {
    try {
      return await this.#run(command);
    } catch (error) {
      if (hasCode(error, 'BmcRefused')) return undefined;
      throw error;
    }
  }

  #run(command: IpmiCommand): Promise<string> {
    const { access, signal, tries } = this.#options;
    return this.#tool.run(access, command, { signal, tries });
  }

  #refused({ what, words }: IpmiCommand, why: string): AnnealError {
    const { node, address } = this.#options.access;
    const command = `ipmitool ${words.join(' ')}`;
    return new AnnealError(
      'BmcRefused',
      `The BMC of node ${node} at ${address}: could not ${what} (${command}): ${why}`,
      { details: { node, url: address, command } },
    );
  }
}
