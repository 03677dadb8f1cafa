/**
 * A machine of the isolation level `qemu`: a real firmware, kernel and disk in a QEMU process. Power is the process; what
 * it boots comes from the boot override and the virtual drive, as on a real machine.
 *
 * Q1 The process carries the folder of its machine in its environment, so that a lab that starts after a crash ends it.
 * Q2 A reset by the guest ends the process too, because the override of the boot may be used up: the lab starts it again.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { MachineState } from '../machine-state.ts';
import { machineVariable } from '../processes.ts';
import { withHttpBoot } from './nvram.ts';

/** Folders of OVMF in Debian and Ubuntu, Fedora, and Alpine. */
const firmwareFolders = ['/usr/share/OVMF', '/usr/share/edk2/ovmf', '/usr/share/ovmf'];
const diskBytes = 4 * 2 ** 30;
const program = 'qemu-system-x86_64';
/** The address under which a guest reaches the computer that runs it. */
const hostOfGuest = '10.0.2.2';

/** The source that a machine boots from. It boots from its disk when nothing boots from the source. */
export type QemuBoot =
  | { readonly from: 'disk' | 'network' }
  /** The address of UEFI HTTP boot, or the file of the image in the virtual drive. */
  | { readonly from: 'http' | 'cd'; readonly source: string };

/** Why this computer cannot run machines in QEMU. Undefined when it can. */
export function missingForQemu(path: string): string | undefined {
  if (!path.split(':').some((folder) => existsSync(join(folder, program)))) return `${program} is not installed`;
  return firmware() ? undefined : 'the UEFI firmware OVMF is not installed';
}

function firmware(): { code: string; vars: string } | undefined {
  for (const folder of firmwareFolders) {
    for (const size of ['_4M', '']) {
      const [code, vars] = [join(folder, `OVMF_CODE${size}.fd`), join(folder, `OVMF_VARS${size}.fd`)];
      if (existsSync(code) && existsSync(vars)) return { code, vars };
    }
  }
  return undefined;
}

/** How the guest ended its run. */
export type QemuEnd = 'reset' | 'off';

export interface QemuMachine {
  /** Resolves when the process has ended. */
  readonly ended: Promise<QemuEnd>;
  /** Presses the power button. */
  press(): void;
  /** Sends a non-maskable interrupt to the guest. */
  interrupt(): void;
  kill(): void;
}

export const diskOf = (directory: string): string => join(directory, 'disk.img');
export const serialLogOf = (directory: string): string => join(directory, 'log', 'serial');

/** Reads the image into the virtual drive, as a BMC does. */
export async function loadMedia(directory: string, url: string, signal: AbortSignal): Promise<string> {
  const file = join(directory, 'media.iso');
  const address = new URL(url);
  // The BMC is this process, which has the server at another address than its guest.
  if (address.hostname === hostOfGuest) address.hostname = '127.0.0.1';
  const answer = await fetch(address, { signal });
  if (!answer.ok || !answer.body) throw new Error(`the image answered ${answer.status}`);
  await pipeline(Readable.fromWeb(answer.body), createWriteStream(`${file}.new`), { signal });
  renameSync(`${file}.new`, file);
  return file;
}

