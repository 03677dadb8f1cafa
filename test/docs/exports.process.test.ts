/** Doc comments of the libraries' exports: the unit, the range and the errors, where a reader looks for them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const declaration = /^export (?:abstract )?(?:async )?(function\*?|const|class|interface|type) (\w+)/;

/** The exports of a library that no doc comment precedes; of an overloaded function, the first counts. */
function bare(library: string): { place: string; kind: string }[] {
  const listed = execFileSync('git', ['ls-files', `libs/${library}/*.ts`], { cwd: root, encoding: 'utf8' });
  const files = listed.split('\n').filter((file) => file !== '' && !/\.(test|contract)\.ts$/.test(file));
  return files.flatMap((file) => {
    const seen = new Set<string>();
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    return lines.flatMap((line, index) => {
      const [, kind = '', name = ''] = declaration.exec(line) ?? [];
      if (name === '' || seen.has(name)) return [];
      seen.add(name);
      return lines[index - 1]?.trim().endsWith('*/') ? [] : [{ place: `${file}: ${name}`, kind }];
    });
  });
}

describe('every export has a doc comment', () => {
  it.each(['bus', 'client', 'convergence', 'hot', 'provider', 'python', 'runtime', 'store'])(
    'in libs/%s',
    (library) => {
      expect(bare(library).map(({ place }) => place)).toEqual([]);
    },
  );

  it('in libs/contracts, except schemas, which describe themselves, and their types', () => {
    const missing = bare('contracts').filter(({ kind }) => kind === 'class' || kind.startsWith('function'));
    expect(missing.map(({ place }) => place)).toEqual([]);
  });
});
