/** Drives one machine through Redfish. Follows links instead of building paths, and reads back every change. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BootDeviceView, ConsoleLog, Sensor } from '@anneal/contracts/calls/node-hardware.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { anotherMachine, noConsoleLog } from '../documents/faults.ts';
import { contradiction, identityIn, type Identity } from '../documents/identity.ts';
import { BmcError } from '../bmc/bmc-error.ts';
import type { BmcMachine, BootProgress, Change, Hardware, ShownSettings, WantedDevice } from '../bmc/port.ts';
import type { BootMethod, Power } from '../documents/node.ts';
import { readBiosDetails } from './bios-registry.ts';
import { bootDeviceIn, overrideToDevice } from './boot-device.ts';
import { bootProgressIn } from './boot-progress.ts';
import { changeBoot, endOverride } from './boot-change.ts';
import { allowedTarget, overrideTo, type Override } from './boot-override.ts';
import type { RedfishHttp } from './conversation/http.ts';
import { readInventory, readShownSettings } from './inventory.ts';
import {
  powerIn,
  powerProblems,
  resetAction,
  resetName,
  resetFor,
  resetProblems,
  resetsFor,
  shownValue,
  strangenessOf,
  type ResetAction,
} from './system.ts';
import { bmcActionIn, readAction } from './conversation/action.ts';
import { Conversation } from './conversation/conversation.ts';
import type { BmcChange } from './conversation/form.ts';
import { quirksOf } from './quirks.ts';
import { readSensors } from './sensors.ts';
import { applyBios, applyFirmware, applySecureBoot, resetBios } from './settings.ts';
import { readConsoleLog } from './console-log.ts';
import { findSystem } from './system-path.ts';
import { ownUrl } from './conversation/links.ts';
import { readBmcTask, taskOf } from './conversation/task.ts';
import type { Access, RedfishAnswer } from './conversation/transport.ts';
import { createVolumes, deleteVolumes } from './volumes.ts';
import type { InsertedImages } from './media/drives.ts';
import { ejectAll, insertImage, type MediaOptions } from './media/virtual-media.ts';

type Body = Readonly<Record<string, unknown>>;

const resetTarget = `the target of ${resetName}`;
/** How long the power may take to follow a task that has ended, or a state that is neither on nor off. */
const afterChangeMs = 8_000;
/** A change that goes on is awaited beyond the time of the caller until then, and within the turn. */
const longestChangeMs = 40_000;
/** How long the first reading of the power may take. */
const firstPowerMs = 30_000;

export interface MachineOptions {
  readonly access: Access;
  readonly systemId: string | null;
  /** Ends every call. */
  readonly signal: AbortSignal;
  /** The path at which the system was found earlier. */
  readonly path?: string | undefined;
  /** The machine that must answer. A different machine is never read, powered or booted. */
  readonly expected?: Identity | null;
  readonly placeholders?: ReadonlySet<string>;
  readonly tries?: number;
  /** The images that this process has inserted into drives of the controller. */
  readonly inserted?: InsertedImages;
}

export class RedfishMachine implements BmcMachine {
  readonly #conversation: Conversation;
  readonly #media: MediaOptions;
  readonly #turn: { readonly signal: AbortSignal; readonly refused: (why: string) => AnnealError };
  readonly #options: MachineOptions;
  #path: string | undefined;

  constructor(http: RedfishHttp, options: MachineOptions) {
    this.#conversation = new Conversation(http, options);
    this.#options = options;
    this.#turn = { signal: options.signal, refused: (why) => this.#refused(why) };
    this.#media = { refused: this.#turn.refused, inserted: options.inserted ?? new Map() };
    this.#path = options.path;
  }

  /** The path of the system, after it was found. */
  get path(): string | undefined {
    return this.#path;
  }

