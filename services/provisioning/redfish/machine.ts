/** Drives one machine through Redfish. Follows links instead of building paths, and reads back every change. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BootDeviceView, ConsoleLog, Sensor } from '@anneal/contracts/calls/node-hardware.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { anotherMachine, noConsoleLog } from '../documents/faults.ts';
import { contradiction, identityIn, type Identity } from '../documents/identity.ts';
import type { BmcMachine, BootProgress, Change, Hardware, ShownSettings, WantedDevice } from '../bmc/port.ts';
import type { BootMethod, Power } from '../documents/node.ts';
import { readBiosDetails } from './bios-registry.ts';
import { bootDeviceIn, overrideToDevice } from './boot-device.ts';
import { bootProgressIn } from './boot-progress.ts';
import { allowedTarget, overridesToDisk, overrideTo, withMode } from './boot-override.ts';
import type { RedfishHttp } from './http.ts';
import { readInventory, readShownSettings } from './inventory.ts';
import {
  powerIn,
  resetAction,
  resetFor,
  resetProblems,
  resetsFor,
  shownValue,
  strangenessOf,
  type ResetAction,
} from './system.ts';
import { changeDocument } from './change-document.ts';
import { quirksOf } from './quirks.ts';
import { readSensors } from './sensors.ts';
import { applyBios, applyFirmware, applySecureBoot, resetBios } from './settings.ts';
import { readConsoleLog } from './console-log.ts';
import { findSystem } from './system-path.ts';
import { taskEnded, taskOf } from './task.ts';
import type { Access, Method, RedfishAnswer } from './transport.ts';
import { createVolumes, deleteVolumes } from './volumes.ts';
import { ejectAll, insertImage } from './virtual-media.ts';

type Body = Readonly<Record<string, unknown>>;

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
}

export class RedfishMachine implements BmcMachine {
  readonly #http: RedfishHttp;
  readonly #options: MachineOptions;
  #path: string | undefined;

  constructor(http: RedfishHttp, options: MachineOptions) {
    this.#http = http;
    this.#options = options;
    this.#path = options.path;
  }

  /** The path of the system, after it was found. */
  get path(): string | undefined {
    return this.#path;
  }

  get = (path: string): Promise<RedfishAnswer> => this.#send('GET', path);
  post = (path: string, body: unknown): Promise<RedfishAnswer> => this.#send('POST', path, { body });
  patch = (path: string, body: unknown, etag?: string): Promise<RedfishAnswer> => {
    const patch = (at: string, what: unknown, tag?: string) => this.#send('PATCH', at, { body: what, etag: tag });
    return changeDocument({ get: this.get, patch }, { path, body, etag });
  };
  remove = (path: string): Promise<RedfishAnswer> => this.#send('DELETE', path);
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
    const { body } = await this.system();
    const problems = resetProblems(await this.#resetAction(body));
    if (problems.length > 0) throw this.#unfit(problems);
    const power = powerIn(body);
    if (power === null) {
      throw this.#refused(
        `the power of ${this.#path} is not known yet (PowerState is ${shownValue(body['PowerState'])})`,
      );
    }
    return { power, identity: this.#identityIn(body) };
  }

  async bootProgress(): Promise<BootProgress> {
    return bootProgressIn((await this.system()).body);
  }

  async reset(change: Change): Promise<{ type: string; task: string | undefined }> {
    const action = await this.#requireReset();
    const type = resetFor(change, action);
    if (type === undefined)
      throw this.#refused(`the system ${this.#path} supports none of the resets ${resetsFor[change].join(', ')}`);
    const answer = await this.post(action.target, { ResetType: type });
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
    await this.post(target, { ResetType: 'Nmi' });
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
    const end = Date.now() + withinMs;
    for (let pause = 100; ; pause = Math.min(1_000, pause * 1.5)) {
      if ((await this.power()) === wanted || (await proven?.())) return true;
      if (task !== undefined) await taskEnded(this, task, (why) => this.#refused(why));
      if (Date.now() + pause > end) return false;
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
    if (await insertImage(this, system, { url: `${url}/boot.iso`, refused: (why) => this.#refused(why) })) {
      await this.#setBoot(overrideTo(boot, allowedTarget(boot, quirksOf(system).cd)));
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
    const results = await Promise.allSettled([this.#endOverride(body)]);
    results.push(...(await Promise.allSettled([ejectAll(this, body, (why) => this.#refused(why))])));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Tries the next best override when the BMC refuses one that it advertises. */
  async #endOverride(system: Body): Promise<void> {
    let refusal: unknown;
    for (const override of overridesToDisk((system['Boot'] ?? {}) as Body)) {
      try {
        await this.#setBoot(override);
        return;
      } catch (error) {
        if (!hasCode(error, 'BmcRefused')) throw error;
        refusal = error;
      }
    }
    if (refusal !== undefined) throw refusal;
  }

  async inventory(): Promise<{ inventory: JsonObject; identity: Identity }> {
    const { body } = await this.system();
    return { inventory: await readInventory(this, body), identity: this.#identityIn(body) };
  }

  /** Reads, changes that version and reads back. Retries when the version changed meanwhile. */
  async #setBoot(wanted: Readonly<Record<string, string>>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const before = await this.system();
      try {
        const present = (before.body['Boot'] ?? {}) as Body;
        const body = { Boot: quirksOf(before.body).wholeBoot ? withMode(present, wanted) : wanted };
        await this.patch(this.#path ?? '', body, before.etag);
        break;
      } catch (error) {
        const moved = error instanceof AnnealError && error.details?.['status'] === 412;
        if (!moved || attempt >= 4) throw error;
      }
    }
    const boot = ((await this.system()).body['Boot'] ?? {}) as Body;
    const differs = Object.entries(wanted).filter(
      // Some firmware stores Once as Continuous. That boots as wanted, and is set back to the disk afterwards.
      ([name, value]) => name !== 'BootSourceOverrideEnabled' && boot[name] !== value,
    );
    if (differs.length > 0) {
      const found = differs.map(([name]) => `${name} ${shownValue(boot[name])}`).join(', ');
      throw this.#refused(`the BMC accepted the boot override but reports ${found}`);
    }
  }

  /** The reset action. Its list of reset types may be in a separate document. */
  async #resetAction(system: Body): Promise<ResetAction | string> {
    const inline = resetAction(system);
    if (typeof inline === 'string' || inline.allowed !== undefined) return inline;
    const action = (system['Actions'] as Body)['#ComputerSystem.Reset'] as Body;
    const info = action['@Redfish.ActionInfo'];
    return typeof info === 'string' ? resetAction(system, (await this.get(info)).body) : inline;
  }

  async #readSystem(): Promise<RedfishAnswer> {
    const known = this.#path;
    this.#path ??= await findSystem(this, this.#options.systemId, (why, fatal) =>
      fatal ? this.#misconfigured(why) : this.#unfit([why]),
    );
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

  #send(method: Method, path: string, sending: { body?: unknown; etag?: string | undefined } = {}) {
    const { access, signal, tries } = this.#options;
    return this.#http.send(access, { ...sending, method, path, signal, tries });
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
