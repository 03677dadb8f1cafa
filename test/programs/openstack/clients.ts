/** The clients of OpenStack from PyPI, unmodified, with a server of Anneal. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { installFromPypi, type PythonEnvironment } from '../../backends/pypi.ts';
import { repository, startServer, type TestServer } from '../../e2e/server.ts';

const packages = [
  'python-openstackclient==10.5.0',
  'python-heatclient==5.3.0',
  'python-zaqarclient==4.7.0',
  'python-ironicclient==6.3.0',
  'python-mistralclient==6.3.0',
  'python-glanceclient==4.13.0',
  // For the commands of OAuth1.
  'oauthlib==3.3.1',
];

/** The longest that a command may take, in seconds. */
const limit = 60;

/** The end of a command. A `status` below 0 is the signal that ended it. */
export interface CommandEnd {
  status: number;
  stdout: string;
  stderr: string;
}
export type ClientRow = Record<string, unknown>;

export interface OpenstackClients {
  readonly server: TestServer;
  readonly password: string;
  /** A folder for the files of the tests. */
  readonly directory: string;
  /** Runs `openstack` with these words, one command at a time. Returns its end also when it failed. */
  readonly openstack: (...words: string[]) => Promise<CommandEnd>;
  /** The standard output of a command. Throws, with the command and its output, when it failed. */
  readonly ok: (...words: string[]) => Promise<string>;
  /** The JSON that a command prints. Throws as `ok` does. */
  readonly rows: (...words: string[]) => Promise<ClientRow[]>;
  readonly row: (...words: string[]) => Promise<ClientRow>;
  /** The JSON that a program of this folder prints, which uses the libraries of the clients. Throws as `ok` does. */
  readonly program: (file: string, ...words: string[]) => Promise<ClientRow>;
}

/**
 * Starts the clients and a server with a lab for the tests of a file, and ends both after them. Skips the tests, with
 * the reason, without python3 or access to PyPI.
 */
export function useOpenstackClients({
  lab,
  settings,
  without = [],
}: {
  lab: number;
  /** Variables that the clients do not get: those of a login by password. */
  without?: readonly string[];
  /** More settings of the server. */
  settings?: () => Promise<Record<string, string>>;
}): OpenstackClients {
  const password = 'a password for the test';
  let missing: string | undefined;
  let started: { server: TestServer; shell: Shell; python: string; environment: NodeJS.ProcessEnv } | undefined;
  let directory = '';

  beforeAll(async () => {
    const installed = await installFromPypi(packages);
    if ('missing' in installed) {
      missing = installed.missing;
      return;
    }
    directory = await mkdtemp(join(tmpdir(), 'anneal-openstack-'));
    const env = { ANNEAL_GATEWAY_ADMIN_PASSWORD: password, ...(await settings?.()) };
    const server = await startServer({ lab, env });
    const all = Object.entries(environmentOf(server, { password, home: directory }));
    const environment = Object.fromEntries(all.filter(([name]) => !without.includes(name)));
    const shell = openShell(installed, { environment, directory });
    started = { server, shell, python: join(installed.bin, 'python'), environment };
  }, 360_000);
  beforeEach(({ skip }) => skip(missing !== undefined, missing));
  afterAll(async () => {
    await started?.shell.close();
    await started?.server.dispose();
    if (directory !== '') await rm(directory, { recursive: true, force: true });
  });

  const ready = (): NonNullable<typeof started> => {
    if (!started) throw new Error('the clients were not started');
    return started;
  };
  const openstack = (...words: string[]): Promise<CommandEnd> => ready().shell.run(words);
  const ok = async (...words: string[]): Promise<string> => {
    const ended = await openstack(...words);
    if (ended.status === 0) return ended.stdout;
    throw new Error(`openstack ${words.join(' ')} ended with ${ended.status}\n${ended.stdout}\n${ended.stderr}`);
  };
  const json = async (words: string[]): Promise<unknown> => JSON.parse(await ok(...words, '-f', 'json'));
  return {
    get server() {
      return ready().server;
    },
    get directory() {
      return directory;
    },
    password,
    openstack,
    ok,
    rows: async (...words) => (await json(words)) as ClientRow[],
    row: async (...words) => (await json(words)) as ClientRow,
    program: (file, ...words) => {
      const options = { env: ready().environment, cwd: repository, timeout: limit * 1000 };
      return new Promise((resolve, reject) => {
        execFile(ready().python, [join(import.meta.dirname, file), ...words], options, (error, stdout, stderr) => {
          if (error) reject(new Error(`${file} failed: ${error.message}\n${stdout}\n${stderr}`));
          else resolve(JSON.parse(stdout) as ClientRow);
        });
      });
    },
  };
}

const environmentOf = (
  { url }: TestServer,
  { password, home }: { password: string; home: string },
): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  OS_AUTH_URL: `${url}/identity/v3`,
  OS_USERNAME: 'admin',
  OS_PASSWORD: password,
  OS_PROJECT_NAME: 'admin',
  OS_USER_DOMAIN_NAME: 'Default',
  OS_PROJECT_DOMAIN_NAME: 'Default',
  OS_IDENTITY_API_VERSION: '3',
  OS_MESSAGE_CLIENT_ID: '3381af92-2b9e-11e3-b191-71861300734c',
});

interface Shell {
  readonly run: (words: readonly string[]) => Promise<CommandEnd>;
  close(): Promise<void>;
}

/** Starts `shell.py`, because a new process would load the program for a second before each command. */
function openShell(
  { bin }: PythonEnvironment,
  { environment, directory }: { environment: NodeJS.ProcessEnv; directory: string },
): Shell {
  const words = [join(import.meta.dirname, 'shell.py'), join(bin, 'openstack'), 'openstack.'];
  const child: ChildProcess = spawn(join(bin, 'python'), words, {
    env: environment,
    cwd: repository,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let printed = '';
  child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const ended = new Promise<void>((resolve) => void child.once('close', () => resolve()));
  const answers = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const answer = async (): Promise<ClientRow> => {
    const next = await answers.next();
    if (next.done === true) throw new Error(`shell.py ended\n${printed}`);
    return JSON.parse(next.value) as ClientRow;
  };
  let last: Promise<unknown> = answer();
  const files = { stdout: join(directory, 'stdout'), stderr: join(directory, 'stderr') };
  const runNext = async (argv: readonly string[]): Promise<CommandEnd> => {
    child.stdin?.write(`${JSON.stringify({ argv, ...files, seconds: limit })}\n`);
    const { status } = await answer();
    const [stdout, stderr] = await Promise.all([readFile(files.stdout, 'utf8'), readFile(files.stderr, 'utf8')]);
    return { status: Number(status), stdout, stderr };
  };
  return {
    run: (argv) => {
      const next = last.then(() => runNext(argv));
      last = next.catch(() => undefined);
      return next;
    },
    async close() {
      child.stdin?.end();
      await ended;
    },
  };
}