  get = (path: string, what?: string): Promise<RedfishAnswer> => this.#conversation.get(path, what);
  begin = (change: BmcChange): Promise<RedfishAnswer> => this.#conversation.begin(change);
  carryOut = (change: BmcChange): Promise<RedfishAnswer> => this.#conversation.carryOut(change);
  patch = (path: string, body: unknown, etag?: string): Promise<RedfishAnswer> =>
    this.#conversation.patch(path, body, etag);
  /** The error for a feature that is missing, or a change that failed for good. */
  unable = (why: string): AnnealError => {
    const { node, address } = this.#options.access;
    return new AnnealError('ResourceFailed', `The BMC of node ${node} at ${address}: ${why}`, {
      details: { node, url: address },
    });
  };

  readonly hardware: Hardware = {
    setBootMode: (mode) => this.#setBootMode(mode),
    applySecureBoot: (wanted) => applySecureBoot(this, wanted),
    applyBios: (wanted) => applyBios(this, wanted),
    resetBios: (memo) => resetBios(this, memo),
    createVolumes: (wanted) => createVolumes(this, wanted),
    deleteVolumes: (memo) => deleteVolumes(this, memo),
    applyFirmware: (wanted) => applyFirmware(this, wanted),
  };

  /** @throws AnnealError IdentityMismatch when another machine answers; BmcRefused when it is not a system. */
  async system(): Promise<RedfishAnswer> {
    const answer = await this.#readSystem();
    const strange = strangenessOf(answer);
    if (strange.length > 0) throw this.#unfit(strange);
    const { expected } = this.#options;
    const found = this.#identityIn(answer.body);
    const contrary = expected ? contradiction(expected, found) : undefined;
    if (contrary !== undefined) throw this.#mismatch(contrary, found);
    return answer;
  }

  async power(): Promise<Power | null> {
    return powerIn((await this.system()).body);
  }

