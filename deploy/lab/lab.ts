/** Machines and the endpoint in front of them. One folder holds their whole state. */
import { newCredential } from '@anneal/runtime/secrets/new-credential.ts';
import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { z } from 'zod';
import { fingerprintOf, selfSigned, type Certificate } from './certificate.ts';
import { canBind, loopbackAddress } from './loopback.ts';
import { inventMachine, loadMachine, saveMachine, writeWhole } from './machine-state.ts';
import { LabMachine, type Isolation, type StartAgent, type Timing } from './machine.ts';
import { killProcesses } from './processes.ts';
import { createRedfish } from './redfish/app.ts';
import { systemPath } from './redfish/representation.ts';

export interface LabOptions {
  readonly machines: number;
  readonly directory: string;
  readonly host: string;
  /** 0: the port of the last run, or any free one. */
  readonly port: number;
  readonly bootSeconds: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly startAgent: StartAgent;
  readonly log: Logger;
  readonly sessionLimit?: number;
  /** False: its events go only to subscriptions, as those of older controllers. */
  readonly eventStream?: boolean;
  /** Serves HTTPS with a self-signed certificate, which the lab keeps. */
  readonly tls?: boolean;
  /** Kind of the machines. Default: directory. */
  readonly isolation?: Isolation;
  /** The address of the script of iPXE, which the DHCP server of its network names. Undefined: no machine boots by PXE. */
  readonly pxe?: string | undefined;
  /** With the isolation `qemu`: machine 1 is at the network interface of this name with a 1 behind it, and so on. */
  readonly taps?: string | undefined;
}

export interface Lab {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** Fingerprint of its certificate, in the form that a node expects. Undefined without TLS. */
  readonly fingerprint: string | undefined;
  readonly machines: readonly LabMachine[];
  /** Cuts the power. When it resolves, no process that the machines started is left. */
  stop(): Promise<void>;
}

/** The contents of `lab.json`, by which other processes find the lab. */
interface LabFile {
  readonly url: string;
  readonly pid: number;
  readonly username: string;
  readonly password: string;
  readonly fingerprint?: string;
  readonly machines: readonly { readonly name: string; readonly system_id: string; readonly address: string }[];
}

const certificateSchema = z.object({ cert: z.string(), key: z.string() });
const rememberedSchema = z.object({ username: z.string(), password: z.string(), port: z.number().int() });

/**
 * Serves the machines of the folder, and creates those that are missing. Ends the processes that a killed lab left
 * behind. @throws Error when the port is in use.
 */
export async function startLab(options: LabOptions): Promise<Lab> {
  mkdirSync(options.directory, { recursive: true });
  // Processes report their folder with links resolved; ours must compare equal.
  const directory = realpathSync(options.directory);
  const machinesDirectory = join(directory, 'machines');
  // A killed lab leaves the processes of its machines behind. The machines have lost power, so end those processes.
  await killProcesses(machinesDirectory);

  const remembered = readRemembered(directory);
  const credentials = {
    username: remembered?.username ?? 'admin',
    password: remembered?.password ?? newCredential(12),
  };
  const machines = await machinesIn(directory, options);
  const certificate = options.tls ? readCertificate(directory, options.host) : undefined;
  const fingerprint = certificate && fingerprintOf(certificate.cert);
  const app = createRedfish({
    machines,
    credentials,
    log: options.log,
    certificate,
    eventStream: options.eventStream,
    ...(options.sessionLimit !== undefined && { sessionLimit: options.sessionLimit }),
  });
  const port = await listen(app, options, remembered?.port);
  const url = `${certificate ? 'https' : 'http'}://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`;
  writeWhole(join(directory, 'state.json'), JSON.stringify({ ...credentials, port }));
  const file: LabFile = {
    url,
    pid: process.pid,
    ...credentials,
    ...(fingerprint !== undefined && { fingerprint }),
    machines: machines.map(({ state: { name, address } }) => ({ name, system_id: systemPath(name), address })),
  };
  writeWhole(join(directory, 'lab.json'), JSON.stringify(file));
  for (const machine of machines) machine.plugIn();

  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    // A missing file shows other processes that no lab is running.
    rmSync(join(directory, 'lab.json'), { force: true });
    await app.close();
    await Promise.all(machines.map((machine) => machine.unplug()));
    await killProcesses(machinesDirectory);
  };
  return { url, ...credentials, fingerprint, machines, stop: () => (stopped ??= stop()) };
}

/** The machines of the folder. A machine that has no state yet gets one, with an address of its own if possible. */
async function machinesIn(directory: string, options: LabOptions): Promise<LabMachine[]> {
  const { bootSeconds, environment, startAgent, log, isolation = 'directory', pxe, taps } = options;
  const separate = await canBind('127.77.0.2');
  const timing: Timing = {
    bootMs: bootSeconds * 1000,
    resetMs: { min: 50, max: 50 + Math.min(1_000, bootSeconds * 500) },
    shutdownMs: 5_000,
  };
  return Array.from({ length: options.machines }, (_, index) => {
    const name = `machine-${index + 1}`;
    const folder = join(directory, 'machines', name);
    let state = loadMachine(folder);
    if (!state) {
      state = inventMachine({ name, address: loopbackAddress({ directory, index, separate }), index });
      saveMachine(folder, state);
    }
    const tap = taps === undefined ? undefined : `${taps}${index + 1}`;
    return new LabMachine({ directory: folder, state, timing, environment, startAgent, log, isolation, pxe, tap });
  });
}

/**
 * Listens on the port of the last run when possible, because nodes are enrolled with the address of their controller.
 * A new port lies outside the range of outgoing connections, so that none takes it while the lab is stopped. Returns the
 * port. A failure closes the server.
 */
async function listen(app: FastifyInstance, options: LabOptions, before: number | undefined): Promise<number> {
  const { host, port: wanted, log } = options;
  const others = Array.from({ length: 20 }, () => randomInt(15_000, 32_000));
  const ports = wanted === 0 ? [...(before === undefined ? [] : [before]), ...others, 0] : [wanted];
  try {
    for (const next of ports) {
      try {
        await app.listen({ host, port: next });
        break;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || next === ports.at(-1)) throw error;
        if (next !== before) continue;
        const moved =
          'port of the last run is in use; listening on another port, so enrolled nodes need the new address';
        log.warn({ port: next }, moved);
      }
    }
  } catch (error) {
    await app.close();
    throw error;
  }
  return (app.server.address() as AddressInfo).port;
}

/** The certificate of the last run, because enrolled nodes may expect its fingerprint. */
function readCertificate(directory: string, host: string): Certificate {
  const file = join(directory, 'certificate.json');
  try {
    return certificateSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    const certificate = selfSigned(host);
    writeWhole(file, JSON.stringify(certificate));
    return certificate;
  }
}

function readRemembered(directory: string): z.infer<typeof rememberedSchema> | undefined {
  try {
    return rememberedSchema.parse(JSON.parse(readFileSync(join(directory, 'state.json'), 'utf8')));
  } catch {
    return undefined;
  }
}
