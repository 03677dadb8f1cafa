import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtCommands, writeCommands } from './bundle.ts';

/** The test builds the bundle and starts processes. */
describe('the bundle of the commands', () => {
  let folder: string;
  beforeAll(async () => {
    // Beside the real one, because some commands load packages.
    const parent = join(builtCommands.root, 'node_modules/.cache/anneal');
    await mkdir(parent, { recursive: true });
    folder = await mkdtemp(join(parent, 'commands-test-'));
    await writeCommands(folder);
  });
  afterAll(() => rm(folder, { recursive: true }));

  const run = async (program: string, words: readonly string[]): Promise<string> =>
    (
      await promisify(execFile)(process.execPath, [program, ...words], {
        // Without a server: no data folder is above this one.
        cwd: '/',
        env: { PATH: process.env['PATH'], HOME: '/nonexistent', NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
      }).catch((error: { stdout: string; stderr: string; code: number }) => ({
        stdout: `${error.code} ${error.stdout}${error.stderr}`,
      }))
    ).stdout;

  it.each([
    [['--version']],
    [['--help']],
    [['stack', 'create', '--help']],
    [['completion', 'zsh']],
    // No names: under load they come too late from the sources, and completion then leaves them out.
    [['completion-server', 'bash', '--', 'stack', 'create', 'web', '--']],
    [['template', 'types', '--offline']],
    [['explain', 'OS::Heat::Value', '--offline', '-o', 'yaml']],
    [['template', 'validate', '--offline', join(builtCommands.root, 'examples/first-steps/first.yaml')]],
    [['stack', 'lost']],
    [['stack', 'list']],
  ])('prints what the sources print: %j', async (words) => {
    const [bundled, sources] = await Promise.all([
      run(join(folder, 'main.js'), words),
      run(join(import.meta.dirname, '../main.ts'), words),
    ]);
    expect(bundled).toBe(sources);
    expect(bundled).not.toBe('');
  });

  it('leaves to the sources only commands that launch.sh runs from them', async () => {
    const texts = await Promise.all(
      (await readdir(folder))
        .filter((name) => name.endsWith('.js'))
        .map((name) => readFile(join(folder, name), 'utf8')),
    );
    const left = texts.flatMap((text) =>
      [...text.matchAll(/The bundle does not hold (\S+):/g)].map(([, path]) => path),
    );
    expect(new Set(left)).toEqual(
      new Set([
        'libs/provider/conformance/check.ts',
        'services/cli/backup/create.ts',
        'services/cli/backup/restore.ts',
        'services/cli/serve/serve.ts',
      ]),
    );
    const launch = await readFile(join(import.meta.dirname, '../launch.sh'), 'utf8');
    for (const noun of ['backup', 'restore', 'provider']) expect(launch).toContain(`*" ${noun} "*`);
    expect(launch).toContain('!= serve');
  });
});
