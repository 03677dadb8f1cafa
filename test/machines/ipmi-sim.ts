/** A real BMC that speaks IPMI: `ipmi_sim` of OpenIPMI, with a machine whose power and boot device are files. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createSocket } from 'node:dgram';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { findProgram } from '../backends/program.ts';

/** The machine behind the simulator: it reports and changes files in its folder. */
const chassis = `#!/bin/sh
folder=$(dirname "$0")
shift
action=$1
shift
while [ $# -gt 0 ]; do
  case "$action $1" in
    "get power") echo "power:$(cat "$folder/power")" ;;
    "get boot") echo "boot:$(cat "$folder/boot")" ;;
    "get "*) echo "$1:0" ;;
    "set power") [ -e "$folder/stuck" ] || printf %s "$2" >"$folder/power" ;;
    "set shutdown") [ -e "$folder/deaf" ] || printf 0 >"$folder/power" ;;
    "set boot") [ -e "$folder/stuck" ] || printf %s "$2" >"$folder/boot" ;;
  esac
  [ "$action" = set ] && { printf '%s %s\\n' "$1" "$2" >>"$folder/log"; shift; }
  shift
done
`;

/** The area of a field-replaceable unit that names the product, with its checksums. */
function unitBytes({ maker, model, serial }: { maker: string; model: string; serial: string }): number[] {
  const fields = [maker, model, 'part', '1', serial];
  const body = [1, 0, 0x19, ...fields.flatMap((text) => [0xc0 | text.length, ...Buffer.from(text)]), 0xc1];
  while ((body.length + 1) % 8 !== 0) body.push(0);
  body[1] = (body.length + 1) / 8;
  const header = [1, 0, 0, 0, 1, 0, 0];
  return [...summed(header), ...summed(body)];
}
const summed = (bytes: readonly number[]): number[] => [
  ...bytes,
  (256 - (bytes.reduce((sum, byte) => sum + byte, 0) % 256)) % 256,
];

/** A sensor of the first controller: the record that describes it (IPMI 2.0, table 43-1), and its reading. */
function sensorLines({ name, celsius }: { name: string; celsius: number }): string {
  const head = [0x20, 0, 1, 0x07, 0x01, 0x7f, 0x68, 0x01, 0x01];
  // The masks of events and readable thresholds, then degrees Celsius, linear: reading = 1 × byte.
  const form = [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0];
  const limits = [0, 0x20, 0x40, 0x10, 0xff, 0, 90, 80, 70, 0, 0, 0, 0, 0, 0, 0, 0];
  const body = [...head, ...form, ...limits, 0xc0 | name.length, ...Buffer.from(name)];
  const record = [0, 0, 0x51, 0x01, body.length, ...body].map((byte) => `0x${byte.toString(16)}`).join(' ');
  const all = '000111111111111';
  const events = `sensor_set_event_support 0x20 0 1 enable scanning per-state ${all} ${all} ${all} ${all}\n`;
  return `sensor_add 0x20 0 1 0x01 0x01\n${events}sensor_set_value 0x20 0 1 ${celsius} 0\nmain_sdr_add 0x20 ${record}\n`;
}

/** Why this computer cannot run these tests. Undefined when it can. */
export async function missingForIpmi(): Promise<string | undefined> {
  const programs = ['ipmitool', 'ipmi_sim'];
  const found = await Promise.all(programs.map((name) => findProgram(name)));
  const missing = programs.filter((_, index) => found[index] === undefined);
  return missing.length === 0
    ? undefined
    : `${missing.join(' and ')} not installed (Debian: apt-get install ipmitool openipmi)`;
}

/** A machine of the lab behind the simulator: its power and boot device change over Redfish. */
export interface LabMachineAccess {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** The path of the system. */
  readonly system: string;
}

/** The commands of {@link chassis}, for a machine of the lab. `curl` reads the login from a file. */
const labChassis = ({ url, system }: LabMachineAccess): string => `#!/bin/sh
folder=$(dirname "$0")
shift
action=$1
shift
call() { curl -s -f -K "$folder/login" -H 'content-type: application/json' "$@"; }
reset() { call -o /dev/null -d "{\\"ResetType\\":\\"$1\\"}" '${url}${system}/Actions/ComputerSystem.Reset'; }
while [ $# -gt 0 ]; do
  case "$action $1 $2" in
    "get power "*) case $(call '${url}${system}') in *'"PowerState":"Off"'*) echo power:0 ;; *) echo power:1 ;; esac ;;
    "get boot "*) echo "boot:$(cat "$folder/boot")" ;;
    "get "*) echo "$1:0" ;;
    "set power 1") reset On ;;
    "set power 0") reset ForceOff ;;
    "set shutdown "*) reset GracefulShutdown ;;
    "set boot pxe") printf pxe >"$folder/boot"; override='"Pxe","BootSourceOverrideEnabled":"Once"' ;;
    "set boot "*) printf %s "$2" >"$folder/boot"; override='"None","BootSourceOverrideEnabled":"Disabled"' ;;
  esac
  [ -z "\${override:-}" ] || call -X PATCH -d "{\\"Boot\\":{\\"BootSourceOverrideTarget\\":$override}}" '${url}${system}'
  override=
  [ "$action" = set ] && { printf '%s %s\n' "$1" "$2" >>"$folder/log"; shift; }
  shift
done
`;

