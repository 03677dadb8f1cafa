/** The run of a machine in QEMU, from its power-on until it is off: one process for each boot. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineState } from '../machine-state.ts';
import { loadMedia, startQemu, type QemuBoot } from './qemu.ts';

export interface QemuRun {
  readonly directory: string;
  readonly tap: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** The present state: a client of the BMC may change it between two boots. */
  readonly state: () => MachineState;
  /** The override of the boot has been used. */
  readonly booted: () => void;
  readonly show: (detail: string) => void;
  /** The process of this boot: how to end it, and how to interrupt its guest. */
  readonly holds: (process: { stop: () => Promise<void>; kill: () => void; interrupt: () => void }) => void;
}

/** Resolves when the machine has turned itself off, or `signal` is aborted. */
export async function runInQemu(run: QemuRun): Promise<void> {
  const { directory, environment, signal, tap } = run;
  mkdirSync(join(directory, 'log'), { recursive: true });
  while (!signal.aborted) {
    const state = run.state();
    const boot = await sourceOf(run, state);
    run.booted();
    signal.throwIfAborted();
    const machine = await startQemu({ directory, state, boot, tap, environment });
    const stop = async (): Promise<void> => {
      machine.press();
      await machine.ended;
    };
    run.holds({ stop, kill: () => machine.kill(), interrupt: () => machine.interrupt() });
    if (signal.aborted) machine.kill();
    run.show(booting[boot.from]);
    if ((await machine.ended) === 'off') return;
  }
}

const booting: Readonly<Record<QemuBoot['from'], string>> = {
  http: 'Booting over HTTP',
  cd: 'Booting from the CD',
  network: 'Booting from the network',
  disk: 'Booting from the disk',
};

async function sourceOf(
  { directory, signal, show }: QemuRun,
  { boot, media, httpBoot }: MachineState,
): Promise<QemuBoot> {
  const disk = { from: 'disk' } as const;
  if (boot.enabled === 'Disabled') return disk;
  if (boot.target === 'Pxe') return { from: 'network' };
  if (boot.target === 'UefiHttp' && httpBoot && boot.httpBootUri !== null)
    return { from: 'http', source: boot.httpBootUri };
  if (boot.target !== 'Cd' || media === null) return disk;
  show('Reading the image of the virtual drive');
  try {
    return { from: 'cd', source: await loadMedia(directory, media, signal) };
  } catch (error) {
    signal.throwIfAborted();
    // The firmware finds an empty drive, and boots from the disk.
    show(`The virtual drive is empty: ${error instanceof Error ? error.message : String(error)}`);
    return disk;
  }
}
