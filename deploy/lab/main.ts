/** The lab as a process: reads flags and runs machines behind a Redfish endpoint until a signal stops it. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startAgent } from '@anneal/agent/start.ts';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { startLab } from './lab.ts';
import { isolations, type Isolation } from './machine.ts';
import { missingForQemu } from './qemu/qemu.ts';

const help = `Simulated bare-metal machines behind a Redfish endpoint.

  node deploy/lab/main.ts --data DIR [--machines 6] [--port 0] [--host 127.0.0.1] [--boot-seconds 1] [--tls] [--pxe URL] [--isolation qemu [--taps PREFIX]]

  --data DIR          Folder with the state of the machines; the same folder has the same machines.
  --machines N        Number of machines (1 to 10000).
  --port P            Port of the endpoint; 0 uses the port of the last run, or a free one.
  --host ADDRESS      Address on which the endpoint listens.
  --tls               HTTPS with a self-signed certificate; DIR/lab.json has its fingerprint.
  --pxe URL           Script of iPXE for machines that boot by PXE: http://SERVER:8470/boot/v1/ipxe.
  --isolation LEVEL   directory (default) or qemu: real firmware and disks; needs qemu-system-x86 and ovmf.
  --taps PREFIX       With qemu: machine 1 is at the tap interface PREFIX1, and so on. Default: QEMU's own network.
  --boot-seconds S    Duration of the power-on self-test.
  --log-level LEVEL   debug, info, warn, error or silent.

When the lab is ready, DIR/lab.json has its address and login. SIGTERM and SIGINT cut the power of all machines.
Faults: POST /lab/v1/machines/<name>/faults {"answer": "hang", "drip": 500, "power": "stale"}; DELETE clears all. faults.ts lists them.
`;

function number(
  text: string,
  { name, min, max, whole }: { name: string; min: number; max: number; whole: boolean },
): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  throw new Error(`--${name} must be a ${whole ? 'whole ' : ''}number from ${min} to ${max}, got ${text}`);
}

function isolationIn(text: string): Isolation {
  const level = isolations.find((each) => each === text);
  if (level === undefined) throw new Error(`--isolation must be ${isolations.join(' or ')}, got ${text}`);
  const missing = level === 'qemu' ? missingForQemu(process.env['PATH'] ?? '') : undefined;
  if (missing !== undefined) throw new Error(`--isolation qemu: ${missing}. Install qemu-system-x86 and ovmf.`);
  return level;
}

function readFlags() {
  const { values } = parseArgs({
    options: {
      machines: { type: 'string', default: '6' },
      data: { type: 'string' },
      port: { type: 'string', default: '0' },
      host: { type: 'string', default: '127.0.0.1' },
      pxe: { type: 'string' },
      tls: { type: 'boolean', default: false },
      isolation: { type: 'string', default: 'directory' },
      taps: { type: 'string' },
      'boot-seconds': { type: 'string', default: '1' },
      'log-level': { type: 'string', default: 'info' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  if (values.data === undefined)
    throw new Error('--data is required: the folder in which the machines keep their state');
  return {
    directory: resolve(values.data),
    host: values.host,
    level: values['log-level'],
    isolation: isolationIn(values.isolation),
    tls: values.tls,
    pxe: values.pxe,
    taps: values.taps,
    machines: number(values.machines, { name: 'machines', min: 1, max: 10_000, whole: true }),
    port: number(values.port, { name: 'port', min: 0, max: 65_535, whole: true }),
    bootSeconds: number(values['boot-seconds'], { name: 'boot-seconds', min: 0, max: 3600, whole: false }),
  };
}

async function run(): Promise<void> {
  const flags = readFlags();
  if (!flags) {
    process.stdout.write(help);
    return;
  }
  const log = createLog({ level: flags.level, format: process.stderr.isTTY ? 'pretty' : 'json' });
  const lab = await startLab({ ...flags, environment: process.env, startAgent, log });
  log.info({ url: lab.url, machines: lab.machines.length }, 'lab ready');

  const stop = (): void => {
    lab.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'lab did not stop cleanly; exiting');
        process.exit(1);
      },
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

try {
  await run();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
  process.exit(2);
}
