/** Exported names: one name has one meaning, so that a search for it finds one declaration. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
/** Names that mean the same in each service or test world: its settings, and the project of its tests. */
const conventional = new Set(['settings', 'project', 'start']);
const declaration = /^export (?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type) (\w+)/gm;

it('each exported name is declared in one file', () => {
  const files = execFileSync('git', ['ls-files', '*.ts'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
  const declared = files
    .filter((file) => !/\.(test|contract)\.ts$/.test(file))
    .flatMap((file) => {
      const names = [...readFileSync(join(root, file), 'utf8').matchAll(declaration)].map(([, name = '']) => name);
      return [...new Set(names)].map((name) => ({ name, file }));
    });
  const shared = [...Map.groupBy(declared, ({ name }) => name)]
    .filter(([name, places]) => places.length > 1 && !conventional.has(name))
    .map(([name, places]) => `${name}: ${places.map(({ file }) => file).join(', ')}`);
  expect(declared.length).toBeGreaterThan(2_000);
  expect(shared).toEqual([]);
});
