/** A test uses only what its level may use; CONTRIBUTING.md names the levels. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import config from '../../vitest.config.ts';
import { testLevels } from '../levels.ts';
import { patience } from '../patience.ts';
import { importedFile } from './imports.ts';

const root = join(import.meta.dirname, '../..');

/** The modules that a file imports: paths from the root for those of this repository. Imports of types alone count not. */
const importsOf = (() => {
  const known = new Map<string, readonly string[]>();
  const statement = /^\s*(?:import|export)\s+(?!type\b)(?:[^'";]*?\sfrom\s+)?'([^']+)'|import\('([^']+)'\)/gm;
  return (file: string): readonly string[] => {
    const before = known.get(file);
    if (before) return before;
    const path = join(root, file);
    const text = /\.tsx?$/.test(file) && existsSync(path) ? readFileSync(path, 'utf8') : '';
    const found = [...text.matchAll(statement)].map(([, one, other]) => importedFile(file, one ?? other ?? ''));
    known.set(file, found);
    return found;
  };
})();

/** Everything that a file reaches by its imports, with the way there. */
function reachedFrom(file: string): Map<string, string> {
  const ways = new Map<string, string>();
  const open: { name: string; way: string }[] = [{ name: file, way: file }];
  for (let next = open.pop(); next; next = open.pop()) {
    if (ways.has(next.name)) continue;
    ways.set(next.name, next.way);
    for (const name of importsOf(next.name)) open.push({ name, way: `${next.way} → ${name}` });
  }
  return ways;
}

const projects = (config.test?.projects ?? []) as {
  test: { name: string; include: string[]; exclude: string[]; testTimeout: number };
}[];
const filesOf = (name: string): string[] => {
  const { include, exclude } = projects.find(({ test }) => test.name === name)?.test ?? { include: [], exclude: [] };
  return globSync(include, { cwd: root, exclude: [...exclude, '**/node_modules/**'] });
};

describe('the levels of the tests', () => {
  it.each(testLevels)('$name: no file uses more than its level may', ({ name, reaches, imports }) => {
    const files = filesOf(name);
    expect(files).not.toEqual([]);
    const wrong = files.flatMap((file) => [
      ...importsOf(file)
        .filter((each) => imports.test(each))
        .map((each) => `${file} imports ${each}`),
      ...[...reachedFrom(file)].filter(([each]) => each !== file && reaches.test(each)).map(([, way]) => way),
    ]);
    expect(wrong).toEqual([]);
  });

  it('a limit of time that a test states is longer than the one that it has anyway', () => {
    const number = (text = ''): number => Number(text.replaceAll('_', ''));
    /** `}, 180_000);` and `{ timeout: 180_000 }` of a test, and `within` of a condition. */
    const ofTest =
      /^\s*\}, (\d[\d_]{3,})\);$|\{ timeout: (\d[\d_]{3,}) \}, (?:async )?\(|^\s*\{ timeout: (\d[\d_]{3,}) \},$/gm;
    const ofCondition = /\bwithin: (\d[\d_]{3,})/g;
    const short = projects.flatMap(({ test: { name, testTimeout } }) =>
      filesOf(name).flatMap((file) => {
        const text = readFileSync(join(root, file), 'utf8');
        return [
          ...[...text.matchAll(ofTest)].filter(([, ...limits]) => number(limits.find(Boolean)) <= testTimeout),
          ...[...text.matchAll(ofCondition)].filter(([, limit]) => number(limit) <= patience.timeout),
        ].map(([statement]) => `${file}: ${statement.trim()}`);
      }),
    );
    expect(short).toEqual([]);
  });

  it('each test file belongs to one level or part', () => {
    const all = globSync('{libs,services,deploy,test}/**/*.{test,contract,soak}.ts', {
      cwd: root,
      exclude: ['**/node_modules/**', '**/dist/**'],
    });
    const repeated = /^(?:scenarios|listeners)-/;
    const owners = new Map(all.map((file) => [file, [] as string[]]));
    for (const { test } of projects) {
      if (!repeated.test(test.name)) for (const file of filesOf(test.name)) owners.get(file)?.push(test.name);
    }
    expect([...owners].filter(([, names]) => names.length !== 1)).toEqual([]);
  });
});