  async verify(): Promise<{ power: Power; identity: Identity }> {
    const { signal } = this.#options;
    const end = Date.now() + firstPowerMs;
    let unknown: AnnealError | undefined;
    for (;;) {
      try {
        const { body } = await this.system();
        const problems = [...powerProblems(body), ...resetProblems(await this.#resetAction(body))];
        if (problems.length > 0) throw this.#unfit(problems);
        const power = powerIn(body);
        if (power !== null) return { power, identity: this.#identityIn(body) };
        unknown = this.#refused(
          `the power of ${this.#path} is not known yet (PowerState is ${shownValue(body['PowerState'])})`,
        );
        if (Date.now() >= end) throw unknown;
        await sleep(500, undefined, { signal });
      } catch (error) {
        // The end of the turn says less.
        throw unknown !== undefined && signal.aborted && signal.reason instanceof BmcError ? unknown : error;
      }
    }
  }

  async bootProgress(): Promise<BootProgress> {
    return bootProgressIn((await this.system()).body);
  }

  async reset(change: Change): Promise<{ type: string; task: string | undefined }> {
    const action = await this.#requireReset();
    const type = resetFor(change, action);
    if (type === undefined)
      throw this.#refused(`the system ${this.#path} supports none of the resets ${resetsFor[change].join(', ')}`);
    const answer = await this.begin({
      method: 'POST',
      path: action.target,
      body: { ResetType: type },
      form: { known: {} },
      what: resetTarget,
    });
    return { type, task: taskOf(answer) };
  }

  async interrupt(): Promise<void> {
    const { target, allowed } = await this.#requireReset();
    if (allowed?.includes('Nmi') === false) {
      const { node, address } = this.#options.access;
      throw new AnnealError(
        'NotSupported',
        `The BMC of node ${node} at ${address} does not offer the reset Nmi. It offers ${allowed.join(', ')}.`,
      );
    }
    await this.carryOut({
      method: 'POST',
      path: target,
      body: { ResetType: 'Nmi' },
      form: { known: {} },
      what: resetTarget,
    });
  }

  async #requireReset(): Promise<ResetAction> {
    const action = await this.#resetAction((await this.system()).body);
    if (typeof action === 'string') throw this.#refused(`the system ${this.#path}: ${action}`);
    return action;
  }

  async toggles(change: Change): Promise<boolean> {
    const action = await this.#resetAction((await this.system()).body);
    return typeof action !== 'string' && resetFor(change, action) === 'PushPowerButton';
  }

  async awaitPower(
    wanted: Power,
    withinMs: number,
    { proven, task }: { proven?: (() => Promise<boolean>) | undefined; task?: string | undefined } = {},
  ): Promise<boolean> {
    const latest = Date.now() + Math.max(withinMs, longestChangeMs);
    let end = Date.now() + withinMs;
    let running = task;
    for (let pause = 100; ; pause = Math.min(1_000, pause * 1.5)) {
      const power = await this.power().catch((error: unknown) => {
        // A controller may be away for a moment while the machine changes. The reset is accepted.
        if (!isPassing(error) || Date.now() + pause > end) throw error;
        return undefined;
      });
      if (power === wanted || (await proven?.())) return true;
      if (running !== undefined) {
        const outcome = await readBmcTask(this, { monitor: running, task: undefined });
        if (outcome.kind === 'failed') throw this.#refused(`the task ${running} ${outcome.why}`);
        if (outcome.kind === 'done') running = undefined;
      }
      const isChanging = power === null || running !== undefined;
      // The machine follows after the change.
      if (isChanging) end = Math.max(end, Date.now() + Math.min(withinMs, afterChangeMs));
      if (Date.now() + pause > (isChanging ? latest : Math.min(end, latest))) return false;
      await sleep(pause, undefined, { signal: this.#options.signal });
    }
  }

  /**
   * Sets the machine to boot once from this boot address, in the form that its firmware boots: by HTTP boot if the firmware can, else from the
   * virtual drive, else from the network.
   */
  async bootFrom(url: string): Promise<BootMethod> {
    const { body } = await this.system();
    const boot = (body['Boot'] ?? {}) as Body;
    const targets = boot['BootSourceOverrideTarget@Redfish.AllowableValues'];
    if (Array.isArray(targets) && targets.includes('UefiHttp')) {
      try {
        await this.#setBoot({ ...overrideTo(boot, 'UefiHttp'), HttpBootUri: `${url}/boot.efi` });
        return 'http';
      } catch (error) {
        // Firmware may refuse the HTTP boot that it advertises, and still accept an image.
        if (!hasCode(error, 'BmcRefused')) throw error;
      }
    }
    const { body: system } = await this.system();
    const medium = await insertImage(this, system, { ...this.#media, url: `${url}/boot.iso` });
    if (medium !== undefined) {
      const { cd } = quirksOf(system);
      await this.#setBoot(overrideTo(boot, allowedTarget(boot, medium === 'cd' ? cd : ['Usb', ...cd])));
      return 'media';
    }
    if (!Array.isArray(targets) || !targets.includes('Pxe')) {
      throw this.#refused('it offers neither HTTP boot nor a virtual drive that accepts an image nor PXE');
    }
    await this.#setBoot(overrideTo(boot, 'Pxe'));
    return 'pxe';
  }

  async bootDevice(): Promise<BootDeviceView> {
    return bootDeviceIn(((await this.system()).body['Boot'] ?? {}) as Body);
  }

  async setBootDevice(wanted: WantedDevice): Promise<void> {
    const boot = ((await this.system()).body['Boot'] ?? {}) as Body;
    const override = overrideToDevice(boot, wanted);
    const { node, address } = this.#options.access;
    if (override === undefined) {
      const how = wanted.persistent ? 'for every boot' : 'for one boot';
      throw new AnnealError(
        'NotSupported',
        `The BMC of node ${node} at ${address} does not offer the boot device ${wanted.device} ${how}. It offers ${bootDeviceIn(boot).supported.join(', ')}.`,
      );
    }
    await this.#setBoot(override);
    const { persistent } = await this.bootDevice();
    if (persistent !== wanted.persistent)
      throw this.#refused(`it accepted the boot device, but keeps it for ${persistent ? 'every boot' : 'one boot'}`);
  }

  async sensors(): Promise<Sensor[]> {
    return readSensors(this, (await this.system()).body);
  }

  async settings(): Promise<ShownSettings> {
    return readShownSettings(this, (await this.system()).body, (bios) => readBiosDetails(this, bios));
  }

  async consoleLog(limit: number): Promise<ConsoleLog> {
    const log = await readConsoleLog(this, (await this.system()).body, limit);
    if (log) return log;
    const { node, address } = this.#options.access;
    throw noConsoleLog(`The BMC of node ${node} at ${address} keeps no log of the serial console.`, node);
  }

  async #setBootMode(mode: 'UEFI' | 'Legacy'): Promise<void> {
    const { body } = await this.system();
    const boot = (body['Boot'] ?? {}) as Body;
    if (boot['BootSourceOverrideMode'] !== mode) await this.#setBoot({ BootSourceOverrideMode: mode });
  }

  async stopInSetup(): Promise<void> {
    const { body } = await this.system();
    const boot = (body['Boot'] ?? {}) as Body;
    const targets = boot['BootSourceOverrideTarget@Redfish.AllowableValues'];
    if (Array.isArray(targets) && targets.includes('BiosSetup')) await this.#setBoot(overrideTo(boot, 'BiosSetup'));
  }

  /** Sets the machine to boot from its disk. Empties the drive even when the override is refused. */
  async bootFromDisk(): Promise<void> {
    const { body } = await this.system();
    const results = await Promise.allSettled([endOverride(this, body, this.#turn)]);
    results.push(...(await Promise.allSettled([ejectAll(this, body, this.#media)])));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async inventory(): Promise<{ inventory: JsonObject; identity: Identity }> {
    const { body } = await this.system();
    return { inventory: await readInventory(this, body), identity: this.#identityIn(body) };
  }

  #setBoot(wanted: Override): Promise<void> {
    return changeBoot(this, wanted, this.#turn);
  }

  async #resetAction(system: Body): Promise<ResetAction | string> {
    const inline = resetAction(bmcActionIn(system, resetName));
    if (typeof inline === 'string' || inline.allowed !== undefined) return inline;
    return resetAction(await readAction(this, system, resetName));
  }

  async #readSystem(): Promise<RedfishAnswer> {
    const known = this.#path;
    if (this.#path === undefined) {
      const found = await findSystem(this, this.#options.systemId, (why, fatal) =>
        fatal ? this.#misconfigured(why) : this.#unfit([why]),
      );
      const { pathname, search } = ownUrl(this.#options.access, found, { what: 'its system (Systems/Members)' });
      this.#path = `${pathname}${search}`;
    }
    try {
      return await this.get(this.#path);
    } catch (error) {
      const gone = error instanceof AnnealError && error.details?.['status'] === 404;
      if (!gone || known === undefined || this.#options.systemId?.startsWith('/')) throw error;
      // After a firmware update the system may have another path.
      this.#path = undefined;
      return this.#readSystem();
    }
  }

  #identityIn(body: Body): Identity {
    return identityIn(body, this.#path ?? null, this.#options.placeholders);
  }

  #mismatch(contrary: string, found: Identity): AnnealError {
    const { access, expected } = this.#options;
    return anotherMachine(access, { contrary, found, expected: expected ?? found });
  }

  #unfit(problems: readonly string[]): AnnealError {
    const where = this.#path ?? 'its list of systems';
    return this.#refused(`${where} is not a usable Redfish system: ${problems.join('; ')}`, { unfit: true });
  }

  #misconfigured(why: string): AnnealError {
    const { node, address } = this.#options.access;
    return new AnnealError('BmcMisconfigured', `The BMC of node ${node} at ${address}: ${why}`, {
      details: { node, url: address },
    });
  }

  #refused(why: string, details: object = {}): AnnealError {
    const { node, address } = this.#options.access;
    return new AnnealError('BmcRefused', `The BMC of node ${node} at ${address}: ${why}`, {
      details: { node, url: address, ...details },
    });
  }
}

/** Whether the same reading may succeed soon. */
const isPassing = (error: unknown): boolean =>
  error instanceof BmcError && (error.code === 'BmcUnreachable' || error.repeat !== 'never');
