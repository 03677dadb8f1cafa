import { describe, expect, it } from 'vitest';
import { diffLines, hunksOf, type DiffLine } from './diff.ts';

const marks = { same: ' ', removed: '-', added: '+' } as const;
const written = (lines: readonly DiffLine[]): string[] => lines.map(({ kind, text }) => marks[kind] + text);
const sides = (lines: readonly DiffLine[]): [string, string] => [
  lines
    .filter(({ kind }) => kind !== 'added')
    .map(({ text }) => text)
    .join('\n'),
  lines
    .filter(({ kind }) => kind !== 'removed')
    .map(({ text }) => text)
    .join('\n'),
];

describe('the difference of two texts', () => {
  it('shows the lines that were removed and added, and keeps the others', () => {
    expect(written(diffLines('a\nb\nc\nd', 'a\nx\nc\nd\ne'))).toEqual([' a', '-b', '+x', ' c', ' d', '+e']);
    expect(written(diffLines('a', 'a'))).toEqual([' a']);
  });

  it('gives back both texts, whatever they are', () => {
    let seed = 7;
    const random = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most;
    for (let round = 0; round < 300; round += 1) {
      const text = (): string => Array.from({ length: random(12) + 1 }, () => 'abcd'.charAt(random(4))).join('\n');
      const [before, after] = [text(), text()];
      expect(sides(diffLines(before, after)), `seed 7, round ${round}`).toEqual([before, after]);
    }
    const [long, other] = [2500, 2600].map((count) =>
      Array.from({ length: count }, (_, n) => `${count} ${n}`).join('\n'),
    );
    expect(sides(diffLines(long ?? '', other ?? ''))).toEqual([long, other]);
  });

  it('leaves out long runs of equal lines', () => {
    const text = Array.from({ length: 40 }, (_, n) => `line ${n}`);
    const hunks = hunksOf(diffLines(text.join('\n'), text.with(20, 'changed').join('\n')));
    expect(hunks.map((hunk) => (typeof hunk === 'number' ? hunk : hunk.length))).toEqual([17, 8, 16]);
  });
});
