/**
 * The machine under the agent: what tells one boot from another, and how it reboots.
 *
 * A boot is the id that the kernel makes at its start, with the start of process 1: a container has the kernel of its
 * host, and counts as rebooted when it was started again.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** The machine of an agent. The simulated machines of the lab have one of their own. */
export interface Machine {
  /** The present boot. Undefined where nothing tells it from another one. */
  boot(): string | undefined;
  /** Orders the reboot. @throws with the reason when the machine does not take the order */
  reboot(): Promise<void>;
  /** True while the machine is known to go down. */
  goesDown(): Promise<boolean>;
}

/** How long the order to reboot, or the question for the state of the system, may take. */
const orderMs = 60_000;
/** How the machine is rebooted: the first program that it has. */
const orders = [['systemctl', 'reboot'], ['reboot'], ['shutdown', '-r', 'now']] as const;
/** Folders with these programs that the PATH of an agent may lack. */
const systemFolders = ['/usr/sbin', '/sbin'];

/**
 * Makes the machine on which this process runs.
 * @param options.root The folder of its system files. Another one than `/` needs a program, so that a test reboots nothing.
 * @param options.program Runs instead of the usual ones.
 */
export function hostMachine({ root = '/', program }: { root?: string; program?: string | undefined } = {}): Machine {
  const at = (path: string): string => join(root, path);
  const runsSystemd = existsSync(at('run/systemd/system'));
  return {
    boot() {
      try {
        const id = readFileSync(at('proc/sys/kernel/random/boot_id'), 'utf8').trim();
        return `${id} ${startOfFirst(at('proc/1/stat'))}`.trim();
      } catch {
        return undefined;
      }
    },
    async reboot() {
      if (program !== undefined) return order([program]);
      if (root !== '/') throw new Error('no program to reboot this machine was given');
      if (isContainer() && !runsSystemd) {
        throw new Error('it is a container, which only the program that runs it can start again');
      }
      const usable = runsSystemd ? orders : orders.slice(1);
      for (const command of usable) if (await isThere(command[0])) return order(command);
      throw new Error('it has none of systemctl, reboot and shutdown');
    },
    async goesDown() {
      if (existsSync(at('run/systemd/shutdown/scheduled')) || existsSync(at('run/nologin'))) return true;
      if (root !== '/' || !runsSystemd) return false;
      return (await outputOf(['systemctl', 'is-system-running'])).text.trim() === 'stopping';
    },
  };
}

/** True when both name the same boot. The start of process 1 counts when both have it. */
export function isSameBoot(one: string, other: string): boolean {
  const [id, start] = one.split(' ');
  const [otherId, otherStart] = other.split(' ');
  return id === otherId && (start === undefined || otherStart === undefined || start === otherStart);
}

/** Field 22 of the status of a process. Its second field may hold spaces. */
function startOfFirst(file: string): string {
  try {
    const status = readFileSync(file, 'utf8');
    return status.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

const isContainer = (): boolean => existsSync('/.dockerenv') || existsSync('/run/.containerenv');
const searched = (): string => [process.env['PATH'] ?? '/usr/bin:/bin', ...systemFolders].join(delimiter);

async function isThere(program: string): Promise<boolean> {
  for (const folder of searched().split(delimiter)) {
    const found = await access(join(folder, program), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}

/** @throws with what the program wrote when it refuses */
async function order(command: readonly [string, ...string[]]): Promise<void> {
  const { status, text } = await outputOf(command);
  if (status === 0) return;
  const said = text.trim().slice(0, 500);
  throw new Error(`"${command.join(' ')}" ended with ${status ?? 'no status'}${said === '' ? '' : `: ${said}`}`);
}

function outputOf([program, ...parameters]: readonly [string, ...string[]]): Promise<{
  status: number | null;
  text: string;
}> {
  return new Promise((resolve) => {
    // A process of its own: the shutdown that it orders ends this one.
    const child = spawn(program, parameters, {
      env: { ...process.env, PATH: searched() },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      timeout: orderMs,
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (text = (text + chunk.toString()).slice(0, 4096)));
    }
    child.once('error', (error) => resolve({ status: null, text: error.message }));
    child.once('close', (status) => resolve({ status, text }));
  });
}
