/**
 * One simulated machine: power, firmware, disk and what runs on it.
 *
 * M1 Changes of power happen one after the other, in the order in which they were asked for.
 * M2 A machine that is off runs nothing: `Off` is recorded only after no process of it is left.
 * M3 Its state is on disk before anything acts on it. A lab that is killed at any line starts the machine again as
 *    after a power cut: a machine that was on boots.
 * M4 A boot override of `Once` is used up when its source has been loaded, or found missing.
 * M5 After its image is written it powers off as the ramdisk does, and waits for its BMC to start it.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BootSeed } from '@anneal/contracts/calls/boot.ts';
import type { Logger } from 'pino';
import { addressOf, exchange, fetchDocument, fetchScript, sendHeartbeat, report, type Fetched } from './boot-image.ts';
import { readConsoleLines, writeConsoleLine, type LabConsoleLine } from './console-log.ts';
import type { Faults } from './faults.ts';
import {
  consoleOf,
  erase,
  install,
  installedSeed,
  machineEnvironment,
  installationRoot,
  watchOrders,
  writePrograms,
} from './installation.ts';
import {
  noOverride,
  saveMachine,
  type BiosAttributes,
  type BootOverride,
  type Indicator,
  type LabVolume,
  type MachineState,
} from './machine-state.ts';
import { serialLogOf } from './qemu/qemu.ts';
import { runInQemu } from './qemu/run.ts';
import { killProcesses, terminateProcesses } from './processes.ts';

export const resetTypes = [
  'On',
  'ForceOn',
  'ForceOff',
  'GracefulShutdown',
  'GracefulRestart',
  'ForceRestart',
  'PowerCycle',
  'PushPowerButton',
  'Nmi',
] as const;
export type ResetType = (typeof resetTypes)[number];

/** Redfish's terms (BootProgress.LastState). */
export type LabBootProgress = 'None' | 'SystemHardwareInitializationComplete' | 'OSBootStarted' | 'OSRunning' | 'OEM';

export interface Timing {
  readonly bootMs: number;
  /** Between accepting a reset and its effect. */
  readonly resetMs: { readonly min: number; readonly max: number };
  /** How long a graceful shutdown may take before the power goes. */
  readonly shutdownMs: number;
}

/** The agent on an installed machine. The program that starts the lab provides it. */
export interface LabAgent {
  /** Releases its claims and stops. */
  stop(): Promise<void>;
  /** Ends it at once, as a loss of power does. */
  kill(): void;
}
export type StartAgent = (options: {
  seed: BootSeed;
  directory: string;
  environment: Record<string, string>;
  log: Logger;
  newId: () => string;
  now: () => Date;
  machine: LabSystem;
}) => Promise<LabAgent>;

/** The machine as its agent sees it. Each boot has an id of its own. */
interface LabSystem {
  boot(): string;
  reboot(): Promise<void>;
  goesDown(): Promise<boolean>;
}

interface Run {
  readonly ended: AbortController;
  agent: LabAgent | undefined;
  /** True from the moment when its system ordered a reboot. */
  goesDown?: boolean;
  /** Interrupts the guest in QEMU. */
  interrupt?: () => void;
}

/** The faults of a controller that its machine follows. */
type MachineFaults = Pick<Faults, 'personality' | 'hasOldRamdisk' | 'writeFailure' | 'writePace' | 'takeHangingReboot'>;

export interface LabMachineOptions {
  readonly directory: string;
  readonly state: MachineState;
  readonly timing: Timing;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly startAgent: StartAgent;
  readonly log: Logger;
  /** `directory`: its agent runs in a folder of this computer. `qemu`: a real firmware boots a real kernel. */
  readonly isolation?: Isolation;
  /** The address of the script of iPXE, which the DHCP server of its network names. Undefined: none answers. */
  readonly pxe?: string | undefined;
  /** With `qemu`: the network interface of this computer that is its cable. Undefined: it is in a network of its own. */
  readonly tap?: string | undefined;
}

export const isolations = ['directory', 'qemu'] as const;
export type Isolation = (typeof isolations)[number];

