/** A host in containers: each has process ids of its own, small ones, which the next container uses again. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { shellText } from '@anneal/gateway/scripts/text.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../e2e/server.ts';

const namespaces = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child'];
const hasNamespaces = spawnSync('unshare', [...namespaces, 'true']).status === 0;

/** The lines of join-a-machine.md, as they stand there. */
function recipe(prefix: string): string {
  const page = readFileSync(join(import.meta.dirname, '../../docs/tasks/join-a-machine.md'), 'utf8');
  const block = /```sh needs="a container"\n(.*?)```/s.exec(page)?.[1] ?? '';
  return block.replace('/data/anneal ', `${prefix} `);
}

describe.runIf(hasNamespaces)('a host in a container', () => {
  let server: TestServer;
  let directory: string;
  let container: ChildProcess | undefined;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'anneal-container-'));
    server = await startServer({ lab: 0 });
  });
  afterAll(async () => {
    container?.kill('SIGKILL');
    await server?.dispose();
    rmSync(directory, { recursive: true, force: true });
  });

  it('comes back in each new container, by the recipe of the page as an inline command', async () => {
    const { stdout } = await server.anneal('host', 'join', 'pod1');
    const [, url = ''] = /(https?:\S+)/.exec(stdout) ?? [];
    for (let life = 1; life <= 4; life += 1) {
      const began = Date.now();
      let last = '';
      container = spawn('unshare', [...namespaces, 'sh', '-c', recipe(join(directory, 'data'))], {
        env: { PATH: process.env['PATH'] ?? '', HOME: directory, JOIN_URL: url },
        stdio: ['ignore', openSync(join(directory, 'output'), 'a'), openSync(join(directory, 'output'), 'a')],
      });
      await eventually(
        async () => {
          const { stdout: seen } = await server.anneal('host', 'show', 'pod1', '-o', 'jsonpath=last_seen_at');
          last = seen;
          return Date.parse(seen.trim()) > began || undefined;
        },
        { what: `the host in container ${life}`, last: () => [last, readFileSync(join(directory, 'output'), 'utf8')] },
      );
      container.kill('SIGKILL');
      await once(container, 'exit');
    }
  });
});

describe('the pid file of the agent', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'anneal-pid-'));
    spawnSync('mkdir', ['-p', join(folder, 'bin'), join(folder, 'lib/anneal-agent')]);
    writeFileSync(join(folder, 'bin/anneal-agent'), shellText.agent);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const agent = (word: string) => spawnSync('sh', [join(folder, 'bin/anneal-agent'), word], { encoding: 'utf8' });

  it.each([
    ['with the birth of an earlier process', ' 1 00000000-0000-0000-0000-000000000000'],
    ['without a birth, as an older version wrote it', ''],
  ])('that names another process counts for nothing: %s', (_what, birth) => {
    // A process whose command line has the name of the agent, as that of an inline start script.
    const script = `echo "$$${birth}" >${folder}/lib/anneal-agent/pid; sh ${folder}/bin/anneal-agent stop; echo "stop: $?"; sh ${folder}/bin/anneal-agent status`;
    const { stdout } = spawnSync('sh', ['-c', script], { encoding: 'utf8', timeout: 20_000 });
    expect(stdout).toBe('stop: 1\ndoes not run\n');
    expect(agent('status').status).toBe(3);
  });
});

const mounts = ['--user', '--map-root-user', '--mount'];
describe.runIf(spawnSync('unshare', [...mounts, 'true']).status === 0)('a failed config', () => {
  /** The error that the agent adds to the status, in a folder on a file system with these options. */
  function reasonOn(options: string, { status, before }: { status: number; before: string }): string {
    const { tools, apply } = shellText;
    const functions = apply.slice(apply.indexOf('explain() {'), apply.indexOf('# Sends the file $1 as the output'));
    const script = `dir=$(mktemp -d) && mount -t tmpfs -o ${options} none "$dir" || exit
${tools}${functions}status=${status} limit=1
${before}
explain
echo "$error" | sed "s|$dir|FOLDER|g"
umount "$dir"; rmdir "$dir"`;
    return spawnSync('unshare', [...mounts, 'sh', '-c', script], { encoding: 'utf8' }).stdout.trim();
  }
  const fill = 'head -c 200000 /dev/zero >"$dir/full" 2>/dev/null; rm -f "$dir/stderr"';

  it('says that the disk of its folder is full, when no word of it could be written', () => {
    expect(reasonOn('size=64k', { status: 1, before: fill })).toBe('no space left in FOLDER');
    const unstarted = ': >"$dir/unstarted"; : >"$dir/stderr"; ';
    expect(reasonOn('size=64k', { status: 126, before: unstarted + fill })).toBe(
      'cannot start it; no space left in FOLDER',
    );
  });

  it('says that the file system of its folder runs no programs', () => {
    const reason = 'the file system of FOLDER runs no programs (noexec)';
    expect(reasonOn('size=640k,noexec', { status: 126, before: '' })).toBe(reason);
    expect(reasonOn('size=640k', { status: 126, before: '' })).toBe('');
  });
});
