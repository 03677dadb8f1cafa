/** The convention for pages whose commands run, and that every example has a page. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { firstDifference } from './transcript/match.ts';
import { parseTranscript, untestedCommands } from './transcript/parse.ts';
import { openShell } from './transcript/shell.ts';

const root = join(import.meta.dirname, '../..');

describe('a page', () => {
  it('gives files and commands in their order, and leaves other fences alone', () => {
    const page = [
      'Save this:',
      '```yaml file=a.yaml',
      'a: 1',
      '```',
      '```sh',
      'anneal is not run here',
      '```',
      '```console run until status=2',
      '$ one \\',
      '  --more',
      'first',
      '',
      '$ two',
      '```',
    ].join('\n');
    expect(parseTranscript(page)).toEqual([
      { kind: 'file', name: 'a.yaml', content: 'a: 1\n' },
      { kind: 'command', command: 'one \\\n  --more', expected: ['first', ''], status: 0, until: true, line: 9 },
      { kind: 'command', command: 'two', expected: [], status: 2, until: true, line: 13 },
    ]);
  });

  it('is refused when a fence has a mark without meaning, or output without a command', () => {
    expect(() => parseTranscript('```console runs\n$ a\n```')).toThrow('line 1: the fence has an unknown mark: runs');
    expect(() => parseTranscript('```console run untli\n$ a\n```')).toThrow('unknown mark: untli');
    expect(() => parseTranscript('```console run\nfirst\n```')).toThrow('line 2: output without a command');
    expect(() => parseTranscript('```sh needs=\n```')).toThrow('unknown mark: needs=');
  });
});

it('every command that a page shows runs, or says what it needs', () => {
  expect(untestedCommands('```sh\none\n```\n\n    npx anneal node list\n    key: value\n')).toEqual([
    '2: one',
    '5: npx anneal node list',
  ]);
  expect(untestedCommands('```console run\n$ one\n```\n```sh needs="a broker"\ntwo\n```\n')).toEqual([]);
  const pages = globSync(['README.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: root });
  const untested = pages
    .filter((page) => !page.startsWith(join('docs', 'reference')))
    .flatMap((page) => untestedCommands(readFileSync(join(root, page), 'utf8')).map((line) => `${page}:${line}`));
  expect(untested).toEqual([]);
});

it('a fence that needs something names only tests that exist', () => {
  const pages = globSync(['README.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: root });
  const reasons = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^ *```\w+ needs="([^"]+)"$/gm)].map(
      ([, reason = '']) => reason,
    ),
  );
  expect(reasons.length).toBeGreaterThan(40);
  for (const [path] of reasons.join('\n').matchAll(/\b(?:test|docs|examples|\.ci)\/[\w./-]*\w/g))
    expect(existsSync(join(root, path)), path).toBe(true);
});

describe('an output', () => {
  const id = '0198c9f0-0000-7000-8000-000000000001';
  it('agrees when only ids, times, addresses and the widths of columns differ', () => {
    const shown = [`✔ web   OS::Nova::Server  1.9s`, `id ${id}`, 'at 2026-01-01T00:00:00Z http://127.0.0.1:8470/a'];
    const printed = `07:54:27  web  CREATE_IN_PROGRESS\n✔ web OS::Nova::Server    12.0s \nid ${id.replace('1', '2')}\nat 2027-02-03T04:05:06.789Z http://127.0.0.1:1/a\n\n`;
    expect(firstDifference(shown, printed)).toBeUndefined();
  });

  it('differs when a word differs, a line is missing, or a line is too many', () => {
    expect(firstDifference(['web complete'], 'web failed\n')).toBe('web complete');
    expect(firstDifference(['a', 'b'], 'a\n')).toBe('b');
    expect(firstDifference(['a'], 'a\nb\n')).toBe('(the end of the output)');
    expect(firstDifference([], 'a\n')).toBe('(the end of the output)');
  });

  it('agrees with … for any text in a line, and for any lines', () => {
    expect(firstDifference(['a … c', '…', 'z'], 'a (b) c\nx\ny\nz\n')).toBeUndefined();
    expect(firstDifference(['…', 'z'], 'x\ny\n')).toBe('z');
    expect(firstDifference(['a.…'], 'ab\n')).toBe('a.…');
  });
});

it('the shell keeps variables, separates the streams and reports the status', async () => {
  const shell = openShell({ cwd: root, env: process.env });
  try {
    expect(await shell.run('name=anneal; printf x')).toEqual({ status: 0, stdout: 'x', stderr: '' });
    expect(await shell.run('echo "$name"; echo problem >&2; (exit 3)')).toEqual({
      status: 3,
      stdout: 'anneal\n',
      stderr: 'problem\n',
    });
  } finally {
    await shell.close();
  }
});

describe('the examples', () => {
  const folders = [
    ...new Set(globSync('examples/*/*', { cwd: root }).map((file) => dirname(file).slice('examples/'.length))),
  ];
  const index = readFileSync(join(root, 'examples/README.md'), 'utf8');

  it.each(folders)('%s has a page with a picture, and a line in the list', (name) => {
    const page = join(root, 'examples', name, 'README.md');
    expect(existsSync(page)).toBe(true);
    expect(readFileSync(page, 'utf8')).toContain('```mermaid');
    expect(index).toContain(`| [${name}](${name}/README.md)`);
  });

  it('the list names only examples that exist', () => {
    const listed = [...index.matchAll(/^\| \[([\w-]+)\]/gm)].map(([, name = '']) => name);
    expect(listed.toSorted()).toEqual(folders.toSorted());
  });
});