/** Starts the process. @throws Error when QEMU cannot be started. */
export async function startQemu(options: {
  directory: string;
  state: MachineState;
  boot: QemuBoot;
  /** The network interface of this computer that is its cable. Undefined: it is in a network of its own. */
  tap: string | undefined;
  environment: Readonly<Record<string, string | undefined>>;
}): Promise<QemuMachine> {
  const { directory, state, boot, tap } = options;
  const disk = diskOf(directory);
  if (!existsSync(disk)) writeFileSync(disk, '');
  truncateSync(disk, diskBytes);
  const args = argumentsOf({ directory, state, boot, disk, tap });
  const child = spawn(program, args, {
    cwd: directory,
    env: { PATH: options.environment['PATH'] ?? '/usr/bin:/bin', [machineVariable]: directory },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  await once(child, 'spawn');
  return control(child);
}

function argumentsOf(options: {
  directory: string;
  state: MachineState;
  boot: QemuBoot;
  disk: string;
  tap: string | undefined;
}): string[] {
  const { directory, state, boot, disk, tap } = options;
  const [mac = '52:54:00:00:00:01'] = state.macs;
  // A comma in a path would begin another option.
  const file = (path: string): string => path.replaceAll(',', ',,');
  const order = boot.from === 'disk' ? 1 : 2;
  const cable = tap === undefined ? 'user' : `tap,ifname=${tap},script=no,downscript=no`;
  // UEFI boots from the network by itself; BIOS needs the firmware of the network card.
  const isNetwork = boot.from === 'network';
  const card = [...(isNetwork ? ['bootindex=1'] : []), ...(isNetwork && !state.httpBoot ? [] : ['romfile='])];
  const args = [
    '-nodefaults -no-user-config -display none -machine q35 -accel tcg -m 768 -smp 1 -no-reboot -qmp stdio -vga std'.split(
      ' ',
    ),
    ['-name', state.name, '-uuid', state.uuid, '-smbios', `type=1,uuid=${state.uuid},serial=${state.serial}`],
    ['-chardev', `file,id=serial,append=on,path=${file(serialLogOf(directory))}`, '-serial', 'chardev:serial'],
    ['-drive', `if=none,id=disk,format=raw,cache=unsafe,discard=unmap,file=${file(disk)}`],
    ['-device', `virtio-blk-pci,drive=disk,serial=${state.serial},bootindex=${order}`],
    ['-netdev', `${cable},id=net`, '-device', [`virtio-net-pci,netdev=net,mac=${mac}`, ...card].join(',')],
    ['-device', 'virtio-rng-pci'],
  ].flat();
  if (boot.from === 'cd') {
    args.push('-drive', `if=none,id=cd,media=cdrom,readonly=on,format=raw,file=${file(boot.source)}`);
    args.push('-device', 'ide-cd,drive=cd,bootindex=1');
  }
  if (state.httpBoot) args.push(...uefi(directory, boot.from === 'http' ? boot.source : undefined));
  return args;
}

function uefi(directory: string, http: string | undefined): string[] {
  const files = firmware();
  if (!files) throw new Error('the UEFI firmware OVMF is not installed');
  const vars = join(directory, 'nvram.fd');
  const nvram = readFileSync(files.vars);
  writeFileSync(vars, http === undefined ? nvram : withHttpBoot(nvram, http));
  return [
    '-drive',
    `if=pflash,unit=0,format=raw,readonly=on,file=${files.code}`,
    '-drive',
    `if=pflash,unit=1,format=raw,file=${vars.replaceAll(',', ',,')}`,
  ];
}

/** Speaks QEMU's protocol over the standard streams: one JSON document a line. */
function control(child: ChildProcess): QemuMachine {
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new Error('QEMU has no standard streams.');
  let end: QemuEnd = 'off';
  let trouble = '';
  // It may have ended.
  stdin.on('error', () => undefined);
  stderr.on('data', (chunk: Buffer) => (trouble = (trouble + chunk.toString()).slice(-2_000)));
  createInterface({ input: stdout }).on('line', (line) => {
    if (/"event": "SHUTDOWN"/.test(line) && /"reason": "guest-reset"/.test(line)) end = 'reset';
  });
  const say = (command: string): void => void stdin.write(`${JSON.stringify({ execute: command })}\n`);
  say('qmp_capabilities');
  const ended = new Promise<QemuEnd>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0 || code === null) resolve(end);
      else reject(new Error(`QEMU ended with status ${code}: ${trouble.trim()}`));
    });
  });
  // The caller may look at it later.
  ended.catch(() => undefined);
  return {
    ended,
    press: () => say('system_powerdown'),
    interrupt: () => say('inject-nmi'),
    kill: () => child.kill('SIGKILL'),
  };
}
