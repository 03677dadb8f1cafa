/**
 * All of Anneal in one process, and a lab beside it.
 *
 * V1. A stop ends everything that this process started: first the services, so that none talks to machines that lose
 *     power, then the lab.
 * V2. A kill at any moment leaves only the data folder and the running lab, from which the next start continues.
 * V3. The first signal stops in order, the second at once. npm, `timeout` and a launcher pass on a signal that this process
 *     has had already, so one that comes right after the first is the same.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pRetry from 'p-retry';
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { connect } from '@anneal/client/connect.ts';
import { configurationService } from '@anneal/configuration/service.ts';
import { gatewayService } from '@anneal/gateway/service.ts';
import { identityService } from '@anneal/identity/service.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { provisioningService } from '@anneal/provisioning/service.ts';
import { startServices } from '@anneal/runtime/service/serve.ts';
import { startFailure } from '@anneal/runtime/service/start-failure.ts';
import { schedulingService } from '@anneal/scheduling/service.ts';
import { templatingService } from '@anneal/templating/service.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit.ts';
import { credentialsFile } from '../login.ts';
import { openControl } from './control.ts';
import { builtConsole } from '@anneal/console/sources.ts';
import { builtDocs } from '@anneal/docs/sources.ts';
import { type BuiltFolder, whenWanted } from '@anneal/runtime/service/built-folder.ts';
import { builtCommands } from '../bundle/bundle.ts';
import { buildBeside } from './build-beside.ts';
import { prepareCredentials } from './credentials.ts';
import { enrolMachines } from './enrol.ts';
import { keepLab } from './keep-lab.ts';
import { startLabProcess, type RunningLab } from './lab.ts';
import { lockDataFolder, type Lock } from '@anneal/runtime/service/folder-lock.ts';
import { choosePort, healthPortBeside } from './port.ts';
import { startSeparately, type Replicas } from './separate.ts';

/** V3. Shorter than a person takes to press Ctrl-C again. */
const sameSignalMs = 300;

// The gateway is last, so that it accepts requests only when the other services run.
const services = [
  identityService,
  templatingService,
  schedulingService,
  provisioningService,
  configurationService,
  notificationService,
  gatewayService,
];

/** Where `npm run build:ramdisk` writes. */
const builtRamdisk = join(import.meta.dirname, '../../../deploy/ramdisk/dist/ramdisk.json');
const hasRamdisk = (environment: CliContext['environment']): boolean =>
  environment['ANNEAL_GATEWAY_RAMDISK'] !== undefined || existsSync(builtRamdisk);

export interface ServeParameters {
  context: CliContext;
  data: string;
  host: string;
  port: number;
  /** Number of machines in the lab. No lab when absent. */
  machines: number | undefined;
  bus: string | undefined;
  store: string | undefined;
  /** Number of processes per service. When absent, all services run in this process. */
  separate: Replicas | undefined;
}

/** Runs until a signal. Resolves when it has stopped. */
export async function serve(parameters: ServeParameters): Promise<void> {
  const { context } = parameters;
  const { output, interrupt } = context;
  const dataDirectory = resolve(context.cwd, parameters.data);
  const lock = await lockDataFolder({ folder: dataDirectory }).catch((error: unknown) => {
    throw startFailure(error, dataDirectory);
  });
  let lab: RunningLab | undefined;
  // V3: the first signal aborts `interrupt`, in main.ts.
  interrupt.addEventListener(
    'abort',
    () => {
      output.note('Stopping … press Ctrl-C again to stop immediately.');
      const first = performance.now();
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
        process.on(signal, () => {
          if (performance.now() - first < sameSignalMs) return;
          lab?.kill();
          process.exit(exitCodes.interrupted);
        });
      }
    },
    { once: true },
  );
  try {
    await runServices({ ...parameters, dataDirectory, lock, onLab: (started) => (lab = started) });
  } catch (error) {
    if (!interrupt.aborted) throw startFailure(error, dataDirectory);
  } finally {
    await lab?.stop(); // V1
    await lock.release();
  }
  output.note('Stopped.');
}

