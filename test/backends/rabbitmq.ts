/**
 * A RabbitMQ for tests: `ANNEAL_TEST_AMQP_URL`, else a container, else the installed `rabbitmq-server` as a
 * process with its own data, ports, cookie and epmd in a temporary folder, separate from a system service and from other
 * test runs.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { atProcessEnd } from './process-end.ts';
import { startContainer } from './containers.ts';
import { freeLocalPort } from './free-port.ts';
import { findProgram } from './program.ts';
import type { BackendServer, MissingBackend } from './backend.ts';
import type { Certificates } from './certificates.ts';
import { isRunningChild } from '../processes.ts';

/** Erlang takes over a minute to start when all processors are busy. */
const startMs = 240_000;
/** The program has no limit of its own. */
const controlMs = 120_000;
/** Look here first, because the script in /usr/sbin changes the user and drops the environment. */
const scriptFolders = ['/usr/lib/rabbitmq/bin', '/usr/local/lib/rabbitmq/bin', '/opt/rabbitmq/sbin'];

export interface RabbitmqServer extends BackendServer {
  /** Runs `rabbitmqctl`. Only for a server that the tests started. */
  control(...words: string[]): Promise<void>;
  /** Host and port of TLS, when requested. */
  readonly secureHost?: string;
  /** The management API with its administrator, when requested. */
  readonly adminUrl?: string;
}

interface RabbitmqOptions {
  /** Also accepts client certificates as logins. The server is then a program of this machine. */
  readonly tls?: Certificates;
  /** Serves the management API. The server is then a program of this machine. */
  readonly management?: boolean;
}

/** A running server, or the reason why there is none. */
export async function findRabbitmq(options: RabbitmqOptions = {}): Promise<RabbitmqServer | MissingBackend> {
  const isSpecial = options.tls !== undefined || options.management === true;
  const configured = process.env['ANNEAL_TEST_AMQP_URL'];
  if (!isSpecial && configured !== undefined && configured !== '') {
    const never = (): Promise<void> =>
      Promise.reject(new Error('Tests must not kill this RabbitMQ: it is from the environment.'));
    return {
      url: configured,
      mayBeKilled: false,
      kill: never,
      start: never,
      stop: async () => undefined,
      control: never,
    };
  }
  const container = isSpecial ? undefined : await inContainer();
  if (container) return container;
  const script = await findProgram('rabbitmq-server', [...scriptFolders, '/usr/sbin']);
  const epmd = await findProgram('epmd');
  if (script === undefined || epmd === undefined) {
    return {
      missing:
        'RabbitMQ is not here: set ANNEAL_TEST_AMQP_URL to the URL of a server, or install it ' +
        '(Debian: apt-get install rabbitmq-server).',
    };
  }
  return startOwn(script, epmd, options);
}

async function inContainer(): Promise<RabbitmqServer | undefined> {
  const container = await startContainer({
    image: 'rabbitmq:4.1-management',
    port: 5672,
    urlOf: (address) => `amqp://guest:guest@${address}`,
    isReady: greets,
  });
  return container && { ...container, control: (...words) => container.run(['rabbitmqctl', ...words]) };
}

