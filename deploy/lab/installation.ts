/** The disk of a machine, and the programs that come first in the PATH of its scripts. */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, watch, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { bootSeedSchema, type BootSeed } from '@anneal/contracts/calls/boot.ts';
import { writeWhole } from './machine-state.ts';
import { machineVariable } from './processes.ts';

const paths = (directory: string) => ({
  disk: join(directory, 'disk'),
  seed: join(directory, 'disk', 'seed.json'),
  hostname: join(directory, 'disk', 'hostname'),
  root: join(directory, 'disk', 'root'),
  bin: join(directory, 'bin'),
  log: join(directory, 'log', 'messages'),
  console: join(directory, 'log', 'console'),
  orders: join(directory, 'orders'),
  order: join(directory, 'orders', 'reboot'),
});

/** The output of the machine at its serial port. */
export const consoleOf = (directory: string): string => paths(directory).console;

/** The folder of the agent and its scripts. Erasing the disk removes it. */
export const installationRoot = (directory: string): string => paths(directory).root;

export function installedSeed(directory: string): BootSeed | undefined {
  try {
    return bootSeedSchema.parse(JSON.parse(readFileSync(paths(directory).seed, 'utf8')));
  } catch {
    // No disk, or a disk without a bootable system: the firmware reports both in the same way.
    return undefined;
  }
}

/** Erases the disk and installs the seed. The seed is written last, so a disk with a seed is complete. */
export function install(directory: string, seed: BootSeed): void {
  erase(directory);
  const { root, hostname, log, seed: file } = paths(directory);
  mkdirSync(root, { recursive: true });
  writeFileSync(hostname, `${seed.hostname}\n`);
  try {
    // A new system begins a new log. The previous log is kept, so that an operator can find the cause of a failure.
    renameSync(log, `${log}.previous`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  writeWhole(file, JSON.stringify(seed));
}

export function erase(directory: string): void {
  const { disk, seed } = paths(directory);
  // Remove the seed first, because a half-erased disk must not boot.
  rmSync(seed, { force: true });
  rmSync(disk, { recursive: true, force: true });
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Calls `restart` when a script of the machine orders a reboot, until the signal. An order of an earlier boot is over. */
export function watchOrders(directory: string, signal: AbortSignal, restart: () => void): void {
  const { orders, order } = paths(directory);
  mkdirSync(orders, { recursive: true });
  rmSync(order, { force: true });
  if (signal.aborted) return;
  const watcher = watch(orders, { signal, persistent: false }, () => {
    if (existsSync(order)) restart();
  });
  // The folder goes with the data of the lab.
  watcher.on('error', () => watcher.close());
}

/**
 * Writes `logger`, `hostname` and the programs that reboot, which act on this machine, not on the computer that simulates
 * it.
 */
export function writePrograms(directory: string, name: string): void {
  const { bin, log, hostname, console, orders, order } = paths(directory);
  mkdirSync(orders, { recursive: true });
  mkdirSync(bin, { recursive: true });
  mkdirSync(dirname(log), { recursive: true });
  const host = `host=$(cat ${quote(hostname)} 2>/dev/null || echo ${quote(name)})`;
  const logger = `#!/bin/sh
# Writes to this machine's system log and console, as logger(1) and syslog do.
log=${quote(log)} console=${quote(console)}
${host}
tag=\${USER:-root}
while [ $# -gt 0 ]; do
  case $1 in
    -t|--tag) tag=$2; shift ;;
    --tag=*) tag=\${1#--tag=} ;;
    -t?*) tag=\${1#-t} ;;
    -p|--priority|-f|--file|--id) [ $# -gt 1 ] && shift ;;
    --) shift; break ;;
    -?*) ;;
    *) break ;;
  esac
  shift
done
line() {
  text=$(date +%Y-%m-%dT%H:%M:%S%z)" $host $tag: $1"
  printf '%s\\n' "$text" >> "$log"
  printf '%s\\n' "$text" >> "$console"
}
if [ $# -gt 0 ]; then
  line "$*"
else
  while IFS= read -r text || [ -n "$text" ]; do line "$text"; done
fi
`;
  const reboot = `#!/bin/sh\n# Reboots this machine of the lab.\n: >${quote(order)}\n`;
  const systemctl = `#!/bin/sh
# Reboots this machine of the lab. Nothing here changes the power of the computer that simulates it.
case " $* " in
  *' reboot '*) exec ${quote(join(bin, 'reboot'))} ;;
  *' poweroff '* | *' halt '* | *' kexec '*) echo 'the lab changes the power of a machine by its BMC' >&2; exit 1 ;;
esac
echo 'systemd does not run on a machine of the lab' >&2
exit 1
`;
  for (const [program, content] of [
    ['reboot', reboot],
    ['shutdown', reboot],
    ['systemctl', systemctl],
    ['logger', logger],
    ['hostname', `#!/bin/sh\n${host}\nprintf '%s\\n' "$host"\n`],
  ] as const) {
    writeFileSync(join(bin, program), content);
    chmodSync(join(bin, program), 0o755);
  }
}

/** The environment of everything that the machine runs. */
export function machineEnvironment(options: {
  directory: string;
  address: string;
  hostname: string;
  inherited: Readonly<Record<string, string | undefined>>;
}): Record<string, string> {
  const { directory, address, hostname, inherited } = options;
  return {
    PATH: [paths(directory).bin, inherited['PATH'] ?? '/usr/bin:/bin', dirname(process.execPath)].join(delimiter),
    HOME: installationRoot(directory),
    HOSTNAME: hostname,
    HOST_ADDRESS: address,
    LANG: inherited['LANG'] ?? 'C.UTF-8',
    [machineVariable]: directory,
  };
}
