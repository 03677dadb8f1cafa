/**
 * A machine of libvirt behind OpenStack's emulator of a BMC, as OpenStack and Metal3 develop with. The emulator changes the
 * stored definition of the machine, so a boot device and an ejected medium hold from the next start from off. Needs root:
 * libvirt runs in a mount namespace with its own folders, and ends with it.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { freeLocalPort } from '../backends/free-port.ts';
import { findProgram } from '../backends/program.ts';
import { installFromPypi, type NoPython, type PythonEnvironment } from '../backends/pypi.ts';

const run = promisify(execFile);
const debian = 'apt-get install libvirt-daemon-system libvirt-clients python3-libvirt';
/** The binding of libvirt for Python, which is in packages of distributions only. */
const bindings = '/usr/lib/python3/dist-packages';

/** The emulator, with the binding of libvirt where this computer has it. */
export async function installEmulator(): Promise<PythonEnvironment | NoPython> {
  const installed = await installFromPypi(['sushy-tools==2.2.0']);
  if ('missing' in installed || !existsSync(bindings)) return installed;
  const [version = ''] = readdirSync(join(installed.directory, 'lib'));
  const packages = join(installed.directory, 'lib', version, 'site-packages');
  for (const name of readdirSync(bindings).filter((each) => each.startsWith('libvirt')))
    if (!existsSync(join(packages, name))) await symlink(join(bindings, name), join(packages, name));
  return installed;
}

/** An address of this computer that a guest reaches, and the computer itself. */
export const outerAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

/** Why this computer cannot run a machine of libvirt. Undefined when it can. */
export async function missingForLibvirt(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'a libvirt of its own needs root';
  for (const name of ['libvirtd', 'virsh', 'unshare'])
    if (!(await findProgram(name, ['/usr/sbin', '/usr/bin']))) return `${name} is not installed (Debian: ${debian})`;
  if (outerAddress() === undefined) return 'this computer has no address but those of itself';
  const emulator = await installEmulator();
  if ('missing' in emulator) return emulator.missing;
  const isBound = await run(join(emulator.bin, 'python'), ['-c', 'import libvirt']).then(
    () => true,
    () => false,
  );
  if (!isBound) return `python3 has no binding of libvirt (Debian: ${debian})`;
  return run('unshare', ['--mount', 'true']).then(
    () => undefined,
    (error: unknown) => `this computer allows no mount namespace: ${String(error).split('\n').at(-1)}`,
  );
}

/** Starts libvirt with folders below $1, the machine in $1/machine.xml, and the emulator at port $2 from $3. */
const script = `set -eu
folder=$1
for each in etc/libvirt var/lib/libvirt var/log/libvirt run/libvirt; do
  mkdir -p "$folder/$each" "/$each"
  [ "$each" != etc/libvirt ] || cp -a /etc/libvirt/. "$folder/etc/libvirt/"
  mount --bind "$folder/$each" "/$each"
done
rm -rf /etc/libvirt/qemu /run/libvirt/*
cat >/etc/libvirt/qemu.conf <<'END'
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
stdio_handler = "file"
END
libvirtd &
until virsh list >/dev/null 2>&1; do sleep 0.2; done
mkdir -p "$folder/pool"
virsh pool-define-as default dir --target "$folder/pool"
virsh pool-start default
virsh define "$folder/machine.xml"
"$3" --config "$folder/emulator.conf" -i 127.0.0.1 -p "$2" --libvirt-uri qemu:///system &
read -r _ || true
virsh destroy machine || true
kill $(jobs -p)
wait
`;

export class LibvirtMachine {
  readonly id: string;
  readonly #folder: string;
  readonly #port: number;
  readonly #child: ChildProcess;
  #output = '';

  private constructor(folder: string, port: number, child: ChildProcess, id: string) {
    this.#folder = folder;
    this.#port = port;
    this.#child = child;
    this.id = id;
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text: Buffer) => (this.#output = (this.#output + text.toString()).slice(-20_000)));
  }

  /** Starts everything; the machine is off. */
  static async start({ folder, bin }: { folder: string; bin: string }): Promise<LibvirtMachine> {
    const id = randomUUID();
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'disk.img'), '');
    await truncate(join(folder, 'disk.img'), 2 * 2 ** 30);
    await writeFile(join(folder, 'machine.xml'), definition(folder, id));
    await writeFile(join(folder, 'emulator.conf'), `SUSHY_EMULATOR_STATE_DIR = '${folder}'\n`);
    await writeFile(join(folder, 'start.sh'), script);
    const port = await freeLocalPort();
    const words = ['--mount', 'bash', join(folder, 'start.sh'), folder, String(port), join(bin, 'sushy-emulator')];
    const child = spawn('unshare', words, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, LC_ALL: 'C' } });
    const machine = new LibvirtMachine(folder, port, child, id);
    await eventually(() => machine.power().then(Boolean, () => false), {
      within: 60_000,
      what: 'the emulator',
      last: () => machine.output(),
    });
    return machine;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The path of the system in Redfish. */
  get system(): string {
    return `/redfish/v1/Systems/${this.id}`;
  }

  get disk(): string {
    return join(this.#folder, 'disk.img');
  }

  /** The console since the first start. */
  serial(): Promise<string> {
    return readFile(join(this.#folder, 'serial'), 'latin1').catch(() => '');
  }

  /** The output of libvirt and the emulator. */
  output = (): string => this.#output;

  async power(): Promise<string> {
    const answer = await fetch(`${this.url}${this.system}`);
    return ((await answer.json()) as { PowerState: string }).PowerState;
  }

  /** Takes the power from the machine. */
  async cut(): Promise<void> {
    await fetch(`${this.url}${this.system}/Actions/ComputerSystem.Reset`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ResetType: 'ForceOff' }),
    });
    await eventually(async () => (await this.power()) === 'Off', { within: 60_000, what: 'the cut' });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await gone;
  }
}

/** BIOS, a disk, a console, and a network card whose packets QEMU sends from this computer. */
const definition = (folder: string, id: string): string => `<domain type='qemu'>
  <name>machine</name>
  <uuid>${id}</uuid>
  <memory unit='MiB'>768</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type><boot dev='hd'/></os>
  <features><acpi/></features>
  <on_reboot>restart</on_reboot>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw' cache='unsafe' discard='unmap'/>
      <source file='${folder}/disk.img'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <serial type='file'><source path='${folder}/serial' append='on'/></serial>
    <interface type='user'><mac address='52:54:00:00:00:11'/><model type='virtio'/></interface>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
  </devices>
</domain>
`;
