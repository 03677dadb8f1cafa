/** Lists of files that a limit of the linter does not hold for yet. They can only shrink. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const limits = ['max-lines-per-function', 'max-params'] as const;
const config = JSON.parse(readFileSync(join(root, '.oxlintrc.json'), 'utf8')) as {
  rules: Record<string, unknown>;
  overrides: { files: string[]; rules: Record<string, unknown> }[];
};
const exceptionsOf = (limit: string): string[] =>
  config.overrides.flatMap(({ files, rules }) =>
    rules[limit] === 'off' && !files.some((file) => file.includes('*')) ? files : [],
  );

it.each(limits)('every exception from %s is still needed', (limit) => {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-lint-'));
  try {
    const file = join(folder, 'limits.json');
    writeFileSync(
      file,
      JSON.stringify({ categories: { correctness: 'off' }, rules: { [limit]: config.rules[limit] } }),
    );
    const exceptions = exceptionsOf(limit);
    const { stdout } = spawnSync(
      join(root, 'node_modules/.bin/oxlint'),
      ['-c', file, '--format', 'unix', ...exceptions],
      {
        cwd: root,
        encoding: 'utf8',
        maxBuffer: 1e8,
      },
    );
    const needed = new Set(stdout.split('\n').map((line) => line.split(':', 1)[0] ?? ''));
    expect(exceptions.filter((exception) => !needed.has(exception))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
