/** Doc comments of the libraries' exports: the unit, the range and the errors, where a reader looks for them. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const declaration = /^export (?:abstract )?(?:async )?(?:function\*?|const|class|interface|type) (\w+)/;

/** A message, a question or an event, whose definition begins with its sentence, and a type that follows from a schema. */
const describesItself = /= (?:call|message|event)\(|= z\.(?:infer|input|output)<|= \(typeof /;

/** The exports of a library that no doc comment precedes; of an overloaded function, the first counts. */
function bare(library: string): string[] {
  const listed = execFileSync('git', ['ls-files', `libs/${library}/*.ts`], { cwd: root, encoding: 'utf8' });
  const files = listed.split('\n').filter((file) => file !== '' && !/\.(test|contract)\.ts$/.test(file));
  return files.flatMap((file) => {
    const seen = new Set<string>();
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    return lines.flatMap((line, index) => {
      const [, name = ''] = declaration.exec(line) ?? [];
      if (name === '' || seen.has(name)) return [];
      seen.add(name);
      const begin = `${line}${line.endsWith('=') ? ` ${lines[index + 1]?.trim() ?? ''}` : ''}`;
      if (library === 'contracts' && describesItself.test(begin)) return [];
      return lines[index - 1]?.trim().endsWith('*/') ? [] : [`${file}: ${name}`];
    });
  });
}

describe('every export has a doc comment', () => {
  it.each(['bus', 'client', 'convergence', 'hot', 'provider', 'python', 'runtime', 'store'])(
    'in libs/%s',
    (library) => {
      expect(bare(library)).toEqual([]);
    },
  );

  it('in libs/contracts, except messages, which describe themselves, and types of schemas', () => {
    expect(bare('contracts')).toEqual([]);
  });
});
