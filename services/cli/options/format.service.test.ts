import { Command } from '@commander-js/extra-typings';
import { describe, expect, it } from 'vitest';
import { createOutput } from '../output.ts';
import { addViews, applyView, follow, formatOption, readPath } from './format.ts';

const stacks = [
  { name: 'web', id: '1', tags: ['a', 'b'] },
  { name: 'db', id: '2', tags: [] },
];

/** The output of `list` with these words. */
function list(words: readonly string[], { isTTY = false }: { isTTY?: boolean } = {}): string {
  let text = '';
  const stream = { isTTY, columns: 80, write: (more: string | Uint8Array) => (text += more.toString()) };
  const output = createOutput({ stdout: stream, stderr: stream, environment: { NO_COLOR: '1' } });
  const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
  program
    .command('list')
    .addOption(formatOption())
    .action(({ output: format }) => {
      const columns = {
        name: (row: (typeof stacks)[number]) => row.name,
        id: (row: (typeof stacks)[number]) => row.id,
      };
      output.list(format, { rows: stacks, none: '', columns });
    });
  addViews(program);
  program.hook('preAction', (_, command) => applyView(command, output));
  program.parse(['list', ...words], { from: 'user' });
  return text;
}

describe('-o', () => {
  it('prints names, values at a path, and JSON through jq', () => {
    expect(list([])).toBe('NAME  ID\nweb   1\ndb    2\n');
    expect(list(['-o', 'wide'])).toBe(list([]));
    expect(list(['-o', 'name'])).toBe('web\ndb\n');
    expect(list(['-o', 'jsonpath=[*].id'])).toBe('1\n2\n');
    expect(list(['-o', 'jsonpath={[0].tags}'])).toBe('["a","b"]\n');
    expect(list(['--jq', '.[] | select(.id == "2") | .name'])).toBe('db\n');
    expect(JSON.parse(list(['-o', 'json']))).toEqual(stacks);
  });

  it('refuses unknown formats, wrong paths, and options that exclude each other', () => {
    expect(() => list(['-o', 'xml'])).toThrow(/Allowed formats are table, wide/);
    expect(() => list(['-o', 'jsonpath=a[?(@.b)]'])).toThrow(/Cannot read the path a\[\?.* at "\[\?/);
    expect(() => list(['--jq', '.[', '-o', 'json'])).toThrow(/--jq \.\[: jq: /);
    expect(() => list(['--jq', '.', '-o', 'yaml'])).toThrow(/cannot be used with -o yaml/);
    expect(() => list(['--watch'])).toThrow(/on a terminal/);
    expect(() => list(['--watch', '-o', 'json'], { isTTY: true })).toThrow(/on a terminal/);
  });

  it('gives an expression to jq as an expression, whatever it begins with', () => {
    expect(() => list(['--jq', '--version'])).toThrow(/--jq --version: jq: /);
  });
});

it('readPath reads names, indices, * and quoted names, with or without braces', () => {
  for (const path of ["{.a['b c'][*].d[0]}", '$.a["b c"].*.d[0]', "a['b c'][*].d[0]"]) {
    expect(readPath(path)).toEqual(['a', 'b c', '*', 'd', 0]);
  }
  expect(follow(readPath('{}'), 7)).toEqual([7]);
  expect(follow(['a', 'nope', 'x'], { a: {} })).toEqual([]);
  expect(follow(['constructor'], {})).toEqual([]);
});
