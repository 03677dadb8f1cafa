import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { CliContext } from '@anneal/cli/context.ts';
import { describeCommands } from '@anneal/cli/describe.ts';
import { buildProgram } from '@anneal/cli/program.ts';
import { errorTable } from '@anneal/contracts/errors.ts';
import { registry } from '@anneal/contracts/registry.ts';

const byText = (a: string, b: string): number => (a < b ? -1 : 1);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const pages = globSync(
  [
    '*.md',
    'docs/**/*.md',
    'examples/**/*.md',
    '{clients,libs,services}/*/README.md',
    'deploy/README.md',
    'deploy/*/README.md',
    'test/README.md',
  ],
  { cwd: root },
);
const sources = globSync('{clients,deploy,examples,libs,services,test}/**/*.{ts,tsx,mjs}', {
  cwd: root,
  exclude: ['**/node_modules/**', '**/dist/**'],
});
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');
const written = pages.filter((page) => !page.startsWith(join('docs', 'reference')));
const settings = new Set(textOf(join('docs', 'reference', 'settings.md')).match(/ANNEAL_[A-Z_]+/g));
/** The variables of the programs of a host with only a shell. */
const shellNames = new Set(
  globSync('services/gateway/scripts/sh/*.sh', { cwd: root }).flatMap(
    (file) => textOf(file).match(/ANNEAL_[A-Z_]+/g) ?? [],
  ),
);

const program = await buildProgram({ environment: {}, cwd: '.' } as CliContext, {
  stdout: process.stdout,
  stderr: process.stderr,
});
const commands = describeCommands(program).map(({ usage, options }) => ({
  words: usage.replace(/ [[<].*$/, ''),
  flags: new Set(options.flatMap(({ flags }) => flags.match(/--?[a-z-]+/g) ?? [])),
}));

/** Every `anneal …` in a page: in code, after `npx` or a prompt. */
const invocations = (text: string): string[] =>
  [...text.matchAll(/(?:npx |\$ |`)anneal ((?:[a-z-]+)(?: [^\n`#|]*)?)/g)].map(([, line]) => line ?? '');

describe.each(written)('%s', (page) => {
  const text = textOf(page);

  it('links only to existing files', () => {
    for (const [, target = ''] of text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      expect(existsSync(join(root, dirname(page), target)), `${target} in ${page}`).toBe(true);
    }
  });

  it('names only existing sources', () => {
    const named = [...text.matchAll(/`([\w.-]+\/[\w./-]+\.(?:tsx?|mjs))`/g)].map(([, path = '']) => path);
    // From the root, or from any folder below that of the page.
    const isThere = (path: string): boolean =>
      existsSync(join(root, path)) ||
      sources.some(
        (source) => (dirname(page) === '.' || source.startsWith(dirname(page))) && source.endsWith(`/${path}`),
      );
    expect(named.filter((path) => !isThere(path.replace(/^(?:\.\.\/)+/, '')))).toEqual([]);
  });

  it('names only existing settings', () => {
    const unknown = (text.match(/ANNEAL_[A-Z][A-Z_]+[A-Z]/g) ?? []).filter(
      (name) => !settings.has(name) && !shellNames.has(name),
    );
    expect(unknown.filter((name) => !name.startsWith('ANNEAL_TEST_') && name !== 'ANNEAL_LAB_MACHINE')).toEqual([]);
  });

  it('shows only existing commands and options', () => {
    for (const line of invocations(text)) expectCommand(line);
  });
});

function expectCommand(line: string): void {
  const fits = commands.filter(({ words }) => `anneal ${line} `.startsWith(`${words} `));
  const isNoun = commands.some(({ words }) => words.startsWith(`anneal ${line.trim()} `));
  expect(fits.length > 0 || isNoun, `anneal ${line}`).toBe(true);
  for (const flag of line.match(/ --?[a-z][a-z-]*/g) ?? []) {
    // Every command accepts `--server`.
    const exists = flag === ' --server' || fits.length === 0 || fits.some(({ flags }) => flags.has(flag.trim()));
    expect(exists, `${flag} in: anneal ${line}`).toBe(true);
  }
}

it('shows only existing commands and options in the web console', () => {
  const shown = globSync('services/console/src/**/*.{ts,tsx}', { cwd: root }).flatMap((file) =>
    [...textOf(file).matchAll(/["'`]anneal ([a-z-]+ [^"`\n]*)["`]/g)].map(([, line = '']) => line),
  );
  expect(shown.length).toBeGreaterThan(50);
  for (const line of shown) {
    const plain = line.replaceAll(/\$\{[^}]*\}?/g, 'X');
    // The verb is a value of the program.
    if (!/^[a-z-]+ X/.test(plain) || commands.some(({ words }) => plain.startsWith(words.slice('anneal '.length)))) {
      expectCommand(plain);
    }
  }
});

describe('the reference', () => {
  it('lists exactly the existing error codes and events', () => {
    const codes = [...textOf(join('docs', 'reference', 'errors.md')).matchAll(/^\| `(\w+)`/gm)].map(
      ([, code = '']) => code,
    );
    expect(codes.toSorted(byText)).toEqual(Object.keys(errorTable).toSorted(byText));
    const events = [...textOf(join('docs', 'reference', 'events.md')).matchAll(/^\| `([\w.]+)`/gm)].map(
      ([, type]) => type,
    );
    expect(events).toEqual(
      [...registry.values()]
        .filter(({ kind }) => kind === 'event')
        .map(({ type }) => type)
        .toSorted(byText),
    );
  });

  it('lists every metric of the code', () => {
    const listed = textOf(join('docs', 'reference', 'metrics.md'));
    for (const file of globSync('{libs,services}/**/*.ts', { cwd: root })) {
      for (const [, name = ''] of textOf(file).matchAll(/name: '(anneal_[a-z_]+)'/g))
        expect(listed, name).toContain(`\`${name}\``);
    }
  });
});