export class LabMachine {
  readonly directory: string;
  readonly #options: LabMachineOptions;
  #state: MachineState;
  #power: 'On' | 'Off' | 'PoweringOn' | 'PoweringOff';
  #progress: LabBootProgress = 'None';
  #detail = '';
  #run: Run | undefined;
  #changes: Promise<void> = Promise.resolve();
  #unplugged = false;
  /** The boot override and the drive as they were at the last start from off. */
  #atStart: Pick<MachineState, 'boot' | 'media'>;
  #faults: MachineFaults | undefined;
  #onPower: (power: 'On' | 'Off') => void = () => undefined;

  constructor(options: LabMachineOptions) {
    this.#options = options;
    this.directory = options.directory;
    this.#state = options.state;
    this.#atStart = options.state;
    this.#power = 'Off';
    writePrograms(options.directory, options.state.name);
  }

  get state(): MachineState {
    return this.#state;
  }
  get power(): 'On' | 'Off' | 'PoweringOn' | 'PoweringOff' {
    return this.#power;
  }
  get progress(): { state: LabBootProgress; detail: string } {
    return { state: this.#progress, detail: this.#detail };
  }

  /** The output at its serial port, as its BMC keeps it. */
  consoleLines(): LabConsoleLine[] {
    return readConsoleLines(this.#consoleFile);
  }
  get #consoleFile(): string {
    return this.#options.isolation === 'qemu' ? serialLogOf(this.directory) : consoleOf(this.directory);
  }

  /** Gives the machine the habits that a test arms at its controller. */
  follow(faults: MachineFaults | undefined): void {
    this.#faults = faults;
  }

  /** Calls `notify` after each change of power that the controller of the machine notices. */
  onPower(notify: (power: 'On' | 'Off') => void): void {
    this.#onPower = notify;
  }

  /** Restores the power supply: a machine that was on boots. */
  plugIn(): void {
    if (this.#state.power === 'On') void this.#enqueue(async () => this.#powerOn());
  }

  /** Cuts the power supply: every process ends. A machine that was on boots again when the power returns. */
  async unplug(): Promise<void> {
    this.#unplugged = true;
    this.#run?.ended.abort();
    await this.#changes;
    await this.#endRun();
    this.#power = 'Off';
  }

  /** Accepts a change of power, which happens a moment later. Resolves when it has happened. */
  reset(type: ResetType): Promise<void> {
    const { min, max } = this.#options.timing.resetMs;
    return this.#enqueue(async () => {
      await sleep(min + Math.random() * (max - min));
      if (this.#unplugged) return;
      const on = this.#state.power === 'On';
      switch (type) {
        case 'On':
        case 'ForceOn':
          if (!on) this.#powerOn();
          return;
        case 'ForceOff':
          if (on) await this.#powerOff({ graceful: false });
          return;
        case 'GracefulShutdown':
          if (on) await this.#powerOff({ graceful: true });
          return;
        case 'PushPowerButton':
          if (on) await this.#powerOff({ graceful: true });
          else this.#powerOn();
          return;
        case 'GracefulRestart':
        case 'ForceRestart':
        case 'PowerCycle':
          if (on) await this.#powerOff({ graceful: type === 'GracefulRestart' });
          this.#powerOn({ warm: on && type !== 'PowerCycle' });
          return;
        case 'Nmi':
          if (on) this.#interrupt();
      }
    });
  }

  /** A non-maskable interrupt. The kernel of a machine in QEMU gets it; another machine only says so at its console. */
  #interrupt(): void {
    if (this.#options.isolation === 'qemu') this.#run?.interrupt?.();
    else writeConsoleLine(this.#consoleFile, 'Uhhuh. NMI received for unknown reason 20 on CPU 0.');
  }

  setBoot(boot: BootOverride): void {
    this.#remember({ boot });
  }
  setMedia(media: string | null): void {
    this.#remember({ media });
  }
  setAssetTag(assetTag: string): void {
    this.#remember({ assetTag });
  }
  setIndicator(indicator: Indicator): void {
    this.#remember({ indicator });
  }
  /** The settings wait for the next power-on. */
  setBios(pendingBios: BiosAttributes): void {
    this.#remember({ pendingBios: { ...this.#state.pendingBios, ...pendingBios } });
  }
  setSecureBoot(enabled: boolean): void {
    this.#remember({ secureBoot: { ...this.#state.secureBoot, enabled } });
  }
  setVolumes(volumes: readonly LabVolume[]): void {
    this.#remember({ volumes: [...volumes] });
  }
  /** New firmware of a controller runs at once; that of the machine from the next power-on. */
  setFirmware(component: string, version: string): void {
    const { firmware, pendingFirmware } = this.#state;
    if (component === 'BMC') this.#remember({ firmware: { ...firmware, [component]: version } });
    else this.#remember({ pendingFirmware: { ...pendingFirmware, [component]: version } });
  }

  #enqueue(change: () => Promise<void>): Promise<void> {
    this.#changes = this.#changes.then(change).catch((error: unknown) => {
      this.#options.log.error({ err: error, machine: this.#state.name }, 'change of power failed');
    });
    return this.#changes;
  }

  #remember(change: Partial<MachineState>): void {
    this.#state = { ...this.#state, ...change };
    saveMachine(this.directory, this.#state);
  }

  #powerOn({ warm = false } = {}): void {
    if (!warm) this.#atStart = this.#state;
    const { bios, pendingBios, secureBoot, firmware, pendingFirmware } = this.#state;
    this.#remember({
      power: 'On',
      bios: { ...bios, ...pendingBios },
      pendingBios: null,
      secureBoot: { enabled: secureBoot.enabled, current: secureBoot.enabled },
      firmware: { ...firmware, ...pendingFirmware },
      pendingFirmware: {},
    });
    this.#power = 'On';
    this.#onPower('On');
    const run: Run = { ended: new AbortController(), agent: undefined };
    this.#run = run;
    this.#show('None', 'Power-on self-test');
    this.#boot(run).catch((error: unknown) => {
      if (run.ended.signal.aborted) return;
      this.#options.log.error({ err: error, machine: this.#state.name }, 'boot failed');
      this.#show('OEM', `Boot failed: ${error instanceof Error ? error.message : String(error)}`);
    });
  }

  async #powerOff({ graceful }: { graceful: boolean }): Promise<void> {
    this.#power = 'PoweringOff';
    if (graceful) {
      const patience = AbortSignal.timeout(this.#options.timing.shutdownMs);
      await Promise.race([this.#stopAgent(), sleep(2 ** 30, undefined, { signal: patience }).catch(() => undefined)]);
      await terminateProcesses(this.directory, this.#options.timing.shutdownMs);
    }
    await this.#endRun();
    this.#remember({ power: 'Off' });
    this.#power = 'Off';
    this.#onPower('Off');
    this.#show('None', '');
  }

  async #endRun(): Promise<void> {
    const run = this.#run;
    this.#run = undefined;
    run?.ended.abort();
    const agent = run?.agent;
    if (run) run.agent = undefined;
    try {
      agent?.kill();
    } catch (error) {
      // The agent cannot prevent the power cut: its processes are found and ended anyway.
      this.#options.log.warn(
        { err: error, machine: this.#state.name },
        'agent did not end at the power cut; killing its processes',
      );
    }
    await killProcesses(this.directory);
  }

  async #stopAgent(): Promise<void> {
    try {
      await this.#run?.agent?.stop();
      // The agent has stopped, so the power cut has nothing left to kill.
      if (this.#run) this.#run.agent = undefined;
    } catch (error) {
      this.#options.log.warn(
        { err: error, machine: this.#state.name },
        'agent did not stop in time; cutting the power',
      );
    }
  }

  #show(progress: LabBootProgress, detail: string): void {
    this.#progress = progress;
    this.#detail = detail;
    if (detail === '') return;
    this.#options.log.debug({ machine: this.#state.name, progress }, detail);
    // The firmware and the kernel of a machine in QEMU write for themselves.
    if (this.#options.isolation !== 'qemu') writeConsoleLine(this.#consoleFile, `[${progress}] ${detail}`);
  }

  async #boot(run: Run): Promise<void> {
    const { signal } = run.ended;
    await sleep(this.#options.timing.bootMs * (0.75 + Math.random() / 2), undefined, { signal });
    this.#show('SystemHardwareInitializationComplete', 'Looking for something to boot');
    if (this.#options.isolation === 'qemu') return this.#runInQemu(run);

    const source = await this.#source(signal);
    if (source !== undefined) {
      this.#show('SystemHardwareInitializationComplete', `Loading ${source.replace(/[^/]{16,}/, '…')}`);
      const loaded = await this.#load(source, signal);
      if (loaded === 'refused') {
        this.#show('OSBootStarted', 'The server refused this boot; powering off');
        this.#useUpOverride();
        return this.#powerOffItself(run);
      }
      if ('value' in loaded && loaded.value.purpose === 'clean') {
        await this.#clean(loaded.value, run);
        return;
      }
      if ('value' in loaded && loaded.value.purpose === 'rescue') {
        await this.#rescue(loaded.value, run);
        return;
      }
      if ('value' in loaded) {
        // A seed of an older server expects no report.
        if (loaded.value.report_token !== undefined) return this.#write(loaded.value, run);
        install(this.directory, loaded.value);
      } else
        this.#options.log.warn({ machine: this.#state.name }, `boot source has no boot document: ${loaded.gaveUp}`);
    }
    const { boot } = this.#state;
    const inSetup = boot.enabled !== 'Disabled' && boot.target === 'BiosSetup';
    this.#useUpOverride();

    const seed = inSetup ? undefined : installedSeed(this.directory);
    if (!seed) {
      this.#show('OEM', 'No bootable device');
      return;
    }
    await this.#startSystem(seed, run);
  }

  /** Loads a boot document, which states only its purpose. The seed comes in exchange for the secret in the address. */
  async #load(source: string, signal: AbortSignal): Promise<Fetched<BootSeed> | 'refused'> {
    const loaded = await fetchDocument(source, signal);
    if ('gaveUp' in loaded) return loaded;
    const key = randomBytes(24).toString('base64url');
    this.#remember({ bootKey: { url: source, key } });
    const machine = this.#faults?.hasOldRamdisk ? {} : { machine: this.#state.uuid };
    const exchanged = await exchange(source, { key, ...machine }, signal);
    return 'gaveUp' in exchanged ? 'refused' : exchanged;
  }

  /** M5 */
  async #write(seed: BootSeed, run: Run): Promise<void> {
    const { signal } = run.ended;
    this.#show('OSBootStarted', 'Writing the image');
    this.#useUpOverride();
    const isOld = this.#faults?.hasOldRamdisk ?? false;
    if (!isOld) await this.#sendProgress(seed, signal);
    const failure = this.#faults?.writeFailure;
    if (failure) {
      const { message: why, ...causes } = failure;
      await report(seed, { status: 'failed', message: why, ...causes }, signal);
      return this.#powerOffItself(run);
    }
    install(this.directory, seed);
    const message = `${seed.image_name ?? 'the image'} is on the disk`;
    const end = await report(seed, { status: 'written', message, ...(!isOld && { powers_off: true }) }, signal);
    if (end === 'power off') return this.#powerOffItself(run);
    void this.#enqueue(async () => {
      if (this.#run !== run) return;
      await this.#endRun();
      this.#powerOn({ warm: true });
    });
  }

  /** Writes and reads back nothing, in the time that its fault names, and says how far it is as the ramdisk does. */
  async #sendProgress(seed: BootSeed, signal: AbortSignal): Promise<void> {
    const { image } = seed;
    if (!image) return;
    const { steps, ms, stops_at: end, problem } = this.#faults?.writePace ?? { steps: 1, ms: 0 };
    // Its clock, by which the server orders the heartbeats.
    let uptime_ms = 0;
    for (const phase of ['writing', 'checking'] as const) {
      for (let step = 0; step <= steps;) {
        const bytes = Math.floor((image.size * step) / steps);
        const stops = phase === 'writing' && step === end;
        const why = stops && problem !== undefined ? { problem } : {};
        uptime_ms += Math.max(1, ms);
        await sendHeartbeat(seed, { phase, bytes, total: image.size, uptime_ms, ...why }, signal);
        await sleep(ms, undefined, { signal });
        if (!stops) step += 1;
      }
    }
  }

  #powerOffItself(run: Run): void {
    void this.#enqueue(async () => {
      if (this.#run === run) await this.#powerOff({ graceful: false });
    });
  }

  /** The override and the drive that the firmware sees. */
  get #seen(): Pick<MachineState, 'boot' | 'media'> {
    return this.#faults?.personality?.changesAtStart === true ? this.#atStart : this.#state;
  }

  /** The address that the firmware loads from. Undefined when it boots from disk. */
  async #source(signal: AbortSignal): Promise<string | undefined> {
    const { uuid } = this.#state;
    const { boot, media } = this.#seen;
    const { pxe } = this.#options;
    if (boot.enabled === 'Disabled') return undefined;
    if (boot.target === 'Pxe') {
      const script = pxe === undefined ? undefined : await fetchScript({ address: pxe, uuid }, signal);
      return script && 'value' in script ? script.value : undefined;
    }
    const url = boot.target === 'UefiHttp' ? boot.httpBootUri : boot.target === 'Cd' ? media : null;
    return url === null ? undefined : addressOf(url);
  }

  #useUpOverride(): void {
    if (this.#state.boot.enabled === 'Once') this.#remember({ boot: { ...noOverride, mode: this.#state.boot.mode } });
  }

  async #runInQemu(run: Run): Promise<void> {
    await runInQemu({
      directory: this.directory,
      tap: this.#options.tap,
      environment: this.#options.environment,
      signal: run.ended.signal,
      state: () => ({ ...this.#state, boot: this.#seen.boot, media: this.#seen.media }),
      booted: () => this.#useUpOverride(),
      show: (detail) => this.#show('OSBootStarted', detail),
      holds: (process) => {
        run.agent = process;
        run.interrupt = process.interrupt;
      },
    });
    this.#powerOffItself(run);
  }

  async #startSystem(seed: BootSeed, run: Run): Promise<void> {
    this.#show('OSBootStarted', `Starting ${seed.hostname}`);
    const { address, name } = this.#state;
    const agent = await this.#options.startAgent({
      seed,
      directory: installationRoot(this.directory),
      environment: machineEnvironment({
        directory: this.directory,
        address,
        hostname: seed.hostname,
        inherited: this.#options.environment,
      }),
      log: this.#options.log.child({ machine: name, host: seed.host_id }),
      newId: uuidv7,
      now: () => new Date(),
      machine: this.#systemOf(run),
    });
    run.agent = agent;
    watchOrders(this.directory, run.ended.signal, () => this.#restartItself(run));
    // The power may have gone while the agent was starting.
    if (run.ended.signal.aborted) {
      agent.kill();
      return;
    }
    this.#show('OSRunning', seed.hostname);
  }

  #systemOf(run: Run): LabSystem {
    const boot = randomBytes(16).toString('hex');
    return {
      boot: () => boot,
      reboot: () => {
        this.#restartItself(run);
        return Promise.resolve();
      },
      goesDown: () => Promise.resolve(run.goesDown === true || this.#run !== run),
    };
  }

  /** The reboot that the system of the machine orders. It shuts down before, and keeps its power. */
  #restartItself(run: Run): void {
    if (run.goesDown === true) return;
    run.goesDown = true;
    const { min, max } = this.#options.timing.resetMs;
    void this.#enqueue(async () => {
      await sleep(min + Math.random() * (max - min));
      if (this.#run !== run || this.#unplugged) return;
      this.#show('None', 'Restarting');
      const patience = AbortSignal.timeout(this.#options.timing.shutdownMs);
      await Promise.race([this.#stopAgent(), sleep(2 ** 30, undefined, { signal: patience }).catch(() => undefined)]);
      await this.#endRun();
      if (this.#faults?.takeHangingReboot() === true) this.#show('OEM', 'The firmware hangs');
      else this.#powerOn({ warm: true });
    });
  }

  /** Runs a system that changes no disk, until the power goes. */
  async #rescue(seed: BootSeed, run: Run): Promise<void> {
    this.#show('OSBootStarted', 'Starting the rescue system');
    this.#useUpOverride();
    const message =
      seed.rescue_password === undefined ? 'The rescue system runs' : 'The rescue system runs; log in as rescue';
    await report(seed, { status: 'ready', message }, run.ended.signal);
    this.#show('OSRunning', 'rescue');
  }

  async #clean(seed: BootSeed, run: Run): Promise<void> {
    this.#show('OSBootStarted', 'Erasing the disk');
    let failed: string | undefined;
    try {
      erase(this.directory);
    } catch (error) {
      failed = error instanceof Error ? error.message : String(error);
    }
    this.#useUpOverride();
    await report(
      seed,
      failed === undefined
        ? { status: 'cleaned', message: `Erased 1 disk of ${this.#state.diskGib} GiB` }
        : { status: 'failed', message: `The disk could not be erased: ${failed}` },
      run.ended.signal,
    );
    this.#powerOffItself(run);
  }
}

/** UUIDv7: ordered by time, as the ids of messages are. */
function uuidv7(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
