/**
 * Builds the container image with the project's own file, and runs it as deploy/ does: not as root, without capabilities,
 * on a read-only file system. No registry is needed: the base is Debian with this Node and npm, as in the official image.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '../backends/program.ts';
import { repository } from '../e2e/server.ts';

const run = promisify(execFile);
const base = 'docker.io/library/node:24-slim';
const image = 'localhost/anneal:test';
/** The authorities of this machine: its way to the npm registry may have its own. */
const authorities = '/etc/ssl/certs/ca-certificates.crt';

async function whyNot(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'only root builds images here';
  for (const name of ['podman', 'mmdebstrap', 'npm', 'unshare', 'nsenter']) {
    if ((await findProgram(name)) === undefined) return `${name} is not on the PATH`;
  }
  return undefined;
}

const missing = await whyNot();
if (missing !== undefined) process.stderr.write(`Skipped: the container image. ${missing}.\n`);

let folder: string;

/**
 * Owns the namespaces of every program of the build, however deep it started. It ends when its input does, which is also when
 * the test is killed, and the kernel ends with it all processes and mounts that are left.
 */
let holder: ChildProcess | undefined;
const startHolder = (): ChildProcess => {
  const words = ['--pid', '--mount', '--fork', '--kill-child=KILL', '--mount-proc'];
  // Not one program alone: the first process of a namespace has to wait for those that lost their parents.
  return spawn('unshare', [...words, 'sh', '-c', 'cat >/dev/null; :'], { stdio: ['pipe', 'ignore', 'ignore'] });
};

/** Runs a program in the namespaces of the holder. */
function runHeld(
  program: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ stdout: string; stderr: string }> {
  const namespaces = `/proc/${holder?.pid}/ns`;
  const entered = [`--pid=${namespaces}/pid_for_children`, `--mount=${namespaces}/mnt`];
  return run('nsenter', [...entered, 'env', `--chdir=${repository}`, program, ...words], { maxBuffer: 64 << 20, env });
}

/** Podman with its own storage, because the base has the name of an image that others use. */
async function podman(...words: string[]): Promise<string> {
  const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--cgroup-manager=cgroupfs'];
  const environment = { ...process.env, CONTAINERS_CONF: join(folder, 'containers.conf') };
  const { stdout, stderr } = await runHeld('podman', [...storage, ...words], environment);
  return `${stdout}${stderr}`;
}