export interface IpmiSimOptions {
  readonly lab?: LabMachineAccess;
  readonly folder: string;
  /** Null: the BMC has only a placeholder. */
  readonly guid?: string | null;
  readonly serial?: string | null;
  readonly password?: string;
}

export class IpmiSim {
  readonly folder: string;
  readonly port: number;
  readonly username = 'admin';
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.port = port;
  }

  static async start(options: IpmiSimOptions): Promise<IpmiSim> {
    const sim = new IpmiSim(options.folder, await freePort());
    await mkdir(options.folder, { recursive: true });
    await sim.set('power', '0');
    await sim.set('boot', 'none');
    const { lab } = options;
    if (lab) await writeFile(join(sim.folder, 'login'), `user = "${lab.username}:${lab.password}"\n`, { mode: 0o600 });
    await writeFile(join(sim.folder, 'chassis.sh'), lab ? labChassis(lab) : chassis);
    await chmod(join(sim.folder, 'chassis.sh'), 0o755);
    await sim.run(options);
    return sim;
  }

  /** Starts the process, for example as another machine at the same address. */
  async run({
    guid = guidOf(defaultUuid),
    serial = 'SER-4711',
    password = 'secret',
  }: Partial<IpmiSimOptions> = {}): Promise<void> {
    const { folder } = this;
    await rm(join(folder, 'state'), { recursive: true, force: true });
    await mkdir(join(folder, 'state'));
    const auth = (level: string): string => `    allowed_auths_${level} none md2 md5 straight\n`;
    await writeFile(
      join(folder, 'lan.conf'),
      `name "sim"\nset_working_mc 0x20\n  startlan 1\n    addr 127.0.0.1 ${this.port}\n    priv_limit admin\n` +
        ['callback', 'user', 'operator', 'admin'].map(auth).join('') +
        `    guid ${guid ?? noGuid}\n  endlan\n  chassis_control "${join(folder, 'chassis.sh')} 0x20"\n  sol "${join(folder, 'tty')}" 115200\n` +
        `  user 1 true "" "none" user 10 none md2 md5 straight\n` +
        `  user 2 true "${this.username}" "${password}" admin 10 none md2 md5 straight\n`,
    );
    const unit = serial === null ? [] : unitBytes({ maker: 'Acme', model: 'Model 9', serial });
    const hex = unit.map((byte) => `0x${byte.toString(16)}`).join(' ');
    await writeFile(
      join(folder, 'sim.emu'),
      'mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\nsel_enable 0x20 1000 0x0a\n' +
        (unit.length === 0 ? '' : `mc_add_fru_data 0x20 0 ${unit.length} data ${hex}\n`) +
        sensorLines({ name: 'CPU Temp', celsius: 42 }) +
        'mc_enable 0x20\n',
    );
    const args = ['-n', '-c', 'lan.conf', '-f', 'sim.emu', '-s', 'state'];
    const child = spawn('ipmi_sim', args, { cwd: folder, stdio: 'ignore' });
    this.#process = child;
    await eventually(() => isTaken(this.port), { what: `ipmi_sim at port ${this.port}` });
  }

  get = (name: string): Promise<string> => readFile(join(this.folder, name), 'utf8');
  set = (name: 'power' | 'boot' | 'stuck' | 'deaf', value: string): Promise<void> =>
    writeFile(join(this.folder, name), value);

  /** Does not answer, as a BMC that hangs. */
  hang = (): void => void this.#process?.kill('SIGSTOP');
  wake = (): void => void this.#process?.kill('SIGCONT');

  async stop(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }
}

/** The GUID of a system in the order of its bytes on the wire. */
export function guidOf(uuid: string): string {
  const bytes = uuid.replaceAll('-', '').match(/../g) ?? [];
  return [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map((at) => bytes[at]).join('');
}

/** Without a GUID the simulator offers no RMCP+, so it has the placeholder of firmware that was not configured. */
const noGuid = '0'.repeat(32);
export const defaultUuid = '00112233-4455-4677-8899-aabbccddeeff';

async function freePort(): Promise<number> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => void socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address();
  await new Promise<void>((resolve) => void socket.close(() => resolve()));
  return port;
}

/** Reads the kernel's table, because a probe that binds the port can take it from the simulator. */
async function isTaken(port: number): Promise<boolean> {
  const address = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const table = await readFile('/proc/net/udp', 'utf8');
  return table.split('\n').some((line) => line.trim().split(/\s+/)[1]?.endsWith(address) === true);
}
