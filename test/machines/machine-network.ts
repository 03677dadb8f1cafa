/**
 * A network of machines in network namespaces of the test: a bridge with a cable for each machine, one to a second
 * computer, and one to the computer of the test, where the server is. Needs root. The removal of the namespaces removes
 * everything.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, findProgram } from '../backends/program.ts';

const run = promisify(execFile);
const folders = ['/usr/sbin', '/sbin'];

/** Why this computer cannot have such a network. Undefined when it can. */
export async function missingForNetwork(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'a network of machines needs root';
  for (const [program, debian] of [
    ['ip', 'iproute2'],
    ['dnsmasq', 'dnsmasq-base'],
    ['dpkg-deb', 'dpkg'],
  ] as const)
    if (!(await findProgram(program, folders)))
      return `${program} is not installed (Debian: apt-get install ${debian})`;
  const name = `anneal-try-${process.pid}`;
  try {
    await run('ip', ['netns', 'add', name]);
    await run('ip', ['-n', name, 'tuntap', 'add', 'dev', 'try', 'mode', 'tap']);
    return undefined;
  } catch (error) {
    return `this computer allows no network namespace with a tap interface: ${String(error).split('\n').at(-1)}`;
  } finally {
    await run('ip', ['netns', 'delete', name]).catch(() => undefined);
  }
}

/** The folder with the programs of iPXE, from the package of the distribution. Kept between runs. */
export async function ipxeFolder(): Promise<string> {
  const needed = ['undionly.kpxe', 'snponly.efi'];
  const has = (folder: string): boolean => needed.every((name) => existsSync(join(folder, name)));
  const kept = join(cacheFolder(), '..', 'ipxe');
  const inside = join('usr', 'lib', 'ipxe');
  for (const folder of [join('/', inside), join(kept, inside)]) if (has(folder)) return folder;
  const work = `${kept}-${process.pid}`;
  await mkdir(work, { recursive: true });
  try {
    await run('apt-get', ['-q', 'download', 'ipxe'], { cwd: work });
    await run('sh', ['-c', 'dpkg-deb -x ipxe_*.deb .'], { cwd: work });
    await rename(work, kept).catch((error: unknown) => {
      // Another test run was faster.
      if (!has(join(kept, inside))) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return join(kept, inside);
}

export class MachineNetwork {
  /** The namespace. */
  readonly name: string;
  /** The network without its last number. */
  readonly prefix: string;
  /** The computer of the test. */
  readonly server: string;
  /** The DHCP server and the BMCs. */
  readonly inside: string;
  /** The namespace of another computer in the network, whose interface is `eth0`. */
  readonly second: string;
  readonly bridge = 'machines';
  readonly taps = 'tap';
  readonly #children: ChildProcess[] = [];
  #output = '';

  private constructor() {
    this.name = `anneal-${process.pid}`;
    this.second = `${this.name}-second`;
    // Addresses for measurements (RFC 2544), which no other network has.
    this.prefix = `198.${18 + (process.pid % 2)}.${(process.pid >> 1) % 250}`;
    this.server = `${this.prefix}.1`;
    this.inside = `${this.prefix}.2`;
  }

  static async open(options: { machines: number }): Promise<MachineNetwork> {
    const network = new MachineNetwork();
    const { name, bridge, second } = network;
    const outside = `an${process.pid}`;
    const within = (...words: string[]) => run('ip', ['-n', name, ...words]);
    for (const each of [name, second]) await run('ip', ['netns', 'add', each]);
    try {
      await within('link', 'set', 'lo', 'up');
      await within('link', 'add', bridge, 'type', 'bridge', 'forward_delay', '0');
      await run('ip', ['link', 'add', outside, 'type', 'veth', 'peer', 'name', 'uplink', 'netns', name]);
      await run('ip', ['address', 'add', `${network.server}/24`, 'dev', outside]);
      await run('ip', ['link', 'set', outside, 'up']);
      await within('address', 'add', `${network.inside}/24`, 'dev', bridge);
      await within('link', 'add', 'other', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', second);
      await run('ip', ['-n', second, 'address', 'add', `${network.prefix}.3/24`, 'dev', 'eth0']);
      await run('ip', ['-n', second, 'link', 'set', 'eth0', 'up']);
      const cables = Array.from({ length: options.machines }, (_, index) => `${network.taps}${index + 1}`);
      for (const cable of cables) await within('tuntap', 'add', 'dev', cable, 'mode', 'tap');
      for (const cable of ['uplink', 'other', ...cables]) await within('link', 'set', cable, 'master', bridge, 'up');
      await within('link', 'set', bridge, 'up');
      return network;
    } catch (error) {
      await network.close();
      throw error;
    }
  }

  /** Starts a program in the network, on the computer of the BMCs or another one. Returns how to end it. */
  start(
    program: string,
    words: readonly string[],
    { on = this.name, ...options }: { cwd: string; env: NodeJS.ProcessEnv; on?: string },
  ): () => Promise<void> {
    const child = spawn('ip', ['netns', 'exec', on, program, ...words], {
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const keep = (text: unknown): void => void (this.#output += String(text));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('error', keep);
    this.#children.push(child);
    return () => ended(child);
  }

  /** The output of all programs. */
  output = (): string => this.#output;

  /** Ends the programs and removes the network. */
  async close(): Promise<void> {
    for (const child of this.#children.toReversed()) await ended(child);
    for (const each of [this.name, this.second]) await run('ip', ['netns', 'delete', each]).catch(() => undefined);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}
