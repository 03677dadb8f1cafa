/**
 * The tests that see what the reference pages promise. A table names for each file the members that it sees act, from outside.
 * Naming a member is weak evidence: look whether the test would fail without it before you enter it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

export const treeRoot = join(import.meta.dirname, '../../..');

/** For each file, the members that it sees act. */
export type Witnesses = Readonly<Record<string, readonly string[]>>;

/** Whether the text of a file names a word, which may have dots, and not only as a part of a longer one. */
export const names = (text: string, word: string): boolean =>
  new RegExp(String.raw`(?<![\w.])${word.replaceAll('.', String.raw`\.`)}(?!\.?\w)`).test(text);

/**
 * Tests that each member has exactly one witness, and that the witnesses exist and name their members.
 *
 * @param what one member, for the names of the tests, e.g. `event`
 * @param isNamed whether the text of a file names a member
 */
export function expectWitnesses(
  what: string,
  {
    members,
    witnesses,
    isNamed,
  }: { members: readonly string[]; witnesses: Witnesses; isNamed: (member: string, text: string) => boolean },
): void {
  it(`a test sees each ${what} act`, () => {
    expect(Object.values(witnesses).flat().toSorted()).toEqual(members.toSorted());
  });

  it.each(Object.keys(witnesses))(`%s names each ${what} that it sees`, (file) => {
    const text = readFileSync(join(treeRoot, file), 'utf8');
    expect(witnesses[file]?.filter((member) => !isNamed(member, text))).toEqual([]);
  });
}
