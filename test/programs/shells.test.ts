/** Tab completion in real shells. Each is skipped where it is not installed. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findProgram } from '../backends/program.ts';
import { ownEnvironment, repository } from '../e2e/server.ts';

const run = promisify(execFile);
const [fish, zsh] = [await findProgram('fish'), await findProgram('zsh')];
let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-shells-'));
  const main = join(repository, 'services', 'cli', 'main.ts');
  await writeFile(join(folder, 'anneal'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
  const own = ownEnvironment();
  env = { ...own, HOME: folder, PATH: `${folder}${delimiter}${own['PATH'] ?? ''}` };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const script = async (shell: string): Promise<string> => {
  const { stdout } = await run(join(folder, 'anneal'), ['completion', shell], { env });
  const file = join(folder, `completion.${shell}`);
  await writeFile(file, stdout);
  return file;
};

it.skipIf(fish === undefined)(
  'fish completes commands and options, each with its description',
  async () => {
    const file = await script('fish');
    const at = async (line: string): Promise<string> =>
      (await run(fish ?? '', ['-c', `source ${file}; complete -C '${line}'`], { env, timeout: 30_000 })).stdout;
    expect(await at('anneal project q')).toMatch(/^quota\tshow what a project may use/);
    expect(await at('anneal stack list --all')).toMatch(/^--all-projects\t/);
    expect(await at('npx anneal project q')).toMatch(/^quota\t[^\n]*\n$/);
  },
  60_000,
);

it('bash completes commands, of anneal and of npx anneal, and leaves other programs to npx', async () => {
  const file = await script('bash');
  const at = async (...words: string[]): Promise<string> => {
    const line = `source ${file}; COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}`;
    return (await run('bash', ['-c', `${line}; _anneal_completion; echo "\${COMPREPLY[@]}"`], { env })).stdout.trim();
  };
  expect(await at('anneal', 'project', 'q')).toBe('quota');
  expect(await at('npx', 'anneal', 'project', 'q')).toBe('quota');
  expect(await at('npx', 'vitest', 'project', 'q')).toBe('');
});

it.skipIf(zsh === undefined)(
  'zsh completes a command at the Tab key',
  async () => {
    const file = await script('zsh');
    // A terminal of its own: the second read waits until the line is complete.
    const words = [
      'zmodload zsh/zpty',
      'zpty shell zsh -f -i',
      `zpty -w shell "PS1=ready; autoload -U compinit; compinit -u -D; source ${file}; echo loa''ded"`,
      "zpty -r -m shell before '*loaded*'",
      "zpty -n -w shell $'anneal project qu\\t'",
      "zpty -r -m shell after '*quota*'",
      'print -r -- $after',
      'zpty -d shell',
    ];
    const { stdout } = await run(zsh ?? '', ['-f', '-c', words.join('\n')], { env, timeout: 30_000 });
    expect(stdout).toContain('anneal project quota');
  },
  60_000,
);
