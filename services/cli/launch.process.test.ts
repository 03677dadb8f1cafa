import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { serverFlags } from '@anneal/runtime/service/node-flags.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const command = new URL('./anneal.mjs', import.meta.url).pathname;
const version = async (environment: Record<string, string>): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, [command, '--version'], { env: { PATH: process.env['PATH'], ...environment } });

/** Each test starts whole processes. */
describe('the anneal command', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-launch-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('caches compiled code for its next start in NODE_COMPILE_CACHE, or else in the installation', async () => {
    await version({ NODE_COMPILE_CACHE: folder });
    expect(await readdir(folder)).toHaveLength(1);
    await version({});
    const compiled = new URL('../../node_modules/.cache/anneal/compiled', import.meta.url).pathname;
    expect(await readdir(compiled)).not.toEqual([]);
  });

  it('runs without a warning where the cache folder cannot be written', async () => {
    const kept = await version({ NODE_COMPILE_CACHE: '/dev/null/none' });
    expect(kept).toEqual({ stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' });
  });

  it('runs in several processes at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 3 }, () => version({ NODE_COMPILE_CACHE: folder })));
    expect(new Set(all.map(({ stdout }) => stdout)).size).toBe(1);
  });

  it('is one process behind a link, in a path with spaces, while the installation is that of the lock file', async () => {
    const root = join(folder, 'a tree');
    const cli = join(root, 'services', 'cli');
    const bin = join(root, 'node_modules', 'node', 'bin');
    for (const path of [cli, bin, join(folder, 'bin')]) await mkdir(path, { recursive: true });
    for (const file of ['anneal.mjs', 'launch.sh']) {
      await copyFile(new URL(`./${file}`, import.meta.url), join(cli, file));
    }
    await chmod(join(cli, 'anneal.mjs'), 0o755);
    // In the place of Node, a program that prints its process and its arguments.
    await writeFile(join(bin, 'node'), '#!/bin/sh\nprintf "%s\\n" $$ "$@"\n', { mode: 0o755 });
    await writeFile(join(root, 'package-lock.json'), 'lock');
    await writeFile(join(root, 'node_modules', '.anneal-lock'), 'lock');
    await symlink('../a tree/services/cli/anneal.mjs', join(folder, 'bin', 'anneal'));

    const run = promisify(execFile)('anneal', ['stack', 'show', 'a b'], {
      cwd: '/',
      env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` },
    });
    const [process, ...words] = (await run).stdout.trimEnd().split('\n');
    expect(Number(process)).toBe(run.child.pid);
    expect(words.filter((word) => !word.startsWith('--'))).toEqual([join(cli, 'main.ts'), 'stack', 'show', 'a b']);

    // Node on the PATH installs the dependencies of another lock file: see launch.mjs.
    await writeFile(join(root, 'package-lock.json'), 'another');
    await symlink(join(bin, 'node'), join(folder, 'bin', 'node'));
    const other = await promisify(execFile)(join(folder, 'bin', 'anneal'), ['x'], {
      env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` },
    });
    expect(other.stdout.trimEnd().split('\n').slice(1)).toEqual([join(cli, 'anneal.mjs'), 'x']);
  });

  it('runs the bundle of the commands while no source is newer', async () => {
    const cli = join(folder, 'services', 'cli');
    const bin = join(folder, 'node_modules', 'node', 'bin');
    const bundle = join(folder, 'node_modules', '.cache', 'anneal', 'commands');
    for (const path of [cli, bin, bundle, join(folder, 'libs')]) await mkdir(path, { recursive: true });
    for (const file of ['anneal.mjs', 'launch.sh']) {
      await copyFile(new URL(`./${file}`, import.meta.url), join(cli, file));
    }
    await writeFile(join(bin, 'node'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
    await writeFile(join(folder, 'package-lock.json'), 'lock');
    await writeFile(join(folder, 'node_modules', '.anneal-lock'), 'lock');
    const source = join(folder, 'libs', 'source.ts');
    const stamp = join(bundle, 'sources.sha256');
    for (const file of [source, stamp]) await writeFile(file, '');
    const program = async (...words: string[]): Promise<string | undefined> => {
      const { stdout } = await promisify(execFile)('/bin/sh', [join(cli, 'anneal.mjs'), ...words], {
        env: { PATH: '/usr/bin:/bin' },
      });
      return stdout.split('\n').find((line) => line.startsWith(folder));
    };
    const [past, future] = [new Date(0), new Date(Date.now() + 60_000)];
    const [bundled, sources] = [join(bundle, 'main.js'), join(cli, 'main.ts')];

    await utimes(stamp, future, future);
    expect(await program('stack', 'list')).toBe(bundled);
    for (const noun of ['backup', 'restore', 'provider']) expect(await program(noun)).toBe(sources);
    expect(await program('--server', 'home', 'provider', 'check')).toBe(sources);

    await utimes(stamp, past, past);
    expect(await program('stack', 'list')).toBe(sources);
    await utimes(source, past, past);
    expect(await program('stack', 'list'), 'a file has gone from a folder').toBe(sources);
  });

  it('installs nothing again after npm has installed the dependencies', async () => {
    const cli = join(folder, 'services', 'cli');
    const bin = join(folder, 'node_modules', 'node', 'bin');
    for (const path of [cli, bin]) await mkdir(path, { recursive: true });
    for (const file of ['anneal.mjs', 'launch.sh', 'launch.mjs', 'orphan.mjs']) {
      await copyFile(new URL(`./${file}`, import.meta.url), join(cli, file));
    }
    await writeFile(join(bin, 'node'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
    await writeFile(join(folder, 'package-lock.json'), 'lock');
    // As the script `postinstall` of package.json does.
    await promisify(execFile)(process.execPath, [join(cli, 'launch.mjs'), '--installed']);
    for (const program of ['/bin/sh', process.execPath]) {
      const words = [join(cli, 'anneal.mjs'), 'stack', 'list'];
      const { stdout, stderr } = await promisify(execFile)(program, words, { env: { PATH: '/usr/bin:/bin' } });
      expect([stdout.trimEnd().split('\n').slice(-3), stderr]).toEqual([[join(cli, 'main.ts'), 'stack', 'list'], '']);
    }
    const serve = async (env: NodeJS.ProcessEnv): Promise<string> => {
      const words = [join(cli, 'anneal.mjs'), 'serve'];
      const { stdout } = await promisify(execFile)(process.execPath, words, { env: { PATH: '/usr/bin:/bin', ...env } });
      return stdout;
    };
    for (const flag of serverFlags({})) expect(await serve({})).toContain(`${flag}\n`);
    expect(await serve({ NODE_OPTIONS: '--max-semi-space-size=64' })).not.toContain('semi-space-size');
    const { scripts } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
      scripts: Record<string, string>;
    };
    expect(scripts['postinstall']).toContain('services/cli/launch.mjs --installed');
  });

  it.skipIf(process.platform === 'win32')('becomes the server, and stays beside it only under npm', async () => {
    const cli = join(folder, 'node_modules', 'anneal', 'services', 'cli');
    const bin = join(folder, 'node_modules', 'node', 'bin');
    for (const path of [cli, bin]) await mkdir(path, { recursive: true });
    for (const file of ['anneal.mjs', 'launch.sh', 'launch.mjs', 'orphan.mjs']) {
      await copyFile(new URL(`./${file}`, import.meta.url), join(cli, file));
    }
    // In the place of Node, a program that prints its process.
    const program = '#!/bin/sh\nprintf "%s\\n" $$ "$@"\nexit 3\n';
    await writeFile(join(bin, 'node'), program, { mode: 0o755 });
    const serve = async (env: NodeJS.ProcessEnv) => {
      const run = promisify(execFile)(process.execPath, [join(cli, 'anneal.mjs'), 'serve', '--port', '0'], {
        env: { PATH: '/usr/bin:/bin', ...env },
      });
      const ended = (await run.catch((error: unknown) => error)) as { stdout: string; stderr: string; code: number };
      const [id, ...words] = ended.stdout.trimEnd().split('\n');
      expect([words.slice(-4), ended.stderr, ended.code]).toEqual([
        [join(cli, 'main.ts'), 'serve', '--port', '0'],
        '',
        3,
      ]);
      return { isItself: Number(id) === run.child.pid, isWatched: words.includes('--import') };
    };
    expect(await serve({})).toEqual({ isItself: true, isWatched: false });
    const npm = { npm_lifecycle_event: 'start' };
    expect(await serve(npm)).toEqual({ isItself: false, isWatched: true });
  });

  it('starts the Node beside or in its package, where npm has no lock file', async () => {
    const modules = join(folder, 'node_modules');
    const cli = join(modules, 'anneal', 'services', 'cli');
    await mkdir(cli, { recursive: true });
    for (const file of ['anneal.mjs', 'launch.sh', 'launch.mjs', 'orphan.mjs']) {
      await copyFile(new URL(`./${file}`, import.meta.url), join(cli, file));
    }
    const installNode = async (at: string): Promise<void> => {
      await mkdir(join(at, 'node', 'bin'), { recursive: true });
      const program = `#!/bin/sh\nprintf "%s\\n" "$NODE_COMPILE_CACHE" "$0" "$@"\n`;
      await writeFile(join(at, 'node', 'bin', 'node'), program, { mode: 0o755 });
    };
    const start = async (program: string, ...words: string[]): Promise<string[]> => {
      const { stdout } = await promisify(execFile)(program, words, {
        env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` },
      });
      return stdout.trimEnd().split('\n');
    };
    const runBoth = async (): Promise<string[][]> => {
      // A shell, and the launcher of a server, which watches its parent.
      const shell = await start('/bin/sh', join(cli, 'anneal.mjs'), 'stack', 'list');
      const server = await start(process.execPath, join(cli, 'anneal.mjs'), 'stack', 'list');
      return [shell, server].map(([cache, node, ...words]) => [cache!, node!, ...words.slice(-3)]);
    };
    await installNode(modules);
    const called = [join(cli, 'main.ts'), 'stack', 'list'];
    const beside = [join(modules, '.cache/anneal/compiled'), join(modules, 'node/bin/node'), ...called];
    expect(await runBoth()).toEqual([beside, beside]);
    const own = join(modules, 'anneal', 'node_modules');
    await installNode(own);
    const within = [join(own, '.cache/anneal/compiled'), join(own, 'node/bin/node'), ...called];
    expect(await runBoth()).toEqual([within, within]);
  });

  it('runs on the Node that started it when npm installed no other', async () => {
    const cli = join(folder, 'packages', 'anneal', 'services', 'cli');
    await mkdir(cli, { recursive: true });
    for (const file of ['anneal.mjs', 'launch.sh', 'launch.mjs', 'orphan.mjs']) {
      await copyFile(new URL(`./${file}`, import.meta.url), join(cli, file));
    }
    await writeFile(join(cli, 'main.ts'), 'console.log(process.execPath, process.argv.slice(2).join());');
    const found = await promisify(execFile)(process.execPath, [join(cli, 'anneal.mjs'), 'a', 'b']);
    expect(found.stdout).toBe(`${process.execPath} a,b\n`);
  });
});