async function makeBase(): Promise<void> {
  const root = join(folder, 'base');
  const release = 'bookworm';
  await runHeld('mmdebstrap', ['--variant=minbase', '--include=ca-certificates', '--quiet', release, root]);
  await cp(process.execPath, join(root, 'usr/local/bin/node'));
  const npm = dirname(dirname(await realpath(String(await findProgram('npm')))));
  await mkdir(join(root, 'usr/local/lib/node_modules'), { recursive: true });
  await cp(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
  const setUp =
    'for each in npm npx; do ln -s ../lib/node_modules/npm/bin/$each-cli.js /usr/local/bin/$each; done; useradd -m -u 1000 -U node';
  await runHeld('chroot', [root, 'sh', '-euc', setUp]);
  const archive = join(folder, 'base.tar');
  await run('tar', ['-C', root, '-cf', archive, '.']);
  await podman('import', archive, base);
  await rm(root, { recursive: true, force: true });
  await rm(archive);
}

async function build(): Promise<void> {
  const { stdout: cache } = await run('npm', ['config', 'get', 'cache']);
  // A copy, because the build cleans it: another npm would lose its packages. Without it npm asks the registry.
  const packages = join(folder, 'npm');
  await mkdir(packages);
  const isKept = (path: string): boolean => !path.includes(join('_cacache', 'tmp'));
  await cp(cache.trim(), packages, { recursive: true, filter: isKept }).catch(() => undefined);
  const volumes = [`${authorities}:${authorities}:ro`, `${packages}:/root/.npm`].flatMap((each) => ['-v', each]);
  const environment = [`NODE_EXTRA_CA_CERTS=${authorities}`, 'NPM_CONFIG_PREFER_OFFLINE=true'].flatMap((each) => [
    '--env',
    each,
  ]);
  const words = ['--format', 'docker', '--pull-never', '--network=host', ...volumes, ...environment];
  await podman('build', ...words, '-f', 'deploy/Containerfile', '-t', image, '.');
}

/** Starts a container as deploy/compose does, but with its network alone. */
async function start(name: string, ...command: string[]): Promise<void> {
  const limits = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges', '--tmpfs=/tmp:size=64m'];
  await podman('run', '--detach', '--name', name, '--network=none', ...limits, image, ...command);
}
const inside = (name: string, ...words: string[]): Promise<string> => podman('exec', name, ...words);
const fetchInside = (name: string, url: string, expression: string): Promise<string> =>
  inside(name, 'node', '-e', `fetch(${JSON.stringify(url)}).then(async (r) => console.log(${expression}))`);

describe.skipIf(missing !== undefined)('the container image', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-image-'));
    holder = startHolder();
    await eventually(() => runHeld('true', []).catch(() => undefined), { what: 'the namespaces' });
    // Limits that a user may set, because some machines forbid Podman's own.
    await writeFile(
      join(folder, 'containers.conf'),
      '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n',
    );
    await makeBase();
    await build();
    await start('server', 'services/cli/main.ts', 'serve', '--lab', '2', '--host', '0.0.0.0');
    let last = '';
    await eventually(
      async () => {
        last = await fetchInside('server', 'http://127.0.0.1:8471/health/ready', 'r.status').catch(String);
        return last.trim() === '200' ? true : undefined;
      },
      { within: 120_000, what: 'the server in the container', last: () => last },
    ).catch(async (error: unknown) => {
      throw new Error(await podman('logs', 'server'), { cause: error });
    });
  }, 900_000);
  afterAll(async () => {
    if (folder === undefined) return;
    await podman('rm', '--all', '--force', '--time', '0').catch(() => undefined);
    await podman('system', 'reset', '--force').catch(() => undefined);
    if (holder) {
      const ended = once(holder, 'exit');
      holder.stdin?.end();
      await ended;
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  it('runs the server as user 1000, and creates a stack on a simulated machine', async () => {
    expect(await inside('server', 'id', '-u')).toBe('1000\n');
    const template = `heat_template_version: 2016-10-14
resources:
  host: {type: OS::Nova::Server, properties: {image: any, flavor: any}}
  config: {type: OS::Heat::OrderedConfig, properties: {hosted_on: {get_resource: host}, script: "#!/bin/sh\\ntrue"}}
`;
    const save = `require('node:fs').writeFileSync('/tmp/web.yaml', ${JSON.stringify(template)})`;
    await inside('server', 'node', '-e', save);
    expect(await inside('server', 'anneal', 'stack', 'create', 'web', '-t', '/tmp/web.yaml', '--wait')).toContain(
      'web  create complete',
    );
    expect(await inside('server', 'npx', 'anneal', 'stack', 'list')).toContain('CREATE_COMPLETE');
  });

  it('has the pages of the console and the documentation, and the programs that services run', async () => {
    const page = '`${r.status} ${(await r.text()).slice(0, 2000)}`';
    expect(await fetchInside('server', 'http://127.0.0.1:8470/docs/getting-started', page)).toMatch(/^200 .*Anneal/s);
    expect(await inside('server', 'ipmitool', '-V')).toContain('ipmitool version');
    expect(await inside('server', 'qemu-img', '--version')).toContain('qemu-img version');
  });

  it('reports its health to the container engine, and ends with status 0 at a stop', async () => {
    await podman('healthcheck', 'run', 'server');
    await podman('stop', '--time', '30', 'server');
    expect(await podman('inspect', '--format', '{{.State.ExitCode}}', 'server')).toBe('0\n');
  });
});
