/** The run of a machine in QEMU, from its power-on until it is off: one process for each boot. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineState } from '../machine-state.ts';
import { loadMedia, startQemu } from './qemu.ts';

export interface QemuRun {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** The present state: a client of the BMC may change it between two boots. */
  readonly state: () => MachineState;
  /** The override of the boot has been used. */
  readonly booted: () => void;
  readonly show: (detail: string) => void;
  /** The process of this boot: how to end it. */
  readonly holds: (process: { stop: () => Promise<void>; kill: () => void }) => void;
}

/** Resolves when the machine has turned itself off, or `signal` is aborted. */
export async function runInQemu(run: QemuRun): Promise<void> {
  const { directory, environment, signal } = run;
  mkdirSync(join(directory, 'log'), { recursive: true });
  while (!signal.aborted) {
    const state = run.state();
    const boot = await sourceOf(run, state);
    run.booted();
    signal.throwIfAborted();
    const machine = await startQemu({ directory, state, boot, environment });
    const stop = async (): Promise<void> => {
      machine.press();
      await machine.ended;
    };
    run.holds({ stop, kill: () => machine.kill() });
    if (signal.aborted) machine.kill();
    run.show(
      boot.http !== undefined
        ? 'Booting over HTTP'
        : boot.cd !== undefined
          ? 'Booting from the CD'
          : 'Booting from the disk',
    );
    if ((await machine.ended) === 'off') return;
  }
}

async function sourceOf(
  { directory, signal, show }: QemuRun,
  { boot, media, httpBoot }: MachineState,
): Promise<{ http: string | undefined; cd: string | undefined }> {
  if (boot.enabled === 'Disabled') return { http: undefined, cd: undefined };
  if (boot.target === 'UefiHttp' && httpBoot) return { http: boot.httpBootUri ?? undefined, cd: undefined };
  if (boot.target !== 'Cd' || media === null) return { http: undefined, cd: undefined };
  show('Reading the image of the virtual drive');
  try {
    return { http: undefined, cd: await loadMedia(directory, media, signal) };
  } catch (error) {
    signal.throwIfAborted();
    // The firmware finds an empty drive, and boots from the disk.
    show(`The virtual drive is empty: ${error instanceof Error ? error.message : String(error)}`);
    return { http: undefined, cd: undefined };
  }
}