async function startOwn(
  script: string,
  epmd: string,
  { tls, management = false }: RabbitmqOptions,
): Promise<RabbitmqServer> {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-rabbitmq-'));
  const [port, distributionPort, epmdPort] = [await freeLocalPort(), await freeLocalPort(), await freeLocalPort()];
  const secureHost = tls && `127.0.0.1:${await freeLocalPort()}`;
  const adminPort = management ? await freeLocalPort() : undefined;
  const plugins = [...(tls ? ['rabbitmq_auth_mechanism_ssl'] : []), ...(management ? ['rabbitmq_management'] : [])];
  await writeFile(join(folder, 'plugins'), `[${plugins.join(',')}].`);
  const configuration = [
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    // The disk may be nearly full of other data, and an alarm would only stop the tests.
    'disk_free_limit.absolute = 50MB',
    'log.console = false',
    ...(tls && secureHost !== undefined ? secureSettings(tls, secureHost) : []),
    ...(adminPort === undefined ? [] : ['management.tcp.ip = 127.0.0.1', `management.tcp.port = ${adminPort}`]),
  ];
  await writeFile(join(folder, 'rabbitmq.conf'), configuration.map((line) => `${line}\n`).join(''));
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    ERL_EPMD_PORT: String(epmdPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `anneal${port}@localhost`,
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distributionPort),
    RABBITMQ_MNESIA_BASE: join(folder, 'data'),
    RABBITMQ_LOG_BASE: join(folder, 'log'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
    RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
    RABBITMQ_CONF_ENV_FILE: join(folder, 'none'),
    RABBITMQ_PID_FILE: join(folder, 'pid'),
    // The server replaces the shell, so that a kill reaches the broker.
    RUNNING_UNDER_SYSTEMD: 'true',
  };
  const names = spawn(epmd, ['-port', String(epmdPort), '-address', '127.0.0.1'], { env, stdio: 'ignore' });
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    if (isRunningChild(server)) return;
    const started = spawn(script, [], { env, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    server = started;
    let output = '';
    started.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-2000)));
    const deadline = performance.now() + startMs;
    while (!(await greets({ host: '127.0.0.1', port }))) {
      if (started.exitCode !== null || performance.now() > deadline) {
        const log = await readFile(join(folder, 'log', `anneal${port}@localhost.log`), 'utf8').catch(() => '');
        throw new Error(`RabbitMQ did not start: ${output || log.slice(-2000)}`);
      }
      await new Promise((resolve) => void setTimeout(resolve, 100));
    }
  };
  const kill = async (): Promise<void> => {
    if (!isRunningChild(server)) return;
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    await ended;
  };
  const control = async (...words: string[]): Promise<void> => {
    const program = join(dirname(script), 'rabbitmqctl');
    const run = spawn(program, words, {
      env,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: controlMs,
      killSignal: 'SIGKILL',
    });
    const [code, signal] = (await once(run, 'exit')) as [number | null, string | null];
    if (code !== 0) throw new Error(`rabbitmqctl ${words.join(' ')} ended with ${code ?? signal}.`);
  };
  const stop = async (): Promise<void> => {
    await kill();
    names.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  };
  // Kill broker and epmd with the test run, also when it is interrupted.
  atProcessEnd(() => {
    server?.kill('SIGKILL');
    names.kill('SIGKILL');
  });
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  const url = `amqp://guest:guest@127.0.0.1:${port}`;
  return {
    url,
    data: folder,
    mayBeKilled: true,
    kill,
    start,
    stop,
    control,
    ...(secureHost !== undefined && { secureHost }),
    ...(adminPort !== undefined && { adminUrl: `http://guest:guest@127.0.0.1:${adminPort}` }),
  };
}

const secureSettings = (tls: Certificates, host: string): string[] => [
  `listeners.ssl.1 = ${host}`,
  `ssl_options.cacertfile = ${tls.ca}`,
  `ssl_options.certfile = ${tls.server.cert}`,
  `ssl_options.keyfile = ${tls.server.key}`,
  'ssl_options.verify = verify_peer',
  'ssl_options.fail_if_no_peer_cert = false',
  'auth_mechanisms.1 = PLAIN',
  'auth_mechanisms.2 = EXTERNAL',
  'ssl_cert_login_from = common_name',
];

/** True when the server answers the protocol's header. The port is open before the broker is ready. */
async function greets({ host, port }: { host: string; port: number }): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(1000) });
    socket.write(Buffer.from('AMQP\x00\x00\x09\x01', 'latin1'));
    const [first] = (await once(socket, 'data', { signal: AbortSignal.timeout(1000) })) as [Buffer];
    return first[0] === 1;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