async function runServices(
  parameters: ServeParameters & { dataDirectory: string; lock: Lock; onLab: (lab: RunningLab) => void },
): Promise<void> {
  const { context, host, machines, dataDirectory, lock, onLab } = parameters;
  const { environment, interrupt } = context;
  const port = await choosePort({ host, port: parameters.port, dataDirectory });
  const url = `http://${reachable(host)}:${port}`;
  await lock.announce(url);
  const {
    username,
    password,
    project_name: project,
    auth_url: authUrl,
  } = await prepareCredentials({
    dataDirectory,
    url,
    password: environment['ANNEAL_GATEWAY_ADMIN_PASSWORD'],
  });
  const { separate } = parameters;
  const settings = {
    ANNEAL_GATEWAY_URL: url,
    // Only clients on this machine can then subscribe, and they can reach its private addresses anyway.
    ...(isLoopback(host) && { ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true' }),
    // On a terminal the log would hide the lines for the user. A file or a pipe gets the whole log.
    ...(process.stderr.isTTY && !separate && { ANNEAL_LOG_LEVEL: 'warn' }),
    ...(!separate && { ANNEAL_HEALTH_PORT: String(await healthPortBeside(port)) }),
    // The ramdisk installs images that have content; names without content are for machines that install themselves.
    ...(!machines && hasRamdisk(environment) && { ANNEAL_PROVISIONING_IMAGES: 'none' }),
    ...environment,
    ANNEAL_DATA: dataDirectory,
    ANNEAL_GATEWAY_HOST: host,
    ANNEAL_GATEWAY_PORT: String(port),
    ANNEAL_GATEWAY_ADMIN_PASSWORD: password,
    ...(parameters.bus !== undefined && { ANNEAL_BUS_URL: parameters.bus }),
    ...(parameters.store !== undefined && { ANNEAL_STORE_URL: parameters.store }),
  };
  const running = await startAll({ context, separate, settings, dataDirectory });
  const health = running.healthUrl;
  try {
    await buildAll(context, { separate: separate !== undefined });
    const greet = (lab: RunningLab | undefined): Promise<void> =>
      whileRestarting({ context, separate }, async () => {
        const client = await connect({ authUrl, username, password, project });
        const nodes = lab ? await enrolMachines({ client, lab }) : (await client.nodes.list()).length;
        if (!interrupt.aborted) announce({ context, url, health, dataDirectory, nodes, lab, wanted: machines });
      });
    if (machines === undefined) {
      await greet(undefined);
      if (!interrupt.aborted) await once(interrupt, 'abort');
      return;
    }
    await keepLab({
      start: () => startLabProcess({ folder: join(dataDirectory, 'lab'), machines, environment, signal: interrupt }),
      async onStart(lab, isRestart) {
        onLab(lab);
        if (!isRestart) return greet(lab);
        context.output.note(`The lab died; restarted it at ${lab.url}. Its machines start as after a power cut.`);
      },
      onTrouble: (error) =>
        context.output.note(
          `The lab is not ready: ${toFailure(error).message}\nThe server works without the lab and keeps trying to start it.`,
        ),
      signal: interrupt,
    });
  } finally {
    await running.stop();
  }
}

/** A service in a process of its own may die at any moment. It is restarted, so `work` is done again until it succeeds. */
function whileRestarting(
  { context, separate }: { context: CliContext; separate: Replicas | undefined },
  work: () => Promise<void>,
): Promise<void> {
  const { output, interrupt } = context;
  return pRetry(work, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 200,
    maxTimeout: 5000,
    signal: interrupt,
    shouldRetry: ({ error }) => separate !== undefined && error instanceof AnnealError && error.kind === 'retry',
    onFailedAttempt: ({ error, attemptNumber }) => {
      if (attemptNumber === 1) output.note(`${error.message}\nTrying again until it answers.`);
    },
  });
}

/** The services of this server, and for an embedded one the socket of its commands. */
async function startAll(parameters: {
  context: CliContext;
  separate: Replicas | undefined;
  settings: Readonly<Record<string, string | undefined>>;
  dataDirectory: string;
}): Promise<{ readonly healthUrl?: string | undefined; stop(): Promise<void> }> {
  const { context, separate, settings, dataDirectory } = parameters;
  const { interrupt } = context;
  if (separate) {
    refuseEmbedded(settings);
    return startSeparately({
      replicas: separate,
      environment: settings,
      dataDirectory,
      onDeath: ({ name, reason }) => context.output.note(`${name} died (${reason}); restarting it.`),
      onWaiting: ({ names, seconds, reason }) =>
        context.output.note(
          reason === undefined
            ? `Waiting for ${names.join(', ')} to be ready, ${seconds} s so far.`
            : `The services are ${reason} (${seconds} s so far)`,
        ),
      signal: interrupt,
    });
  }
  const running = await startServices({ services, environment: settings, isLocked: true, signal: interrupt });
  const { healthUrl, copyData } = running;
  if (!copyData) return running;
  try {
    const control = await openControl({ dataDirectory, copyData });
    return {
      healthUrl,
      async stop() {
        await control.close();
        await running.stop();
      },
    };
  } catch (error) {
    await running.stop();
    throw error;
  }
}

/**
 * Builds the commands beside the server, and what browsers see once a browser asks for it: a build takes more memory than
 * the server. A gateway in another process cannot say that a browser asks.
 */
async function buildAll(
  { environment, interrupt: signal, output }: CliContext,
  { separate }: { separate: boolean },
): Promise<void> {
  const pages = environment['ANNEAL_GATEWAY_CONSOLE'] === undefined ? [builtConsole, builtDocs] : [builtDocs];
  const build = (folder: BuiltFolder): Promise<void> =>
    buildBeside(folder, {
      signal,
      onFailure: (reason) =>
        output.note(
          `Building ${folder.title} failed: ${reason}\nThe server works without it. Build it as the owner of ${folder.root}: ${folder.command}`,
        ),
    });
  await build(builtCommands);
  for (const folder of pages) {
    if (separate) await build(folder);
    else whenWanted(folder, () => void build(folder));
  }
}

/** Refuses the embedded broker and database, because only one process can use them. */
function refuseEmbedded(settings: Readonly<Record<string, string | undefined>>): void {
  const embedded = (['ANNEAL_BUS_URL', 'ANNEAL_STORE_URL'] as const).filter(
    (name) => settings[name] === undefined || settings[name].startsWith('sqlite:'),
  );
  if (embedded.length === 0) return;
  throw new AnnealError(
    'InvalidRequest',
    `Separate services need a shared broker and a shared database: give --bus amqp://… or nats://…, and --store mongodb://… (missing: ${embedded.join(', ')}).`,
  );
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.');

/** An address that a client can use. A server that listens on all addresses is reached at loopback. */
const reachable = (host: string): string =>
  host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;

function announce(parameters: {
  context: CliContext;
  url: string;
  health: string | undefined;
  dataDirectory: string;
  nodes: number;
  lab: RunningLab | undefined;
  wanted: number | undefined;
}): void {
  const { context, url, health, dataDirectory, nodes, lab, wanted } = parameters;
  const { output, cwd } = context;
  const { bold, cyan } = output.colors;
  const prefix = dataDirectory === join(cwd, '.anneal') ? '' : `ANNEAL_DATA=${dataDirectory} `;
  output.line(`${bold('Anneal')} listens at ${cyan(url)}`);
  output.line(`  console    ${url} in a browser`);
  output.line(`  docs       ${url}/docs`);
  if (health !== undefined) output.line(`  monitoring ${health}/metrics, ${health}/health/ready`);
  output.line(`  log in     user admin, project admin, password in ${credentialsFile(dataDirectory)}`);
  output.line(`  try        ${prefix}npx anneal node list`);
  if (lab) {
    const { length } = lab.machines;
    const origin = lab.isNew
      ? 'started'
      : length === wanted
        ? 'was running'
        : `was running; stop it to get ${wanted} machines`;
    output.line(`  lab        ${length} machines at ${lab.url} (${origin})`);
  }
  output.line(`  nodes      ${nodes}`);
  output.line('  stop       Ctrl-C');
}

/** Runs one service in this process, with the broker and the database from the settings. */
export async function serveOne(parameters: {
  context: CliContext;
  name: string;
  data: string;
  bus: string | undefined;
  store: string | undefined;
}): Promise<void> {
  const { context, name, data, bus, store } = parameters;
  const service = services.find((candidate) => candidate.name === name);
  if (!service) {
    const names = services.map((candidate) => candidate.name).join(', ');
    throw new AnnealError('InvalidRequest', `There is no service ${name}. The services are ${names}.`);
  }
  const running = await startServices({
    services: [service],
    signal: context.interrupt,
    environment: {
      ...context.environment,
      ANNEAL_DATA: resolve(context.cwd, data),
      ...(bus !== undefined && { ANNEAL_BUS_URL: bus }),
      ...(store !== undefined && { ANNEAL_STORE_URL: store }),
    },
  });
  context.output.line(`anneal ${name} is ready; health at ${running.healthUrl}`);
  await once(context.interrupt, 'abort');
  await running.stop();
}
